"""Explanations of all learners: they add up, they are those of the definitions, they print."""

import copy
import math
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from river import datasets

import river_extra_trees as ret
from river_extra_trees import explanation as module
from river_extra_trees._estimator.inspection import is_leaf
from river_extra_trees._estimator.rows import objects
from tests import compiled
from tests.naive import explanation as naive
from tests.tools.crowded import crowded
from tests.tools.definitions import by_definition, mean_of, naive_tree, share_of
from tests.tools.estimators import CASES, THREE, is_classifier, learn, make, stream

METHODS = ("shapley", "path")


def output(model: Any, x: dict[Any, Any], label: Any) -> float:
    """The number, or the log odds of a label."""
    if label is None:
        return float(model.predict_one(x))
    p = model.predict_proba_one(x)[label]
    if isinstance(model, ret.ExtraTreesClassifier) and p < 1.0:
        return math.log(p) - math.log1p(-p)
    return naive.log_odds(p)


def test_data_are_there_while_another_thread_makes_them(monkeypatch: Any) -> None:
    """The data of a sample are made when they are first read."""
    model = ret.StreamDecisionTreeRegressor(seed=1)
    model.learn_one({"a": 1.0}, 2.0)
    found = model.explain_one({"a": 1.0})

    def read_twice(values: Any) -> Any:
        monkeypatch.undo()
        assert found.data.tolist() == [1.0]
        return objects(values)

    monkeypatch.setattr(module, "objects", read_twice)
    assert found.data is found.data
    assert found.data.tolist() == [1.0]


@pytest.mark.parametrize("case", THREE, ids=str)
def test_nothing_was_learned(case: tuple[str, int]) -> None:
    """`debug_one` says so, also of learners that have no tree yet."""
    assert make(case).debug_one({"a": 1.0}) == "no sample has been learned"


@pytest.mark.parametrize("method", METHODS)
def test_explanations_stay_as_they_were_made(method: str) -> None:
    """Nobody has read them yet when the model learns more, and the sample changes."""
    model = ret.ExtraTreesClassifier(n_models=5, seed=1)
    for i in range(300):
        model.learn_one({"a": i % 7, "b": float(i % 3)}, i % 7 > 3)
    x = {"a": 5.0, "b": 1.0}
    wanted, read_late = model.explain_one(x, True, method), model.explain_one(x, True, method)
    str(wanted)
    x["a"] = 0.0
    for i in range(300):
        model.learn_one({"a": i % 7, "c": "x"}, i % 7 < 3)
    for found in (read_late, pickle.loads(pickle.dumps(wanted)), copy.deepcopy(read_late)):
        assert str(found) == str(wanted)
        assert found.feature_names == wanted.feature_names == ("a", "b")
        assert found.data.tolist() == [5.0, 1.0]
        assert found.values.tolist() == wanted.values.tolist()
        assert (found.base_value, found.label, found.method) == (wanted.base_value, True, method)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_sums(case: tuple[str, int], method: str) -> None:
    """Base value and contributions add up to the prediction, of every label."""
    rows = list(stream(case, 230))
    model = learn(make(case), rows[:200])
    x: Any
    for x in [*(x for x, _ in rows[200:]), {}, {"a": None, "new": 1.0, "c": "violet"}]:
        labels = model.predict_proba_one(x) if is_classifier(case) else [None]
        for label in labels:
            options = {} if label is None else {"label": label}
            found = model.explain_one(x, method=method, **options)
            assert found.output == pytest.approx(output(model, x, label), abs=1e-9)


@pytest.mark.parametrize("case", [case for case in THREE if case[1] == 0], ids=str)
def test_sums_on_streams(case: tuple[str, int]) -> None:
    """The same on streams of numbers only, with two and seven classes."""
    for found in (
        [datasets.Phishing(), datasets.ImageSegments()]
        if is_classifier(case)
        else [datasets.TrumpApproval()]
    ):
        rows = list(found.take(420))
        model = learn(make(case), rows[:400])
        for x, _ in rows[400:]:
            explanation = model.explain_one(x)
            assert explanation.output == pytest.approx(
                output(model, x, explanation.label), abs=1e-9
            )


def test_sums_of_many_trees() -> None:
    """More trees than tasks are there."""
    model = ret.StreamDecisionForestRegressor(n_models=40, batch_size=40, seed=1)
    rows = list(stream(("StreamDecisionForestRegressor", 0), 220))
    learn(model, rows[:200])
    for x, _ in rows[200:]:
        assert model.explain_one(x).output == pytest.approx(model.predict_one(x), abs=1e-9)


@pytest.mark.parametrize("case", [case for case in THREE if case[1] == 0], ids=str)
def test_sums_of_the_first_samples(case: tuple[str, int]) -> None:
    """Some trees have no sample yet, and do not vote; a single label has no others."""
    model = make(case)
    for x, y in stream(case, 8):
        model.learn_one(x, y)
        found = model.explain_one(x)
        assert found.output == pytest.approx(output(model, x, found.label), abs=1e-9)


@pytest.mark.parametrize("name", ["ExtraTreesClassifier", "ExtraTreesRegressor"])
def test_sums_of_extreme_numbers(name: str) -> None:
    """Also where squares overflow."""
    case, rng = (name, 1), np.random.default_rng(1)
    model = make(case)
    for i, (x, y) in enumerate(stream(case, 200)):
        extreme = {
            name: value * rng.choice([1e-300, 1.0, 1e300]) if isinstance(value, float) else value
            for name, value in x.items()
        }
        if i > 150:
            found = model.explain_one(extreme)
            assert found.output == pytest.approx(output(model, extreme, found.label), abs=1e-9)
        model.learn_one(extreme, y)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", [case for case in THREE if hasattr(make(case), "n_jobs")], ids=str)
def test_threads(case: tuple[str, int], method: str) -> None:
    """The contributions are the same to the bit, whatever the number of threads."""
    rows = list(stream(case, 130))
    models = [learn(make(case).clone({"n_jobs": n}), rows[:120]) for n in (1, 2, 3)]
    for x, _ in rows[120:]:
        alone, *others = (model.explain_one(x, method=method) for model in models)
        for found in others:
            assert found.values.tobytes() == alone.values.tobytes()
            assert (found.base_value, found.label) == (alone.base_value, alone.label)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_model_that_learns(case: tuple[str, int]) -> None:
    """What is kept between explanations is that of the present trees: a copy, which has nothing
    from before, says the same to the bit.
    """
    model = make(case)
    for i, (x, y) in enumerate(stream(case, 260)):
        if i % 13 == 12 or 100 < i < 120:
            method = METHODS[i % 3 > 0]
            found, wanted = (
                each.explain_one(x, method=method) for each in (model, copy.deepcopy(model))
            )
            assert found.values.tobytes() == wanted.values.tobytes()
            assert (found.base_value, found.label) == (wanted.base_value, wanted.label)
        model.learn_one(x, y)


@pytest.mark.parametrize(("n_labels", "more"), [(2, 1.0), (15, 1.0), (16, 0.0)])
def test_memory_of_explanations(n_labels: int, more: float) -> None:
    """What is kept takes memory, which is told, unless there are too many labels."""
    model = ret.StreamDecisionTreeClassifier(batch_size=100, seed=1)
    for i in range(300):
        model.learn_one({"a": i % n_labels}, i % n_labels)
    before, n_splits = model._raw_memory_usage, model.n_nodes // 2
    model.explain_one({"a": 1})
    assert model._raw_memory_usage - before >= more * 8 * (1 + n_labels) * n_splits
    assert (model._raw_memory_usage - before > 8 * n_splits) == bool(more)


@pytest.mark.parametrize("case", THREE, ids=str)
def test_nothing_changes(case: tuple[str, int]) -> None:
    """An explanation is a question that changes nothing; `explain_many` has the same ones."""
    rows = list(stream(case, 80))
    model = learn(make(case), rows[:70])
    before = pickle.dumps(model)
    each = [model.explain_one(x) for x, _ in rows[70:]]
    frame = pd.DataFrame({"a": [x.get("a") for x, _ in rows[70:]]})
    together = model.explain_many(frame)
    assert pickle.dumps(model) == before
    model.predict_one(rows[0][0])
    assert [model.explain_one(x).values.tobytes() for x, _ in rows[70:]] == [
        found.values.tobytes() for found in each
    ]
    assert len(together) == len(frame)
    for row, a in enumerate(frame["a"]):
        alone = model.explain_one({"a": a})
        assert together[row].values.tobytes() == alone.values.tobytes()
        assert (together[row].label, together[row].base_value) == (alone.label, alone.base_value)
        assert together[row].data.tolist() == alone.data.tolist()


# -------------------------------------------------------------------- definitions


def votes(model: Any, x: Any) -> list[float]:
    """Trees with an empty leaf at x do not vote."""
    row = model._core.row_of(x)
    leaves = [
        naive.output(
            naive_tree(model._nodes(tree), row, lambda leaf: leaf["weight"]),
            frozenset(range(len(row))),
        )
        for tree in range(model._n_trees)
    ]
    n = max(1, sum(weight > 0.0 for weight in leaves))
    return [(weight > 0.0) / n for weight in leaves]


def shares_of_trees(model: Any, x: Any) -> list[float]:
    core = model._core
    if hasattr(core, "particle_shares"):
        return list(core.particle_shares())
    return [weight for _, weight in core.tree_weights()]


LINEAR: list[tuple[Any, Any]] = [
    (ret.StreamDecisionTreeClassifier(batch_size=30, max_depth=4, seed=1), votes),
    (ret.StreamDecisionForestClassifier(n_models=4, batch_size=20, seed=1), votes),
    (ret.StreamDecisionForestRegressor(n_models=4, batch_size=20, seed=2), votes),
    (ret.ForgetfulRandomForestClassifier(n_models=3, batch_size=20, warm_size=30, seed=1), votes),
    (ret.ForgetfulRandomForestRegressor(n_models=3, batch_size=20, warm_size=30, seed=1), votes),
    (ret.ShrubEnsembleClassifier(n_models=4, window_size=30, seed=1), shares_of_trees),
    (ret.ShrubEnsembleRegressor(n_models=4, window_size=30, seed=1), shares_of_trees),
]


@pytest.mark.parametrize("method", METHODS)
def test_empty_leaves(method: str) -> None:
    """A leaf that has forgotten all its labels has the mean of its tree."""
    rows = list(stream(("StreamDecisionForestClassifier", 0), 130))
    model = learn(ret.StreamDecisionForestClassifier(n_models=4, batch_size=20, seed=1), rows[:120])
    labels = model._labels()
    compiled.forget_label(model._core, labels.index("middle"))
    leaves = [leaf for tree in range(4) for leaf in model._nodes(tree) if is_leaf(leaf)]
    assert any(leaf["weight"] == 0.0 for leaf in leaves)
    asked = [x for x, _ in rows[120:] if any(votes(model, x))]
    assert len(asked) >= 5
    for x in asked:
        code = labels.index("high")
        base, parts = by_definition(model, x, votes(model, x), share_of(code), method)
        (base_got,), (parts_got,) = model._core.explain(x, "high", method == "shapley").arrays()
        parts = parts * naive.slope(naive.log_odds, base + parts.sum(), base)
        assert base_got == pytest.approx(naive.log_odds(base), abs=1e-9)
        assert parts_got == pytest.approx(parts, abs=1e-8)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("empty", "weigh"), LINEAR, ids=lambda value: type(value).__name__)
def test_sum_over_all_subsets(empty: Any, weigh: Any, method: str) -> None:
    """The contributions are those of the definition, over all sets of features."""
    case = (type(empty).__name__, 0)
    rows = list(stream(case, 126))
    model = learn(empty.clone(), rows[:120])
    for x, _ in rows[120:]:
        label, code = None, 0
        if is_classifier(case):
            label = model.predict_one(x)
            code = model._labels().index(label)
        answer = mean_of if label is None else share_of(code)
        base, parts = by_definition(model, x, weigh(model, x), answer, method)
        found = model._core.explain(x, label, method == "shapley")
        (base_got,), (parts_got,) = found.arrays()
        assert found.labels == ([] if label is None else [label])
        if label is not None:
            parts = parts * naive.slope(naive.log_odds, base + parts.sum(), base)
            base = naive.log_odds(base)
        assert base_got == pytest.approx(base, abs=1e-9)
        assert parts_got == pytest.approx(parts, abs=1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_dynamic_trees(method: str) -> None:
    """Means of leaves with their prior, and shares of particles, one per memory and more."""
    case = ("DynamicTreeRegressor", 0)
    rows = list(stream(case, 126))
    model = ret.DynamicTreeRegressor(
        n_particles=6, window=40, leaf="constant", forgetting_factor=1.0, seed=1
    )
    learn(model, rows[:120])
    for x, _ in rows[120:]:
        base, parts = by_definition(
            model, x, shares_of_trees(model, x), lambda leaf: leaf["intercept"], method
        )
        found = model._core.explain(x, None, method == "shapley")
        (base_got,), (parts_got,) = found.arrays()
        assert base_got == pytest.approx(base, abs=1e-9)
        assert parts_got == pytest.approx(parts, abs=1e-9)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_labels", [15, 16])
def test_dynamic_trees_of_many_labels(n_labels: int, method: str) -> None:
    """The means that nodes keep are those of all labels, or of the last one that was asked."""
    model = ret.DynamicTreeClassifier(n_particles=5, seed=1)
    for i in range(300):
        model.learn_one({"a": i % n_labels, "b": i % 7}, i % n_labels)
    before = model._raw_memory_usage
    for x in ({"a": 1, "b": 2}, {"a": n_labels - 1}):
        for label in (0, n_labels - 1, 0):
            found = model.explain_one(x, label, method)
            assert found.output == pytest.approx(output(model, x, label), abs=1e-9)
    per_node = 2 + (n_labels if n_labels == 15 else 1)
    assert model._raw_memory_usage - before >= 8 * per_node * model.n_nodes / 5
    assert pickle.loads(pickle.dumps(model))._raw_memory_usage <= before


# -------------------------------------------------------------------- axioms


def duplicated(n: int) -> list[tuple[dict[str, float], float]]:
    """Samples of which "b" and "c" decide in the same way, and "noise" never varies."""
    rng = np.random.default_rng(1)
    rows = []
    for b, c in rng.integers(0, 2, (n, 2)).tolist():
        rows.append(({"b": b, "c": c, "noise": 1.0}, float(b + c)))
    return rows


@pytest.mark.parametrize("name", ["StreamDecisionTree", "ExtraTrees", "DynamicTree"])
def test_symmetry_and_null_feature(name: str) -> None:
    """Equal causes get nearly equal contributions; a feature without a split gets none."""
    model: Any = getattr(ret, f"{name}Regressor")(seed=3)
    learn(model, duplicated(2000))
    found = model.explain_one({"b": 1, "c": 1, "noise": 1.0})
    b, c, noise = found.values
    assert found.base_value == pytest.approx(1.0, abs=0.1)
    assert (b, c) == (pytest.approx(0.5, abs=0.1), pytest.approx(0.5, abs=0.1))
    assert noise == 0.0


@pytest.mark.parametrize(
    "model", [ret.ExtraTreesRegressor(seed=1), ret.DynamicTreeRegressor(seed=1)]
)
def test_linear_models(model: Any) -> None:
    """A linear function is divided into its terms."""
    rng = np.random.default_rng(1)
    for a, b in rng.normal(size=(1500, 2)).tolist():
        model.learn_one({"a": a, "b": b}, 3.0 * a - 2.0 * b)
    found = model.explain_one({"a": 1.0, "b": 0.5})
    assert found.values == pytest.approx([3.0, -1.0], abs=0.4)


def test_memory() -> None:
    """The base value is that of the present samples: it follows a change of the mean."""
    model = ret.ExtraTreesRegressor(seed=1)
    rng = np.random.default_rng(1)
    for i, a in enumerate(rng.random(3000).tolist()):
        model.learn_one({"a": a}, a + 5.0 * (i >= 1500))
    assert model.explain_one({"a": 0.5}).base_value == pytest.approx(5.5, abs=0.3)


# -------------------------------------------------------------------- the object


def test_a_table() -> None:
    """Names with their values, from the largest contribution on, and what the rest adds."""
    found = ret.Explanation(
        1.5, np.arange(12.0), np.array([*"abcdefghijk", None]), tuple("ABCDEFGHIJKL"), "yes"
    )
    lines = str(found).splitlines()
    assert lines[0].split() == ["without", "any", "feature", "+1.5"]
    assert lines[1].split() == ["L", "=", "None", "+11"]
    assert lines[-2:] == ["2 other features     +1", "log odds of yes      +67.5"]
    assert found.largest(2) == [("L", None, 11.0), ("K", "k", 10.0)]
    assert next(iter(found.importances().items())) == ("L", 11.0)


def test_numbers_in_a_table() -> None:
    """Six digits are enough, but for the seconds of a date; a long text is cut off, in its line."""
    words = objects([0.123456789, 1795356900.0, 7, "a\nb", 50 * "x"])
    found = ret.Explanation(0.0, np.ones(5), words, ("x", "day", "n", "word", "url"))
    assert [line.split("  ")[0] for line in str(found).splitlines()[1:6]] == [
        *("x = 0.123457", "day = 1795356900", "n = 7", "word = a b", f"url = {39 * 'x'}…")
    ]
    assert repr(found) == str(found)


def test_rows() -> None:
    """By their numbers, from the end, too, and several of them."""
    model = learn(ret.StreamDecisionTreeClassifier(seed=1), datasets.Phishing().take(300))
    frame = pd.DataFrame([x for x, _ in datasets.Phishing().take(5)])
    found = model.explain_many(frame)
    assert found[-1] == found[4] == found[np.int64(4)] == [*found][4]
    assert found[-1] != found[0]
    assert found[1:3] == model.explain_many(frame[1:3])
    assert found[0] == pickle.loads(pickle.dumps(found[0])) != "an explanation"
    with pytest.raises(TypeError, match="interpreted as an integer"):
        found["anchor_from_other_domain"]
    with pytest.raises(TypeError, match="unhashable"):
        hash(found)


@pytest.mark.filterwarnings("error")
def test_no_rows() -> None:
    """The features of an empty frame are not used."""
    model = learn(ret.StreamDecisionTreeClassifier(seed=1), datasets.Phishing().take(30))
    found = model.explain_many(pd.DataFrame([x for x, _ in datasets.Phishing().take(1)])[:0])
    assert set(found.importances().values()) == {0.0}
    assert "mean size" in str(found)


def test_what_is_refused() -> None:
    """Unknown labels and methods, rows that are not there, and a model without a sample."""
    model = ret.StreamDecisionTreeClassifier()
    with pytest.raises(ValueError, match="before the first sample is learned"):
        model.explain_one({"a": 1})
    model.learn_one({"a": 1}, "x")
    with pytest.raises(ValueError, match="the label 'y' has not been learned"):
        model.explain_one({"a": 1}, label="y")
    with pytest.raises(ValueError, match="method"):
        model.explain_one({"a": 1}, method="lime")
    found = model.explain_many(pd.DataFrame({"a": [1.0]}))
    for row in (1, -2):
        with pytest.raises(IndexError, match=f"no row {row} among 1"):
            found[row]
    for n in (-1, 1.5):
        with pytest.raises(ValueError, match="n must be a whole number"):
            found[0].largest(n)
    with pytest.raises(ValueError, match="choose a row"):
        found.largest(1)
    with pytest.raises(TypeError, match="one prediction"):
        len(found[0])
    assert model.explain_many(pd.DataFrame({"a": []})).values.shape == (0, 1)


def test_kinds_of_a_feature() -> None:
    """A feature with numbers and words has one contribution; missing values are None."""
    model = ret.StreamDecisionTreeRegressor(batch_size=20, seed=1)
    for i in range(200):
        a: Any = i % 3 if i % 2 else "red" if i % 4 else "blue"
        model.learn_one({"a": a, "b": math.nan}, float(a == "red"))
    found = model.explain_one({"a": "red", "b": math.nan, "never seen": 1.0})
    assert (found.feature_names, found.data.tolist()) == (("a",), ["red"])
    assert found.output == pytest.approx(1.0)


def test_a_snapshot() -> None:
    """It explains as its model did."""
    model = learn(ret.ExtraTreesClassifier(seed=1), datasets.Phishing().take(300))
    x, _ = next(iter(datasets.Phishing()))
    wanted, found = model.explain_one(x), model.snapshot().explain_one(x)
    assert (found.label, found.base_value) == (wanted.label, wanted.base_value)
    assert found.values.tobytes() == wanted.values.tobytes()


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize(
    "model",
    [
        ret.StreamDecisionForestRegressor(n_models=3, batch_size=50, seed=1),
        ret.ShrubEnsembleRegressor(n_models=4, window_size=50, seed=1),
    ],
    ids=lambda value: type(value).__name__,
)
def test_trees_for_shap(model: Any, missing: float) -> None:
    """The arrays are the trees: who walks them as shap does predicts as the model does."""
    rng = np.random.default_rng(1)
    rows = [
        {i: float(value) for i, value in enumerate(row) if value > missing * rng.random()}
        for row in rng.random((600, 4))
    ]
    model = model.clone()
    for x in rows:
        model.learn_one(x, x.get(0, 2.0) + x.get(1, 0.5))
    for x in rows[:50]:
        total = 0.0
        for tree in model.to_shap()["trees"]:
            node = 0
            while tree["children_left"][node] >= 0:
                value = x.get(tree["features"][node], math.nan)
                side = "right" if value > tree["thresholds"][node] else "left"
                side = "default" if math.isnan(value) else side
                node = tree[f"children_{side}"][node]
            total += tree["values"][node, 0]
        assert total == pytest.approx(model.predict_one(x), abs=1e-12)


def test_shap_takes_no_names() -> None:
    """A split on nominal values is refused by name."""
    model = ret.StreamDecisionTreeClassifier(batch_size=20, seed=1)
    for i in range(100):
        model.learn_one({"a": "uv"[i % 2]}, i % 2)
    with pytest.raises(ValueError, match="splits 'a' by its nominal values"):
        model.to_shap()


@pytest.mark.filterwarnings("ignore:the model tells")
@pytest.mark.parametrize("method", METHODS)
def test_labels_that_are_forgotten_leave_no_sums(method: str) -> None:
    """The sums that trees keep between explanations are those without the freed labels."""
    model = crowded(ret.StreamDecisionTreeClassifier(batch_size=20, seed=1), n_labels=8)
    for i in range(400):
        model.learn_one({"a": i % 7, "b": i % 5}, i // 40 if i % 4 == 0 else -1 - (i % 7 > 3))
        if i % 5 == 0:
            kept, new = (
                each.explain_one({"a": 3, "b": i % 3}, method=method)
                for each in (model, pickle.loads(pickle.dumps(model)))
            )
            assert kept.base_value == new.base_value
            np.testing.assert_array_equal(kept.values, new.values)
