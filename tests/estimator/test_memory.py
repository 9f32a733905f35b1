"""The memory that a model tells is what it holds, and it is bounded; young trees are small."""

import gc
import pickle
import random
import tracemalloc
from typing import Any

import pytest

from river_extra_trees import persistence
from tests.tools.contract import CORES, ENDS, Case
from tests.tools.crowded import crowded
from tests.tools.estimators import CLASSES, PARAMETERS, TIGHTEST, is_classifier, learn, make, stream

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
ALONE = [(name, i) for name, i in ENDS if "n_jobs" not in PARAMETERS[name][i]]
HELD = [(case, "plain") for case in ALONE] + [
    ((name, 0), kind)
    for name, _ in CORES
    for kind in ("values", "tuples", "names", "labels")
    if kind != "labels" or is_classifier((name, 0))
]


@pytest.mark.parametrize(("case", "kind"), HELD, ids=str)
def test_memory_is_what_is_held(case: Case, kind: str) -> None:
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


@pytest.mark.parametrize("case", TIGHTEST, ids=str)
def test_memory_is_bounded(case: Case) -> None:
    """Once a model has filled its bounds it stays about as large as it is."""
    model = learn(make(case), stream(case, 2000))
    size = model._raw_memory_usage
    learn(model, stream(case, 4000, seed=1))
    # Three times as many samples: unbounded growth would be threefold, a last doubling of the
    # arrays is not.
    assert model._raw_memory_usage <= 2 * size


@pytest.mark.parametrize("n_columns", [8, 64])
@pytest.mark.parametrize(
    ("name", "parameters", "n_kept"),
    [
        ("DynamicTreeClassifier", {"window": 1000, "n_particles": 2}, 1000),
        ("ForgetfulDecisionTreeClassifier", {"max_retained": 1000}, 1000),
        ("ShrubEnsembleClassifier", {"window_size": 500, "n_models": 1}, 500),
        ("StreamDecisionTreeClassifier", {"batch_size": 1000}, 1000),
        ("StreamDecisionForestRegressor", {"n_models": 1, "batch_size": 1000}, 1000),
    ],
)
def test_memory_per_sample(
    name: str, parameters: dict[str, Any], n_kept: int, n_columns: int
) -> None:
    """What the page on reliability promises of windows and the space in which trees are grown."""
    model = CLASSES[name](seed=1, **parameters)
    rng = random.Random(1)
    for _ in range(1100):
        model.learn_one({f"f{k}": rng.random() for k in range(n_columns)}, rng.random() > 0.5)
    assert model._raw_memory_usage <= n_kept * (45 * n_columns + 350)


TREES = [
    f"{kind}DecisionTree{task}"
    for kind in ("Stream", "Forgetful")
    for task in ("Classifier", "Regressor")
]


@pytest.mark.parametrize("name", TREES)
def test_a_young_tree_is_small(name: str) -> None:
    """It takes 2.5 kB pickled, 5.1 kB in a file and 7.4 kB in memory, with up to four samples.

    What only a growth needs is given back: after a batch of 100, it holds its samples and its tree.
    """
    model, rng, n_features = CLASSES[name](seed=1), random.Random(1), 9
    for n in range(100):
        if n in (0, 1, 4):
            assert len(pickle.dumps(model, 5)) <= 2500
            assert len(persistence.save_bytes(model)) <= 5100
            assert model._raw_memory_usage <= 7400
        x = {f"the feature {i}": rng.random() for i in range(n_features)}
        model.learn_one(x, rng.randrange(2))
    sample = 8 * (n_features + 3) + 4 * (n_features + 5)
    nodes = 200 * (32 + 4 + 5 * 8)
    assert model.n_nodes > 1
    assert model._raw_memory_usage <= 7400 + 128 * (sample + 32) + nodes


@pytest.mark.filterwarnings("ignore:the model holds", "ignore:the model tells")
@pytest.mark.parametrize(
    "kind", [pytest.param("values", marks=pytest.mark.slow), "names", "labels"]
)
@pytest.mark.parametrize("case", TIGHTEST, ids=str)
def test_what_is_new_for_ever_takes_no_more_memory(case: Case, kind: str) -> None:
    """Past the bounds of values that are remembered, of columns and of labels."""
    if kind == "labels" and not is_classifier(case):
        pytest.skip("a regression has no labels")
    bounds = {"names": (9, None), "labels": (None, 150)}.get(kind, (None, None))
    model = crowded(make(case), *bounds)
    n, rng, sizes = (17_000 if kind == "values" else 3_000), random.Random(1), [0, 0]
    for i in range(2 * n):
        x: dict[Any, Any] = {"a": rng.random()}
        if kind != "labels":
            x |= {f"name {i}": 1.0} if kind == "names" else {"b": f"value {i:6}"}
        y = f"label {i // 20:4}" if kind == "labels" else x["a"] > 0.5
        model.learn_one(x, y if is_classifier(case) else x["a"])
        if i % n > 0.7 * n and i % 20 == 0:  # a growth takes memory for a while
            sizes[i // n] = max(sizes[i // n], model._raw_memory_usage)
    assert sizes[1] <= 1.05 * sizes[0] + 5_000, sizes
