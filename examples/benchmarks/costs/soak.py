"""Memory, latency and predictions over millions of samples with drift and new features.

    python -m examples.benchmarks.costs soak --samples 10000000
    python -m examples.benchmarks.costs soak --samples 1000000 --learner ShrubEnsembleRegressor

Each learner predicts and learns every sample of a stream, in which the concept changes 200 times,
and features come and go. The learner fails if, from the third quarter to the last one,

- the peak of the memory that the core has allocated grows by 256 KiB, or that of the part that
  `_raw_memory_usage` does not count by 64 KiB,
- the objects of Python become more by a thousand,
- or the largest resident memory of the process grows by 5 %;

if the 99.9th percentile of the time per sample of the last tenth is more than 1.5 times that of the
second tenth; or if a prediction is not finite. Peaks are compared, because the growth of a tree on
a large window takes memory for a while. What the allocator of the C library keeps of that belongs
to the resident memory. It is told apart from a leak by what glibc says of its own memory
(`mallinfo2`).

A model may grow until it is full: until its windows are, all features have come, and its trees have
as many nodes as they may have. The parameters let each learner be full after the first tenth of
200,000 samples. Times are CPU time of the process; of a tenth, the median of twenty parts counts,
because other processes slow some of them. Each learner runs in a process of its own, so that memory
freed by one does not hide the growth of another. The exit code is the number of learners that
failed.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import math
import multiprocessing
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from river import base

import river_extra_trees as ret
from river_extra_trees.cli import UserError

CONCEPTS = 200  # of a stream
FEWEST = 200_000  # samples in which all learners are full long enough
PARTS = 20  # of a tenth of the samples
SAMPLES = 800  # of the memory
LEARNERS = {
    "StreamDecisionTreeClassifier": {"max_nodes": 500},
    "StreamDecisionForestRegressor": {"n_models": 5, "max_nodes": 500},
    "ExtraTreesClassifier": {},
    "ExtraTreesRegressor": {},
    "ForgetfulDecisionTreeClassifier": {"max_retained": 2000},
    "ForgetfulRandomForestClassifier": {"n_models": 5, "max_retained": 2000},
    "ForgetfulRandomForestRegressor": {"n_models": 3, "max_retained": 1000},
    "ShrubEnsembleClassifier": {"n_models": 8, "window_size": 64},
    "ShrubEnsembleRegressor": {"n_models": 8, "window_size": 64},
    "DynamicTreeClassifier": {"n_particles": 20, "window": 100},
    "DynamicTreeRegressor": {"n_particles": 5, "window": 100},
}


def stream(n: int, classify: bool, seed: int = 1) -> Iterator[tuple[dict[str, Any], Any]]:
    """Yield n samples: 200 concepts, and of forty features six at a time, in turn."""
    rng = random.Random(seed)
    for i in range(n):
        concept = i * CONCEPTS // n
        x: dict[str, Any] = {"a": rng.random(), "b": rng.random()}
        x["colour"] = ("red", "green", "blue")[int(3 * rng.random())]
        for k in range(6):
            x[f"feature {(concept + 7 * k) % 40}"] = rng.random()
        score = math.sin(concept) * x["a"] + math.cos(concept) * x["b"]
        score += 0.3 * (x["colour"] == "red") + 0.1 * rng.random()
        yield x, (("low", "middle", "high")[min(2, int(abs(2 * score)))] if classify else score)


class MallocInfo(ctypes.Structure):
    """What glibc tells of its memory, in bytes."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks"),
            *("uordblks", "fordblks", "keepcost"),
        )
    )


def memory_of(model: Any) -> tuple[int, int, int, int]:
    """Return what the core allocated, what of it is not counted, objects, and resident memory."""
    mallinfo2 = ctypes.CDLL(None).mallinfo2
    mallinfo2.restype = MallocInfo
    info = mallinfo2()
    allocated = info.uordblks + info.hblkhd
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    uncounted = allocated - model._raw_memory_usage
    return allocated, uncounted, sys.getallocatedblocks(), pages * 4096


def is_sane(answer: Any, classify: bool, n_learned: int) -> bool:
    """Tell whether an answer is a finite number, or shares that sum to one.

    No shares at all are sane before the first sample is learned.
    """
    if not classify:
        return math.isfinite(answer)
    return math.isclose(sum(answer.values()), 1.0) or (n_learned == 0 and not answer)


def soak(name: str, n: int) -> dict[str, float]:
    """Run one learner; return the growth of memory, latencies, and insane answers."""
    model = getattr(ret, name)(**LEARNERS[name], seed=1)
    classify = isinstance(model, base.Classifier)
    answer_one = model.predict_proba_one if classify else model.predict_one
    tenth = n // 10
    latencies = np.ones((2, tenth), dtype=np.float32)  # written to, so that their memory is there
    memory = np.zeros((SAMPLES, 4), dtype=np.int64)
    insane = 0
    clock = time.process_time_ns
    for i, (x, y) in enumerate(stream(n, classify)):
        start = clock()
        answer = answer_one(x)
        model.learn_one(x, y)
        taken = clock() - start
        insane += not is_sane(answer, classify, i)
        if tenth <= i < 2 * tenth:
            latencies[0, i - tenth] = taken
        elif i >= n - tenth:
            latencies[1, i - (n - tenth)] = taken
        if (i + 1) % (n // SAMPLES) == 0 and i // (n // SAMPLES) < SAMPLES:
            gc.collect()
            memory[i // (n // SAMPLES)] = memory_of(model)
    third, last = memory.reshape(4, SAMPLES // 4, 4).max(axis=1)[2:]
    allocated, uncounted, objects, resident = (last - third).tolist()
    parts = latencies[:, : tenth // PARTS * PARTS].reshape(2, PARTS, -1)
    early, late = np.median(np.percentile(parts, 99.9, axis=2), axis=1) / 1000
    return {
        "allocated": allocated,
        "uncounted": uncounted,
        "objects": objects,
        "share": resident / int(third[3]),
        "early": float(early),
        "late": float(late),
        "insane": insane,
        "peak": int(last[0]),
        "resident": int(last[3]),
    }


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options."""
    parser.add_argument("--samples", type=int, default=10_000_000)
    parser.add_argument("--learner", choices=LEARNERS, action="append")


def run(options: argparse.Namespace) -> int:
    """Print a row for each learner; return the number of failures."""
    failed = 0
    if options.samples < FEWEST:
        raise UserError(f"a soak takes at least {FEWEST:,} samples, so that the models are full")
    print(
        f"{options.samples:,} samples; KiB allocated, not counted, objects, and resident memory: "
        "growth of the peak; p99.9 of µs per sample"
    )
    for name in options.learner or LEARNERS:
        with multiprocessing.get_context("spawn").Pool(1) as process:
            found = process.apply(soak, (name, options.samples))
        sane = (
            found["allocated"] < 2**18
            and found["uncounted"] < 2**16
            and found["objects"] < 1000
            and found["share"] < 0.05
            and found["late"] <= 1.5 * found["early"]
            and found["insane"] == 0
        )
        failed += not sane
        print(
            f"{name:32} {found['allocated'] / 1024:6.0f} of {found['peak'] / 1024:6.0f}, "
            f"{found['uncounted'] / 1024:5.0f}, {found['objects']:5.0f}, "
            f"{100 * found['share']:5.2f} % of {found['resident'] / 2**20:.0f} MiB, "
            f"{found['early']:7.1f} -> {found['late']:7.1f} µs, {found['insane']:.0f} not finite: "
            f"{'passed' if sane else 'FAILED'}",
            flush=True,
        )
    return failed
