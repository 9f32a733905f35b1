"""One model per key in one process: the same as a dict of models, with bounds and without."""

from __future__ import annotations

import copy
import math
import pickle
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from river import base

import river_extra_trees as ret
from river_extra_trees.keyed import Counts, KeyedModels, by_key
from river_extra_trees.keyed import models as keyed_models
from tests.naive import keyed as naive
from tests.tools.keyed_samples import (
    MODELS,
    RIVER,
    TREE,
    Samples,
    as_list,
    check_same,
    frame_of,
    same,
    samples_of,
)


@settings(max_examples=80, phases=[Phase.generate])
@given(
    name=st.sampled_from(sorted(MODELS)),
    keys=st.lists(st.integers(0, 7), min_size=9, max_size=40),
    seed=st.integers(0, 99),
    bad=st.sampled_from([0.0, 0.2]),
    max_models=st.none() | st.integers(1, 5),
    time_to_live=st.none() | st.integers(1, 12),
    has_store=st.booleans(),
    calls=st.lists(
        st.sampled_from(["one", "many", "predict and learn", "forget", "commit"]),
        min_size=1,
        max_size=6,
    ),
    library=st.sampled_from(["pandas", "polars", "pyarrow"]),
    n_jobs=st.sampled_from([0, 1, 3]),
)
def test_same_as_a_dict(
    tmp_path_factory: pytest.TempPathFactory,
    name: str,
    keys: list[int],
    seed: int,
    bad: float,
    max_models: int | None,
    time_to_live: int | None,
    has_store: bool,
    calls: list[str],
    library: str,
    n_jobs: int,
) -> None:
    """Whatever the bounds and the calls, models and answers are those of a dict of models.

    With threads, every key has a table of its rows in each frame; without, there are too few rows.
    """
    store = tmp_path_factory.mktemp("keyed") / "models.db" if has_store else None
    model = MODELS[name]
    plain = naive.KeyedModels(model, None if has_store else max_models, time_to_live)
    library = "pandas" if name in RIVER else library  # whose columns hold anything
    samples = samples_of(name, keys, seed, bad)
    n = len(samples) // max(1, len(calls)) + 1
    with (
        KeyedModels(model, max_models, time_to_live, store, n_jobs=n_jobs or 1) as models,
        mock.patch.object(by_key, "MOST_KEYS", 1 if n_jobs else by_key.MOST_KEYS),
    ):
        for i, call in enumerate(calls):
            part = samples[i * n : (i + 1) * n]
            if call == "forget":
                assert models.forget(i) == plain.forget(i)
            elif call == "commit" and has_store:
                models.commit({"at": i})
            elif call == "one":
                learn_one_by_one(models, plain, part)
            elif part:
                learn_frame(models, plain, part, library, is_asked=call == "predict and learn")
            check_same(models, plain, range(8), max_models)
        clean = samples_of(name, list(range(9)), seed)
        named, X, *_ = frame_of(clean, library)
        expected = [plain.predict_one(key, x) for key, x, _, _ in clean]
        assert as_list(models.predict_many(named, X)) == expected


def learn_one_by_one(models: KeyedModels, plain: naive.KeyedModels, samples: Samples) -> None:
    for key, x, y, w in samples:
        for each in (key, (key + 1) % 8):  # answers do not count as use
            assert models.predict_one(each, {"a": 1.0}) == plain.predict_one(each, {"a": 1.0})
        models.learn_one(key, x, y, w)
        plain.learn_one(key, x, y, w)


def learn_frame(
    models: KeyedModels, plain: naive.KeyedModels, samples: Samples, library: str, is_asked: bool
) -> None:
    expected = []
    for key, x, y, w in samples:
        try:
            expected.append(plain.predict_one(key, x))
        except (TypeError, ValueError):
            expected.append(None)
        plain.learn_one(key, x, y, w)
    keys, X, Y, W = frame_of(samples, library)
    if is_asked:
        assert as_list(models.predict_learn_many(keys, X, Y, W)) == expected
    else:
        models.learn_many(keys, X, Y, W)


@pytest.mark.parametrize("bounds", [(None, None), (2, None), (None, 3), (4, 40)])
def test_a_model_leaves_the_memory_within_a_frame(
    monkeypatch: pytest.MonkeyPatch, bounds: tuple[int | None, int | None]
) -> None:
    """Its later samples in the frame begin a new one, which has no answer for the first."""
    monkeypatch.setattr(by_key, "MOST_KEYS", 1)
    name = "regression tree"
    samples = samples_of(name, [0, 1, 2, 0, 1, 2, 0, 0, 1, 3] * 3, 1)
    models, plain = (kind(MODELS[name], *bounds) for kind in (KeyedModels, naive.KeyedModels))
    learn_frame(models, plain, samples, "pandas", is_asked=True)
    check_same(models, plain, range(8), bounds[0])


class Doubling(ret.StreamDecisionTreeRegressor):
    """A learner that is derived from one of the package."""

    def learn_one(self, x: Any, y: Any, w: float = 1.0) -> None:
        super().learn_one(x, 2 * y, w)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupted_frame_is_counted(n_jobs: int) -> None:
    """A signal may end a call after some of the keys: these have learned, and are counted."""
    models = KeyedModels(ret.StreamDecisionTreeRegressor(seed=1), n_jobs=n_jobs)
    models.learn_many(["a"] * 50, pd.DataFrame({"x": [0.0] * 50}), [1.0] * 50)
    usual = keyed_models.learn_table

    def learn_table(model: Any, rows: Any, numbers: list[int], predicts: bool) -> Any:
        if rows.keys[numbers[0]] == "b":
            raise KeyboardInterrupt
        return usual(model, rows, numbers, predicts)

    keys = [key for key in "abc" for _ in range(40)]
    with (
        mock.patch.object(keyed_models, "learn_table", learn_table),
        pytest.raises(KeyboardInterrupt),
    ):
        models.learn_many(keys, pd.DataFrame({"x": [0.0] * 120}), [1.0] * 120)
    learned = [models.model_of(key).n_samples_seen for key in "abc"]
    assert learned[:2] == [90, 0]
    assert learned[2] in (0, 40)  # another thread may have begun
    assert models.counts().n_samples_seen == sum(learned)


def test_a_derived_learner_learns_in_its_own_way() -> None:
    models = KeyedModels(Doubling(leaf_memory=None, seed=1))
    models.learn_many(["a"] * 60, pd.DataFrame({"x": [0.0] * 60}), [1.0] * 60)
    assert models.predict_one("a", {"x": 0.0}) == 2.0


@pytest.mark.parametrize("most_keys", [0, 1])
def test_probabilities_of_frames(monkeypatch: pytest.MonkeyPatch, most_keys: int) -> None:
    """They are those of a dict of models, also for labels and features that come later."""
    monkeypatch.setattr(by_key, "MOST_KEYS", most_keys)
    samples = samples_of("tree", [f"key {i * i % 7}" for i in range(120)], 3)
    samples[60:] = [
        (key, {**x, "d": f"{i % 9}"}, f"label {i % 11}", w)
        for i, (key, x, _, w) in enumerate(samples[60:])
    ]
    models, plain = KeyedModels(TREE), naive.KeyedModels(TREE)
    for part in (samples[:60], samples[60:]):
        models.learn_many(*frame_of(part, "polars"))
        for sample in part:
            plain.learn_one(*sample)
        keys, X, *_ = frame_of(samples[60:], "polars")
        keys = pl.concat([keys[:-1], pl.Series(["unknown"])])
        found = models.predict_proba_many(keys, X).to_dicts()
        for key, (_, x, _, _), row in zip(keys, samples[60:], found, strict=True):
            known = {label: share for label, share in row.items() if share == share}
            assert known == plain.predict_proba_one(key, x)


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


def test_a_stored_model_that_has_expired_is_not_counted(tmp_path: Path) -> None:
    """The file holds an old state of a model that has learned in memory since."""
    with KeyedModels(TREE, time_to_live=3, store=tmp_path / "models.db") as models:
        models.learn_one("a", {"x": 0.0}, "yes")
        models.commit()
        for _ in range(3):
            models.learn_one("a", {"x": 0.0}, "yes")
        assert len(models) == 1


def test_copies(tmp_path: Path) -> None:
    """Pickles and copies go on as the original does, bounds included; a store has none."""
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
    assert models.counts().n_samples_seen == 40
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
    models = KeyedModels(ret.ExtraTreesClassifier(n_models=3))
    for key in "ab":
        for i in range(30):
            models.learn_one(key, {"x": float(i * i % 7), "y": float(i % 3)}, i % 2)
    assert not same(models.model_of("a"), models.model_of("b"))  # without a seed each draws its own


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


def test_a_second_call_waits() -> None:
    """Threads take turns, and none of their samples is lost."""
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
        lambda: models.model_of("new"),
        models.counts,
    ]
    others = [threading.Thread(target=call) for call in calls]
    for other in others:
        other.start()
    assert all(other.is_alive() for other in others)
    goes_on.set()
    for thread in (first, *others):
        thread.join()
    assert models.counts() == Counts(2, 2, 3, 0, "")
