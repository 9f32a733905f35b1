"""Memory, latency and predictions over millions of samples with drift and new features.

    python -m examples.benchmarks.costs soak --samples 10000000
    python -m examples.benchmarks.costs soak --samples 1000000 --learner ShrubEnsembleRegressor

Each learner predicts and learns every sample of a stream, in which the concept changes 200 times,
and features come and go. The learner fails if the largest resident memory of the process in the
last quarter is above that in the third one by a MiB, and by a byte per sample; if the 99.9th
percentile of the time per sample of the last tenth is more than 1.5 times that of the second tenth;
or if a prediction is not finite. Peaks are compared, because the growth of a tree on a large window
takes memory for a while.

A model may grow until it is full: until its windows are, all features have come, and its trees have
as many nodes as they may have. The parameters let each learner be full after the first tenth of
200,000 samples. Times are CPU time of the process; of a tenth, the median of twenty parts counts,
because other processes slow some of them. Each learner runs in a process of its own, so that memory
freed by one does not hide the growth of another. The exit code is the number of learners that
failed.
"""

from __future__ import annotations

import argparse
import gc
import math
import multiprocessing
import random
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
SAMPLES = 200  # of the resident memory
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


def resident() -> int:
    """Resident memory of this process in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


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
    memory = []
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
        if i % (n // SAMPLES) == 0:
            gc.collect()
            memory.append(resident())
    third, last = memory[SAMPLES // 2 : 3 * SAMPLES // 4], memory[3 * SAMPLES // 4 :]
    parts = latencies[:, : tenth // PARTS * PARTS].reshape(2, PARTS, -1)
    early, late = np.median(np.percentile(parts, 99.9, axis=2), axis=1) / 1000
    return {
        "growth": max(last) - max(third),
        "early": float(early),
        "late": float(late),
        "insane": insane,
        "reported": model._raw_memory_usage,
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
    print(f"{options.samples:,} samples; growth of memory, p99.9 of µs per sample")
    for name in options.learner or LEARNERS:
        with multiprocessing.get_context("spawn").Pool(1) as process:
            found = process.apply(soak, (name, options.samples))
        sane = (
            found["growth"] < max(2**20, options.samples / 4)
            and found["late"] <= 1.5 * found["early"]
            and found["insane"] == 0
        )
        failed += not sane
        print(
            f"{name:32} {found['growth'] / 2**20:6.2f} MiB, "
            f"{found['early']:7.1f} -> {found['late']:7.1f} µs, {found['insane']:.0f} not finite, "
            f"model {found['reported'] / 1024:.0f} KiB: {'passed' if sane else 'FAILED'}",
            flush=True,
        )
    return failed
