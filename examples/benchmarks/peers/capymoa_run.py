"""Run CapyMOA's learners, with their defaults, over ARFF files.

This runs in an interpreter that has capymoa; `capymoa_process.py` talks to it, in lines of JSON. A
line to it names a learner, a task, a file, the CPU seconds that a run may take, and the
checkpoints. The lines it answers with hold the answers since the line before, the user CPU seconds
of predicting and learning so far (Java's compiler and garbage collector included), and the growth
of Java's heap in bytes. All runs share a Java machine, so that only the first pays for its start.
"""

from __future__ import annotations

import json
import math
import resource
import sys
from typing import Any

from capymoa import classifier, regressor
from capymoa.stream import ARFFStream
from java.lang import Runtime, System

SAMPLES_PER_READING = 100


def heap() -> int:
    """Return the bytes in use on Java's heap."""
    System.gc()
    System.gc()
    runtime = Runtime.getRuntime()
    return int(runtime.totalMemory() - runtime.freeMemory())


def user_seconds() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


def plain(answer: Any) -> Any:
    """Return an answer that JSON knows."""
    if answer is None:
        return None
    if hasattr(answer, "tolist") and getattr(answer, "ndim", 0):
        return [float(f"{share:.6g}") for share in answer]
    return float(answer) if math.isfinite(answer) else None


def run(job: dict[str, Any]) -> None:
    """Run a learner over a file, and print what is known at each checkpoint and at the end."""
    classify = job["task"] == "classification"
    stream = ARFFStream(job["path"])
    before = heap()
    learner = getattr(classifier if classify else regressor, job["learner"])(
        schema=stream.get_schema()
    )
    predict = learner.predict_proba if classify else learner.predict
    samples, seconds, error, answers = 0, 0.0, "", []
    ended = False
    while not ended:
        start = user_seconds()
        try:
            for _ in range(SAMPLES_PER_READING):
                if not stream.has_more_instances():
                    break
                instance = stream.next_instance()
                answers.append(plain(predict(instance)))
                learner.train(instance)
                samples += 1
        except Exception as raised:  # whatever it is, it is the result
            error = type(raised).__name__
        seconds += user_seconds() - start
        ended = not stream.has_more_instances() or seconds >= job["seconds"] or bool(error)
        if ended or samples in job["checkpoints"]:
            found = {"samples": samples, "answers": answers, "seconds": seconds, "error": error}
            memory = max(heap() - before, 0)
            print(json.dumps({**found, "memory": memory, "ended": ended}), flush=True)
            answers = []


for line in sys.stdin:
    run(json.loads(line))
