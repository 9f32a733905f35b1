"""New features take the columns of those that are gone, in every family."""

import pickle
import random
import warnings
from typing import Any

import pandas as pd
import pytest

import river_extra_trees as ret
from river_extra_trees import persistence
from tests.naive.columns import Columns
from tests.tools.crowded import crowded
from tests.tools.estimators import CLASSES, TIGHTEST, frozen, is_classifier, make

WITH_WINDOWS = [case for case in TIGHTEST if case[0].startswith(("Forget", "Shrub", "Stream"))]


def passing(n: int, n_names: int, seed: int = 1) -> Any:
    """Samples of features that come and go, of both kinds; the newest ones tell the target."""
    rng = random.Random(seed)
    for i in range(n):
        y, newest = rng.random() < 0.5, i // 40
        x: dict[Any, Any] = {f"n{newest}": float(y), f"m{newest}": rng.choice("rgb")}
        x |= {f"k{rng.randrange(newest, newest + n_names)}": rng.choice([1.0, "one"])}
        yield (x if i % 9 else {**x, "old": 1.0}), y


@pytest.mark.filterwarnings("ignore:the model holds")
@pytest.mark.parametrize("case", WITH_WINDOWS, ids=str)
def test_features_have_the_columns_of_the_naive_ones(case: tuple[str, int]) -> None:
    """Splits hold columns, and stored samples those that were seen late."""
    model, naive = crowded(make(case), 9), Columns(9)
    core = model._core
    n_taken = 0
    for x, y in passing(450, 4):
        nodes = [node for nodes in model._trees() for node in nodes]
        held = {node["column"] for node in nodes if node["left"] >= 0}
        latest: dict[int, int] = {}
        for slot in core.window.slots():
            row, _, _, number = core.window.sample(slot)
            for column, value in enumerate(row):
                if value == value:
                    latest[column] = max(number, latest.get(column, -1))
        before = set(naive.numbers)
        naive.learned(x, core.n_seen, held, latest)
        model.learn_one(x, int(y) if is_classifier(case) else float(y))
        while core.growth_is_due if hasattr(core, "growth_is_due") else False:
            model._grow()
        found = {(name, core.schema.codes[k] is not None): k for k, name in core.schema.features()}
        assert found == naive.numbers
        assert core.schema.crowded == naive.crowded
        n_taken += bool(before - naive.numbers.keys())
        core.check()
    assert n_taken > 5


@pytest.mark.filterwarnings("ignore:the model holds")
@pytest.mark.parametrize("case", TIGHTEST, ids=str)
def test_copies_files_frames_and_loops_free_the_same(case: tuple[str, int]) -> None:
    """The state is the same to the last bit, whichever way the samples came."""
    samples = list(passing(280, 5))
    ys = [int(y) if is_classifier(case) else float(y) for _, y in samples]
    one, copied, framed = (crowded(make(case), 8) for _ in range(3))
    for i, ((x, _), y) in enumerate(zip(samples, ys, strict=True)):
        if i % 30 == 7:
            copied = pickle.loads(pickle.dumps(copied))
        if i % 60 == 9:
            copied = persistence.load_bytes(persistence.save_bytes(copied))
        for each in (one, copied):
            each.learn_one(x, y)
        one._core.check()
        assert frozen(one) == frozen(copied)
    for at in range(0, 280, 70):
        frame = pd.DataFrame([x for x, _ in samples[at : at + 70]], dtype=object)
        framed.learn_many(frame, ys[at : at + 70])
    assert frozen(framed) == frozen(one)


@pytest.mark.parametrize("name", CLASSES)
def test_new_features_are_learned_in_a_long_life(name: str) -> None:
    """After more names than there are columns, the next ones tell as much as the first."""
    parameters: dict[str, Any] = {}
    if name.startswith("Dynamic"):
        parameters = {"n_particles": 20, "window": 200}
    if name.startswith("Extra"):
        parameters["window_sizes"] = (50, 200)  # trees of large windows hold all 320 for long
    n_right = []
    for n_wide in (0, 41):
        model = crowded(CLASSES[name](seed=1, **parameters), 320)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            for i in range(n_wide):
                x = {f"w{i}_{k}": 1.0 for k in range(8)}
                model.learn_one(x, i % 2 == 0 if is_classifier((name, 0)) else i % 2)
            n_right.append(n_right_of_turns(model, is_classifier((name, 0))))
        assert [str(each.message)[:15] for each in told] == ["the model holds"] * (n_wide > 0)
        assert ("crowded" in model.summary) == (n_wide > 0)
    assert n_right[1] > n_right[0] - 60


def n_right_of_turns(model: Any, classifies: bool) -> int:
    """How many of 300 labels are right, after features have told them in turn."""
    rng, n_right = random.Random(2), 0
    for i in range(1200):
        y = rng.random() < 0.5
        x = {f"n{i // 300}": float(y), "z": rng.random()}
        n_right += i >= 900 and ((model.predict_one(x) or 0) > 0.5) == y
        model.learn_one(x, y if classifies else float(y))
    return n_right


def test_a_warning_that_is_an_error_leaves_the_model_as_it_was() -> None:
    model = crowded(ret.ExtraTreesClassifier(seed=1), 2)
    model.learn_one({"a": 1.0, "b": 1.0}, True)
    before = frozen(model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="For 'c' it forgets those that it has not seen"):
            model.learn_one({"c": 1.0}, True)
        assert frozen(model) == before
        model.learn_one({"c": 1.0}, True)
    assert [name for _, name in model._core.schema.features()] == ["c", "b"]
    assert "crowded" in model._repr_html_()


@pytest.mark.filterwarnings("ignore:the model holds")
def test_trees_that_wait_grow_on_the_names_of_their_batch(monkeypatch: Any) -> None:
    """A new feature that takes a column of the batch on which trees wait takes its values away."""
    model = crowded(ret.StreamDecisionForestClassifier(10, batch_size=30, seed=1), 66)
    monkeypatch.setattr(type(model), "_trees_per_step", lambda self, n: 1)
    before: dict[int, Any] = {}
    n_held = 0
    for i in range(300):
        model.learn_one({f"n{i}": 1.0, f"m{i}": "a", "z": i % 2}, i % 2 == 0)
        full = model._core.state().get("full")
        held = {
            column: model._core.schema.names[column]
            for column, n in enumerate(full.values["n_values"] if full else [])
            if n > 0
        }
        assert not before or held.items() <= before.items()
        before, n_held = held, n_held + len(held)
        model._core.check()
    assert n_held > 0


@pytest.mark.filterwarnings("ignore:the model holds")
def test_a_feature_that_takes_a_column_has_no_evidence_of_the_former_one() -> None:
    """Extra trees know of the column `b` that it tells nothing, until another has its place."""
    forest = ret.ExtraTreesClassifier(n_models=2, window_sizes=(600,), batch_size=10**4, seed=1)
    model, rng = crowded(forest, 3), random.Random(1)
    for _ in range(1200):
        y = rng.random() < 0.5
        model.learn_one({"a": rng.random() + y, "b": rng.choice("xyz"), "c": "xz"[y]}, y)
    column = next(k for k, name in model._core.schema.features() if name == "b")
    assert model._core.state()["evidence"][0, column] < 1.0
    assert frozen(pickle.loads(pickle.dumps(model))) == frozen(model)
    model.learn_one({"a": 0.0, "new": "x"}, False)
    assert (column, "new") in model._core.schema.features()
    found = model._core.state()["evidence"]
    assert found.shape[1] <= column or found[0, column] == 1.0
