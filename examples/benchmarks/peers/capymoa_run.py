"""Run one of CapyMOA's learners, with its defaults, over an ARFF file.

This runs in an interpreter that has capymoa; `contenders.py` calls it. It prints the predictions,
the user CPU seconds of predicting and learning (Java's compiler and garbage collector included),
and the growth of Java's heap in bytes, which means nothing for a learner written in Python.
"""

from __future__ import annotations

import json
import math
import resource
import sys
from typing import Any

from capymoa import classifier, regressor
from capymoa.evaluation import prequential_evaluation
from capymoa.stream import ARFFStream
from java.lang import Runtime, System


def heap() -> int:
    """Return the bytes in use on Java's heap."""
    System.gc()
    System.gc()
    runtime = Runtime.getRuntime()
    return int(runtime.totalMemory() - runtime.freeMemory())


def plain(answer: Any) -> Any:
    """Return an answer that JSON knows."""
    if answer is None or (isinstance(answer, float) and not math.isfinite(answer)):
        return None
    return float(answer)


name, task, path = sys.argv[1:]
stream = ARFFStream(path)
before = heap()
learner = getattr(classifier if task == "classification" else regressor, name)(
    schema=stream.get_schema()
)
start = resource.getrusage(resource.RUSAGE_SELF).ru_utime
error, answers = "", []
try:
    # The loop in Java stores zeros for the answers of a regressor (version 0.15.1).
    results = prequential_evaluation(
        stream, learner, store_predictions=True, optimise=task == "classification"
    )
    answers = [plain(answer) for answer in results.predictions()]
except Exception as raised:  # whatever it is, it is the result
    error = type(raised).__name__
    print(raised, file=sys.stderr)
seconds = resource.getrusage(resource.RUSAGE_SELF).ru_utime - start
memory = max(heap() - before, 0) if hasattr(learner, "moa_learner") else None
if task == "classification":
    answers = [None if answer is None else int(answer) for answer in answers]
print(json.dumps({"answers": answers, "seconds": seconds, "memory": memory, "error": error}))
