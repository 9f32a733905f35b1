"""The memory that a model tells is the memory that it holds."""

from __future__ import annotations

import gc
import tracemalloc
from typing import Any

import pytest

from tests.tools.contract import CORES
from tests.tools.estimators import PARAMETERS, THREE, is_classifier, learn, make

LONG = "x" * 2000


def rows(kind: str, n: int, classifier: bool) -> list[tuple[dict[Any, Any], Any]]:
    """Samples whose values, names or labels are long texts, or are plain."""
    found = []
    for i in range(n):
        x: dict[Any, Any] = {"a": i * 0.37 % 1.0, "b": i % 7}
        y: Any = i % 3 if classifier else i * 0.11 % 1.0
        if kind == "values":
            x["text"] = f"{i} {LONG}"
        elif kind == "tuples":
            x["text"] = (i, f"{i} {LONG}")
        elif kind == "names":
            x[f"{i % 200} {LONG}"] = 1.0
        elif kind == "labels":
            y = f"{i % 100} {LONG}"
        found.append((x, y))
    return found


# Texts are held by objects that all have: one estimator on each class of the core tells.
# Threads have memory of their own.
ALONE = [(name, i) for name, i in THREE if "n_jobs" not in PARAMETERS[name][i]]
HELD = [(case, "plain") for case in ALONE] + [
    ((name, 0), kind)
    for name, _ in [*CORES, ("ExtraTreesClassifier", 0)]
    for kind in ("values", "tuples", "names", "labels")
    if kind != "labels" or is_classifier((name, 0))
]


@pytest.mark.parametrize(("case", "kind"), HELD, ids=str)
def test_memory_is_what_is_held(case: tuple[str, int], kind: str) -> None:
    """Texts of nominal values, names and labels included: within a fiftieth and 3 kB."""
    learn(make(case), rows(kind, 100, is_classifier(case)))  # what is made once stays
    gc.collect()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        model = make(case)
        learn(model, rows(kind, 400, is_classifier(case)))
        gc.collect()
        held = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert model._raw_memory_usage == pytest.approx(held, rel=0.02, abs=3_000)
