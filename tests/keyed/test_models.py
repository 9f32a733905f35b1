"""One model per key in one process: the same as a dict of models, with bounds and without."""

from __future__ import annotations

import copy
import math
import pickle
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import narwhals
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from river import base, linear_model, naive_bayes, preprocessing

import river_extra_trees as ret
from river_extra_trees import persistence
from river_extra_trees.keyed import Counts, KeyedBlock, KeyedModels
from tests.naive import keyed as naive

MODELS = {
    "tree": ret.StreamDecisionTreeClassifier(batch_size=4, min_samples_leaf=1, seed=1),
    "regression tree": ret.StreamDecisionTreeRegressor(batch_size=4, min_samples_leaf=1, seed=1),
    "forest": ret.StreamDecisionForestClassifier(n_models=3, seed=1),
    "dynamic tree": ret.DynamicTreeRegressor(n_particles=5, window=6, seed=1),
    "shrubs": ret.ShrubEnsembleClassifier(seed=1),
    "naive Bayes of river": naive_bayes.GaussianNB(),
    "pipeline of river": preprocessing.StandardScaler() | linear_model.LinearRegression(),
}
REGRESSIONS = {"regression tree", "dynamic tree", "pipeline of river"}
RIVER = {"naive Bayes of river", "pipeline of river"}

Samples = list[tuple[Any, dict[str, Any], Any, float]]


def samples_of(name: str, keys: list[Any], seed: int, bad: float = 0.0) -> Samples:
    """A sample for each key; some of which every model refuses."""
    rng = np.random.default_rng(seed)
    found: Samples = []
    for key in keys:
        x: dict[str, Any] = {"a": float(rng.integers(5)), "b": float(rng.random())}
        if rng.random() < bad:
            x["a"] = [] if name in RIVER else math.inf
        if name not in RIVER:
            x["c"] = str(rng.choice(["red", "green", "blue"]))
        y: Any = float(rng.normal()) if name in REGRESSIONS else str(rng.choice(["no", "yes"]))
        w = 1.0 if name in RIVER else float(rng.choice([1.0, 0.5, 0.0]))
        found.append((key, x, y, w))
    return found


def frame_of(samples: Samples, library: str = "pandas") -> tuple[Any, Any, Any, Any]:
    """Samples as keys, a frame, targets and weights."""
    keys, rows, targets, weights = map(list, zip(*samples, strict=True))
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    if library == "polars":
        series = pl.Series(keys), pl.DataFrame(columns), pl.Series(targets), pl.Series(weights)
    elif library == "pyarrow":
        parts = [pa.chunked_array([pa.array(each)]) for each in (keys, targets, weights)]
        series = parts[0], pa.table(columns), parts[1], parts[2]  # type: ignore[assignment]
    else:
        series = (  # type: ignore[assignment]
            pd.Series(keys),
            pd.DataFrame(columns),
            pd.Series(targets),
            pd.Series(weights),
        )
    return series


def as_list(series: Any) -> list[Any]:
    values = narwhals.from_native(series, series_only=True).to_list()
    return [None if value is None or value != value else value for value in values]


def same(one: Any, other: Any) -> bool:
    """Whether two models are equal to the bit; those of river, whether they answer alike."""
    if one is None or other is None or not type(one).__module__.startswith("river_extra_trees"):
        probes: Samples = samples_of("pipeline of river", list(range(5)), 0)
        other = copy.deepcopy(other)  # models of river may note what they are asked
        return (one is None) == (other is None) and all(
            one is None or one.predict_one(x) == other.predict_one(x) for _, x, _, _ in probes
        )
    return persistence.save_bytes(one) == persistence.save_bytes(other)


def check_same(models: KeyedModels, plain: naive.KeyedModels, keys: Any) -> None:
    plain.expire(plain.now + 1)
    assert len(models) == len(plain.models) == models.n_models
    for key in keys:
        assert (key in models) == (key in plain.models)
        assert same(models.model_of(key), plain.models.get(key))
    counts = models.counts()
    assert counts.n_refused == len(plain.refused)
    assert counts.n_samples_seen == plain.now - len(plain.refused)
    if plain.refused:
        assert counts.refusal.startswith(f"sample {plain.refused[-1]} of ")
    if models._keeper.max_models is not None:
        assert counts.n_in_memory <= models._keeper.max_models


@settings(max_examples=60, phases=[Phase.generate])
@given(
    name=st.sampled_from(sorted(MODELS)),
    keys=st.lists(st.integers(0, 7), min_size=1, max_size=40),
    seed=st.integers(0, 99),
    bad=st.sampled_from([0.0, 0.2]),
    max_models=st.none() | st.integers(1, 5),
    time_to_live=st.none() | st.integers(1, 12),
    when_full=st.sampled_from(["drop", "spill"]),
    calls=st.lists(
        st.sampled_from(["one", "many", "predict and learn", "forget", "commit"]), max_size=6
    ),
    library=st.sampled_from(["pandas", "polars", "pyarrow"]),
)
def test_same_as_a_dict(
    tmp_path_factory: pytest.TempPathFactory,
    name: str,
    keys: list[int],
    seed: int,
    bad: float,
    max_models: int | None,
    time_to_live: int | None,
    when_full: str,
    calls: list[str],
    library: str,
) -> None:
    """Whatever the bounds and the calls, models and answers are those of a dict of models."""
    store = tmp_path_factory.mktemp("keyed") / "models.db"
    model = MODELS[name]
    plain = naive.KeyedModels(model, max_models, time_to_live, when_full)
    library = "pandas" if name in RIVER else library  # whose columns hold anything
    samples = samples_of(name, keys, seed, bad)
    n = len(samples) // max(1, len(calls)) + 1
    with KeyedModels(model, max_models, time_to_live, when_full, store) as models:
        for i, call in enumerate(calls):
            part = samples[i * n : (i + 1) * n]
            if call == "forget":
                assert models.forget(i) == plain.forget(i)
            elif call == "commit":
                models.commit({"at": i})
            elif call == "one" or not part:
                for key, x, y, w in part:
                    assert models.predict_one(key, {"a": 1.0}) == plain.predict_one(key, {"a": 1.0})
                    models.learn_one(key, x, y, w)
                    plain.learn_one(key, x, y, w)
            else:
                expected = []
                for key, x, y, w in part:
                    try:
                        expected.append(plain.predict_one(key, x))
                    except (TypeError, ValueError):
                        expected.append(None)
                    plain.learn_one(key, x, y, w)
                named, X, Y, W = frame_of(part, library)
                if call == "many":
                    models.learn_many(named, X, Y, W)
                else:
                    assert as_list(models.predict_learn_many(named, X, Y, W)) == expected
            check_same(models, plain, range(8))
        clean = samples_of(name, list(range(9)), seed)
        named, X, *_ = frame_of(clean, library)
        expected = [plain.predict_one(key, x) for key, x, _, _ in clean]
        assert as_list(models.predict_many(named, X)) == expected


TREE = MODELS["tree"]


@pytest.mark.parametrize(
    ("name", "library"),
    [
        *(("tree", library) for library in ("pandas", "polars", "pyarrow")),
        *(("forest", "polars"), ("dynamic tree", "pyarrow")),
    ],
)
def test_large_frames(name: str, library: str) -> None:
    """Frames of many keys, with new labels, nominal values and features on the way."""
    samples = samples_of(name, [f"key {i * i % 37}" for i in range(600)], 3)
    for i, (key, x, y, w) in enumerate(samples):
        if i > 300:
            y = y if name in REGRESSIONS else f"label {i % 11}"
            x = {**x, "c": f"colour {i % 40}"}
        samples[i] = key, x, y, w
    plain = naive.KeyedModels(MODELS[name])
    models = KeyedModels(MODELS[name])
    shares: list[Any] = []
    expected: list[Any] = []
    for start, stop in ((0, 250), (250, 600)):
        part = samples[start:stop]
        for key, x, y, w in part:
            expected.append(plain.predict_one(key, x))
            if name not in REGRESSIONS:
                shares.append(plain.predict_proba_one(key, x))
            plain.learn_one(key, x, y, w)
    other = copy.deepcopy(models)
    assert expected == [
        answer
        for start, stop in ((0, 250), (250, 600))
        for answer in as_list(models.predict_learn_many(*frame_of(samples[start:stop], library)))
    ]
    check_same(models, plain, [f"key {i}" for i in range(37)])
    if name not in REGRESSIONS:
        block = KeyedBlock.from_frame(MODELS[name], *frame_of(samples, library))
        assert shares == other.predict_learn_block(block, shares=True)
        check_same(other, plain, [f"key {i}" for i in range(37)])
        rows = np.arange(0, 600, 7)
        told = models.predict_block(block, rows, shares=True)
        assert told == [plain.predict_proba_one(*block.sample(i)[:2]) for i in rows]


def test_frames_of_probabilities() -> None:
    """A column for each label that a row's model knows; NaN where one does not know it."""
    models = KeyedModels(ret.StreamDecisionTreeClassifier(leaf_memory=None, warm_up=0, seed=1))
    for key, y in (("a", "no"), ("b", "no"), ("b", "yes")):
        models.learn_one(key, {"x": 0.0}, y)
    frame = models.predict_proba_many(["a", "b", "c"], pd.DataFrame({"x": [0.0, 0.0, 0.0]}))
    assert list(frame) == ["no", "yes"]
    np.testing.assert_array_equal(frame.to_numpy(), [[1, np.nan], [0.5, 0.5], [np.nan, np.nan]])


def test_answers_keep_their_types() -> None:
    """Equal labels of different types, and those of numpy, come back as they were learned."""
    models = KeyedModels(TREE)
    models.learn_one("a", {"x": 0.0}, 1)
    models.learn_one("b", {"x": 0.0}, True)
    models.learn_one("c", {"x": 0.0}, "one")
    said = models.predict_many(["a", "b", "c", "d"], pd.DataFrame({"x": [0.0] * 4})).tolist()
    assert [type(each) for each in said] == [int, bool, str, type(None)]
    models = KeyedModels(TREE)
    models.learn_many([1, 2], np.zeros((2, 1)), np.array([3, 4]))
    assert models.predict_many(np.array([2, 1]), np.zeros((2, 1))).tolist() == [4, 3]


def test_missing_numbers() -> None:
    """Numbers that are missing, because a key is unknown, are null where a library has it."""
    models = KeyedModels(MODELS["regression tree"])
    models.learn_one("a", {"x": 0.0}, 1.5)
    assert models.predict_many(["a", "b"], pl.DataFrame({"x": [0.0, 0.0]})).to_list() == [1.5, None]
    assert models.predict_many(["a", "b"], pa.table({"x": [0.0, 0.0]})).to_pylist() == [1.5, None]
    answers = models.predict_many(["a", "b"], pd.DataFrame({"x": [0.0, 0.0]}, index=[7, 8]))
    assert answers.dtype == float
    assert answers.isna().to_dict() == {7: False, 8: True}


@pytest.mark.parametrize("many", [False, True])
def test_too_many_labels_of_one_key(many: bool) -> None:
    """The label that one key's model has no room for is refused alone."""
    models = KeyedModels(TREE)
    n = 1030
    keys = ["many labels" if i % 2 else i % 7 for i in range(2 * n)]
    names = [str(key) for key in keys]
    targets = [f"label {i}" if i % 2 else "no" for i in range(2 * n)]
    if many:
        models.learn_many(names, pd.DataFrame({"x": [0.0] * 2 * n}), targets)
    else:
        for name, y in zip(names, targets, strict=True):
            models.learn_one(name, {"x": 0.0}, y)
    counts = models.counts()
    assert (counts.n_refused, counts.n_samples_seen) == (n - 1024, n + 1024)
    assert counts.refusal == (
        f"sample {2 * n} of 'many labels': ValueError: the label 'label {2 * n - 1}' is one too "
        "many: a model tells 1024 labels apart"
    )


@pytest.mark.parametrize("when_full", ["drop", "spill"])
def test_least_recently_learned_leaves(tmp_path: Path, when_full: str) -> None:
    """Only learning counts as use: answers do not change what is kept."""
    store = tmp_path / "models.db" if when_full == "spill" else None
    models = KeyedModels(TREE, 2, when_full=when_full, store=store)
    for key in ("a", "b"):
        models.learn_one(key, {"x": 0.0}, "yes")
    models.predict_one("a", {"x": 0.0})
    models.learn_one("c", {"x": 0.0}, "yes")
    assert models.counts().n_in_memory == 2
    assert [key in models for key in "abc"] == [when_full == "spill", True, True]
    assert models.predict_one("a", {"x": 0.0}) == ("yes" if when_full == "spill" else None)
    assert models.forget("a") == (when_full == "spill")
    assert not models.forget("a")
    models.close()


def test_time_to_live() -> None:
    """A key is known for so many samples after its last one."""
    models = KeyedModels(TREE, time_to_live=2)
    models.learn_one("a", {"x": 0.0}, "yes")
    models.learn_one("b", {"x": 0.0}, "yes")
    assert "a" in models
    models.learn_one("b", {"x": 0.0}, "yes")
    assert "a" not in models
    assert models.predict_one("a", {"x": 0.0}) is None
    assert len(models) == 1


@pytest.mark.parametrize(
    ("keys", "X", "y", "w"),
    [
        ([1.5, 2.5], [[0.0], [1.0]], ["a", "b"], 1.0),
        ([None, "a"], [[0.0], [1.0]], ["a", "b"], 1.0),
        ([True, 1], [[0.0], [1.0]], ["a", "b"], 1.0),
        (["a"], [[0.0], [1.0]], ["a", "b"], 1.0),
        (["a", "b"], [[0.0], [1.0]], ["a"], 1.0),
        (["a", "b"], [[0.0], [1.0]], ["a", "b"], [1.0]),
        (["a", "b"], [[0.0], [np.inf]], ["a"], 1.0),
        ("ab", [[0.0], [1.0]], ["a", "b"], 1.0),
        (["a", "b"], [[0.0], [1.0]], "ab", 1.0),
    ],
)
def test_bad_frames(keys: Any, X: Any, y: Any, w: Any) -> None:
    """Keys of other types and different lengths are refused before anything is learned."""
    for model in (TREE, MODELS["naive Bayes of river"]):
        models = KeyedModels(model)
        with pytest.raises((TypeError, ValueError)):
            models.learn_many(keys, np.array(X), y, w)
        assert models.counts() == (0, 0, 0, 0, "")


def test_bad_calls() -> None:
    models = KeyedModels(TREE)
    for call in (
        lambda: models.learn_one(1.5, {"x": 0.0}, "a"),  # type: ignore[arg-type]
        lambda: models.predict_one(None, {"x": 0.0}),  # type: ignore[arg-type]
        lambda: models.forget(True and ("a",)),  # type: ignore[arg-type]
        lambda: models.model_of(2.5),  # type: ignore[arg-type]
    ):
        with pytest.raises(TypeError, match="a key must be a string, bytes or a whole number"):
            call()
    with pytest.raises(AttributeError, match="predicts no probabilities"):
        KeyedModels(MODELS["regression tree"]).predict_proba_many([], np.zeros((0, 1)))
    assert models.counts() == (0, 0, 0, 0, "")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": 5}, "model must be a classifier or a regressor"),
        ({"model": preprocessing.StandardScaler()}, "model must be a classifier or a regressor"),
        ({"max_models": 0}, "max_models must be None or a whole number from 1"),
        ({"time_to_live": 1.5}, "time_to_live must be None or a whole number from 1"),
        ({"when_full": "keep"}, "when_full must be 'drop' or 'spill'"),
        ({"when_full": "spill"}, "store must be a file when models spill"),
    ],
)
def test_bad_parameters(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        KeyedModels(**{"model": TREE, **changes})


def test_refused_samples() -> None:
    """A sample that its model refuses is counted, and its key's others are learned."""
    for many in (False, True):
        models = KeyedModels(TREE)
        values = [0.0, math.inf, 1.0, 2.0]
        if many:
            X = pd.DataFrame({"x": values})
            said = models.predict_learn_many(list("aaba"), X, ["no"] * 4)
            assert as_list(said) == [None, None, None, "no"]
        else:
            for key, value in zip("aaba", values, strict=True):
                models.learn_one(key, {"x": value}, "no")
        counts = models.counts()
        assert counts[:4] == (2, 2, 3, 1)
        assert counts.refusal == (
            "sample 2 of 'a': ValueError: feature 'x': the value must be finite, not inf"
        )
        with pytest.raises(ValueError, match="finite"):
            models.predict_one("a", {"x": math.inf})


def test_copies() -> None:
    """Pickles and copies go on as the original does, bounds included."""
    models = KeyedModels(TREE, 3, 20)
    samples = samples_of("tree", [i * i % 7 for i in range(60)], 1)
    for sample in samples[:40]:
        models.learn_one(*sample)
    for twin in (pickle.loads(pickle.dumps(models)), copy.deepcopy(models)):
        plain = naive.KeyedModels(TREE, 3, 20)
        for sample in samples[:40]:
            plain.learn_one(*sample)
        for sample in samples[40:]:
            twin.learn_one(*sample)
            plain.learn_one(*sample)
        check_same(twin, plain, range(7))
    assert models.n_samples_seen == 40


def test_copies_of_models_with_a_store(tmp_path: Path) -> None:
    with (
        KeyedModels(TREE, store=tmp_path / "models.db") as models,
        pytest.raises(TypeError, match="cannot be copied or pickled"),
    ):
        pickle.dumps(models)


def test_models_are_clones() -> None:
    """New models are what `clone` makes, also of classes that say more than their parameters."""
    for model in MODELS.values():
        models = KeyedModels(model)
        models.learn_one("a", {"x": []}, "y")  # refused: the model stays as it was made
        clone = model.clone()
        assert type(models.model_of("a")) is type(clone)
        assert models.model_of("a")._get_params().keys() == clone._get_params().keys()
    models = KeyedModels(ret.StreamDecisionForestClassifier(n_models=3))
    for key in "ab":
        for i in range(30):
            models.learn_one(key, {"x": float(i * i % 7), "y": float(i % 3)}, i % 2)
    assert not same(models.model_of("a"), models.model_of("b"))  # without a seed each draws its own


def test_memory_is_told() -> None:
    models = KeyedModels(TREE)
    before = models._raw_memory_usage
    for key in range(10):
        models.learn_one(key, {"x": 0.0}, "a")
    one = models.model_of(0)._raw_memory_usage
    assert 9 * one <= models._raw_memory_usage - before <= 10 * (one + 1000)


def test_keys_of_all_types() -> None:
    """Keys of different types are different keys, also in a file."""
    keys: list[Any] = ["1", b"1", 1, -1, 2**70, "", "\ud800"]
    models = KeyedModels(TREE)
    for i, key in enumerate(keys):
        models.learn_one(key, {"x": 0.0}, i)
    assert [models.predict_one(key, {"x": 0.0}) for key in keys] == list(range(len(keys)))
    models.learn_one(np.int64(1), {"x": 0.0}, 2)  # type: ignore[arg-type]
    assert len(models) == len(keys)


def test_a_long_number_as_key(tmp_path: Path) -> None:
    """Python does not write it in decimal digits; it can be stored and refused all the same."""
    with KeyedModels(TREE, store=tmp_path / "models.db") as models:
        models.learn_one(10**5000, {"x": 0.0}, "a")
        models.learn_one(10**5000, {"x": math.inf}, "a")
        assert "sample 2 of <int that cannot be written>" in models.counts().refusal
        models.commit()
    with KeyedModels(TREE, store=tmp_path / "models.db") as models:
        assert models.predict_one(10**5000, {"x": 0.0}) == "a"


def test_a_key_that_a_dictionary_names_twice() -> None:
    """Its samples are those of one key, in the order of the rows."""
    pa = pytest.importorskip("pyarrow")
    codes = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, 1]), pa.array(["a", "a"]))
    X = pa.table({"x": [0.0] * 4})
    models = KeyedModels(ret.StreamDecisionTreeRegressor(leaf_memory=None, seed=1))
    said = models.predict_learn_many(pa.chunked_array([codes]), X, [1.0, 3.0, 5.0, 7.0])
    assert said.to_pylist() == [None, 1.0, 2.0, 3.0]


def test_chosen_rows(tmp_path: Path) -> None:
    """Some rows of a block are learned as the whole block of these rows."""
    samples = samples_of("tree", [f"key {i % 5}" for i in range(50)], 5)
    block = KeyedBlock.from_frame(TREE, *frame_of(samples))
    assert block.batch is not None
    rows = np.flatnonzero(block.codes != 2)
    chosen, taken, alone = KeyedModels(TREE), KeyedModels(TREE), KeyedModels(TREE)
    chosen.learn_block(block, rows)
    taken.learn_block(pickle.loads(pickle.dumps(block.take(rows))))
    alone.learn_block(KeyedBlock.from_samples(*apart([samples[i] for i in rows])))
    for i in range(5):
        key = f"key {i}"
        assert same(chosen.model_of(key), taken.model_of(key))
        assert same(chosen.model_of(key), alone.model_of(key))


def apart(samples: Samples) -> tuple[list[Any], list[tuple[Any, Any, float]]]:
    return [key for key, *_ in samples], [(x, y, w) for _, x, y, w in samples]


def test_probabilities_of_regressors() -> None:
    """They are refused for known keys and for unknown ones."""
    models = KeyedModels(ret.StreamDecisionTreeRegressor(seed=1))
    models.learn_one("known", {"x": 0.0}, 1.0)
    for key in ("known", "unknown"):
        with pytest.raises(AttributeError, match="Regressor predicts no probabilities"):
            models.predict_proba_one(key, {"x": 0.0})


# --- Samples that cannot be learned


@pytest.mark.parametrize("pooled", [False, True], ids=["alone", "pooled"])
@pytest.mark.parametrize(
    ("model", "other"),
    [
        (ret.StreamDecisionTreeRegressor(seed=1), ret.StreamDecisionTreeClassifier(seed=1)),
        (ret.StreamDecisionTreeClassifier(seed=1), ret.StreamDecisionTreeRegressor(seed=1)),
        (naive_bayes.GaussianNB(), ret.StreamDecisionTreeRegressor(seed=1)),
    ],
    ids=["regressor", "classifier", "river"],
)
def test_blocks_that_cannot_be_learned(model: Any, other: Any, pooled: bool) -> None:
    """Samples without targets, or read for models of another kind, leave all as it was."""
    keys, X = ["a"] * 3, pd.DataFrame({"x": [0.0, 1.0, 2.0]})
    models = KeyedModels(model, pooled=model if pooled else None)
    unlabelled = KeyedBlock.from_frame(model, keys, X)
    foreign = KeyedBlock.from_frame(other, keys, X, [1.0, 2.0, 3.0])
    for learn in (models.learn_many, models.predict_learn_many):
        with pytest.raises(ValueError, match="no targets to learn: y is None"):
            learn(keys, X, None)
    for learn in (models.learn_block, models.predict_learn_block):
        with pytest.raises(ValueError, match="no targets to learn: y is None"):
            learn(unlabelled)
        with pytest.raises(TypeError, match=r"the targets are|the samples are columns, which"):
            learn(foreign)
    assert models.counts() == (0, 0, 0, 0, "")


class Slow(base.Regressor):
    """Predicts while it is told to, and says when it has begun."""

    def __init__(self, begun: threading.Event, goes_on: threading.Event) -> None:
        self.begun, self.goes_on = begun, goes_on

    def clone(self, *_: Any, **__: Any) -> Slow:
        return self

    def learn_one(self, x: Any, y: Any) -> None:
        self.begun.set()
        self.goes_on.wait(60)

    def predict_one(self, x: Any) -> float:
        return 0.0


def test_a_second_call_gets_an_error_and_changes_nothing() -> None:
    """Whatever it is; the first one goes on."""
    begun, goes_on = threading.Event(), threading.Event()
    models = KeyedModels(Slow(begun, goes_on))
    first = threading.Thread(target=models.learn_one, args=("a", {}, 1.0))
    first.start()
    assert begun.wait(60)
    X = pd.DataFrame({"x": [0.0]})
    calls: list[Callable[[], object]] = [
        lambda: models.learn_one("b", {}, 1.0),
        lambda: models.learn_many(["b"], X, [1.0]),
        lambda: models.predict_one("a", {}),
        lambda: models.predict_many(["a"], X),
        lambda: models.predict_learn_many(["b"], X, [1.0]),
        lambda: models.model_of("a"),
        lambda: models.forget("a"),
        models.commit,
        models.close,
    ]
    for call in calls:
        with pytest.raises(RuntimeError, match="are in use"):
            call()
    goes_on.set()
    first.join()
    assert models.counts() == Counts(1, 1, 1, 0, "")
    assert models.predict_one("a", {}) == 0.0
