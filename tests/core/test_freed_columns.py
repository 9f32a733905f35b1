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
from tests.tools.estimators import CASES, CLASSES, frozen, is_classifier, make

WITH_WINDOWS = [case for case in CASES if hasattr(make(case)._core, "window") and case[1] < 2]
WITH_WINDOWS = [case for case in WITH_WINDOWS if not case[0].startswith("Dynamic")]


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
    for x, y in passing(700, 4):
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
@pytest.mark.parametrize("name", CLASSES)
def test_copies_files_frames_and_loops_free_the_same(name: str) -> None:
    """The state is the same to the last bit, whichever way the samples came."""
    case = (name, 0)
    samples = list(passing(420, 5))
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
    for at in range(0, 420, 70):
        frame = pd.DataFrame([x for x, _ in samples[at : at + 70]], dtype=object)
        framed.learn_many(frame, ys[at : at + 70])
    assert frozen(framed) == frozen(one)


PATIENT = {"window": 300}  # of dynamic trees: the default remembers the wide samples for longer


@pytest.mark.slow
@pytest.mark.parametrize("name", CLASSES)
def test_new_features_are_learned_in_a_long_life(name: str) -> None:
    """After 16,384 names of which none tells anything, the next ones tell all, in turn."""
    parameters = {"window": 100, "n_particles": 20} if name.startswith("Dynamic") else {}
    model = CLASSES[name](seed=1, **parameters)
    rng = random.Random(2)
    n_right = 0
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for i in range(1700):
            y = rng.random() < 0.5
            target = y if is_classifier((name, 0)) else float(y)
            if i < 41:
                x = {f"w{i}_{k}": 1.0 for k in range(400)}
            else:
                x = {f"n{i // 400}": float(y), "z": rng.random()}
                n_right += i >= 1300 and ((model.predict_one(x) or 0) > 0.5) == y
            model.learn_one(x, target)
    assert n_right > 300
    assert [str(each.message)[:34] for each in told] == ["the model holds 16,384 features, th"[:34]]
    assert model.summary["crowded"] == "'w40_85'"  # after 384 free places, by the order of names


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
