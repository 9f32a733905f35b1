"""Questions whose labels come late: what the weights of the forests are learned from."""

import copy
import pickle
import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pandas as pd
import pytest

import river_extra_trees as ret
from river_extra_trees import persistence
from river_extra_trees._core.forests.extra_trees import ExtraTrees
from river_extra_trees._core.state import StateError
from tests.core.forests.test_groups import assert_same_answers, both, learn, rows
from tests.tools.crowded import crowded

Pair = tuple[dict[str, Any], Any]


@pytest.mark.parametrize("delay", [1, 7, 70])
@pytest.mark.parametrize("regression", [False, True])
def test_same_as_naive(regression: bool, delay: int) -> None:
    """Every row is asked; some labels come at once, others late, a few never.

    Rows repeat, and copies are taken while questions wait.
    """
    core, naive = both(regression)
    rng = random.Random(delay)
    stream = [(x, y, w or 1.0) for x, y, w in rows(regression, 200, seed=9)]
    stream = [(*stream[rng.randrange(200)][:1], *row[1:]) if i % 6 == 0 else row
              for i, row in enumerate(stream)]  # fmt: skip
    waiting = []
    for i, row in enumerate(stream):
        if i % 9 == 0:
            core = pickle.loads(pickle.dumps(core))
            core.check()
        naive.ask(row[0])
        assert_same_answers(core, naive, row[0])  # a question, asked twice
        if i % 7 == 3:
            learn(core, naive, row)
        elif i % 11:
            waiting.append(row)
        if len(waiting) > delay:
            learn(core, naive, waiting.pop(0))
    assert core.questions.delay == pytest.approx(naive.delay)
    assert 0.2 * delay < naive.delay < 1.2 * delay
    assert len(core.questions.state()["rows"]) == len(naive.questions) > 10


def stream_of(task: str, n: int, seed: int = 1) -> list[Pair]:
    rng = random.Random(seed)
    found: list[Pair] = []
    for _ in range(n):
        x: dict[str, Any] = {"a": rng.random(), "b": rng.random(), "c": rng.choice("rgb")}
        score = 3.0 * x["a"] * (x["c"] == "r") + x["b"] + rng.random()
        found.append((x, score if task == "regression" else score > 1.5))
    return found


def model_of(task: str) -> Any:
    kind = ret.ExtraTreesRegressor if task == "regression" else ret.ExtraTreesClassifier
    return kind(n_models=15, window_sizes=(20, 60, 200), seed=1)


tasks = pytest.mark.parametrize("task", ["classification", "regression"])


@tasks
def test_a_label_that_comes_at_once_changes_nothing(task: str) -> None:
    """The model is one that was never asked, to the bit, whatever else is asked between."""
    asked, trained = model_of(task), model_of(task)
    for x, y in stream_of(task, 150):
        asked.predict_one(x)
        asked.predict_one({**x, "a": 0.5})
        trained.learn_one(x, y)
        asked.learn_one(x, y)
    fields, others = asked._core.state(), trained._core.state()
    assert fields.pop("questions").values["delay"] == 0.0
    del others["questions"]
    assert pickle.dumps(fields) == pickle.dumps(others)


@tasks
def test_keys_may_change_their_order_and_a_refused_label_leaves_the_question(task: str) -> None:
    pairs, one, other = stream_of(task, 120), model_of(task), model_of(task)
    late(one, pairs)
    waiting: list[Pair] = []
    for x, y in pairs:
        other.predict_one(x)
        waiting.append((x, y))
        if len(waiting) > 20:
            x, y = waiting.pop(0)
            with pytest.raises((TypeError, ValueError)):
                other.learn_one(x, None if task == "classification" else float("nan"))
            other.learn_one(dict(reversed(x.items())), y)
    assert other._core.questions.delay > 10.0
    assert persistence.save_bytes(other) == persistence.save_bytes(one)


@tasks
def test_threads_may_ask_in_any_order(task: str) -> None:
    """Labels find their questions, so the same is learned."""
    pairs, one, other = stream_of(task, 300), model_of(task), model_of(task)
    with ThreadPoolExecutor(3) as threads:
        for first in range(0, 300, 30):
            part = pairs[first : first + 30]
            found = list(threads.map(other.predict_one, [x for x, _ in part]))
            assert found == [one.predict_one(x) for x, _ in part]
            for x, y in part:
                one.learn_one(x, y)
                other.learn_one(x, y)
    assert other._core.questions.delay == one._core.questions.delay > 8.0
    for x, _ in pairs:
        assert one.predict_one(x) == other.predict_one(x)


@pytest.mark.parametrize("seed", range(3))
def test_nodes_that_get_other_numbers(seed: int) -> None:
    """A question that waits while a full tree gives numbers of nodes to others learns as any does.

    A copy does not know the leaves of its questions.
    """
    rng = random.Random(seed)
    one = ret.ExtraTreesClassifier(n_models=8, window_sizes=(200,), max_nodes=15, seed=seed)
    other = copy.deepcopy(one)
    waiting: list[Pair] = []
    for i in range(300):
        x = {"a": rng.random(), "b": rng.random()} if i % 160 >= 80 else {"a": 0.1, "b": 0.2}
        one.predict_one(x)
        other.predict_one(x)
        waiting.append((x, rng.randrange(3)))
        if len(waiting) > 20:
            x, y = waiting.pop(0)
            one.learn_one(x, y)
            other = copy.deepcopy(other)
            other.learn_one(x, y)
    assert persistence.save_bytes(one) == persistence.save_bytes(other)


def late(model: Any, pairs: list[Pair], delay: int = 20, batch: int = 0) -> Any:
    """Ask all samples, and learn each after so many others: alone, or in frames."""
    waiting: list[Pair] = []
    for x, y in pairs:
        model.predict_one(x)
        waiting.append((x, y))
        if not batch and len(waiting) > delay:
            model.learn_one(*waiting.pop(0))
        elif len(waiting) == batch:
            model.learn_many(pd.DataFrame(x for x, _ in waiting), pd.Series(y for _, y in waiting))
            waiting.clear()
    return model


@tasks
def test_frames_find_questions(task: str) -> None:
    """Labels that come in a frame do the same as one after the other."""
    pairs, one = stream_of(task, 150), model_of(task)
    for first in range(0, 150, 30):
        for x, _ in pairs[first : first + 30]:
            one.predict_one(x)
        for x, y in pairs[first : first + 30]:
            one.learn_one(x, y)
    many = late(model_of(task), pairs, batch=30)
    assert one._core.questions.delay > 8.0
    assert persistence.save_bytes(many) == persistence.save_bytes(one)


@tasks
def test_late_labels_weigh_what_was_known(task: str) -> None:
    """A model that was asked learns other weights from late labels than one that was not."""
    pairs = stream_of(task, 150)
    asked, trained = late(model_of(task), pairs), model_of(task)
    for x, y in pairs[:-20]:
        trained.learn_one(x, y)
    assert asked._core.questions.delay > 10.0
    assert asked.window_weights != trained.window_weights


@tasks
def test_the_delay_is_followed_from_the_first_label(task: str) -> None:
    """Also of questions that were asked before anything was learned, by rows or in a frame."""
    pairs = stream_of(task, 40)
    assert late(model_of(task), pairs)._core.questions.delay > 1.0
    asked, frame = model_of(task), model_of(task)
    for x, _ in pairs:
        asked.predict_one(x)
    frame.predict_many(pd.DataFrame(x for x, _ in pairs))
    counts = [model._core.questions.state()["n_first"] for model in (asked, frame)]
    assert counts == [40, 40]
    for x, y in pairs:  # without questions, nothing tells that labels are late
        asked.learn_one(x, y)
    assert asked._core.questions.delay == 0.0


def test_the_first_late_targets_weigh_no_member() -> None:
    """Among the first 51, those whose question had no answer say little of what comes late."""
    pairs, model = stream_of("regression", 160), model_of("regression")
    for n in (51, 60):
        weights = late(copy.deepcopy(model), pairs[: 80 + n], delay=80).window_weights
        assert (len(set(weights.values())) == 1) == (n == 51)


@tasks
@pytest.mark.parametrize("as_frame", [False, True])
def test_a_row_without_known_features_takes_no_question(task: str, as_frame: bool) -> None:
    """Nothing tells such rows apart: neither is the question of the other one."""
    pairs, model = stream_of(task, 40), model_of(task)
    for i, (x, y) in enumerate(pairs):
        if i == 10:
            unknown = {"other": 1.0}
            model.predict_many(pd.DataFrame([unknown])) if as_frame else model.predict_one(unknown)
        model.learn_one(x, y)
    model.learn_one({}, pairs[0][1])
    assert model._core.questions.delay == 0.0


@tasks
def test_the_label_of_a_row_without_known_features_is_not_late(task: str) -> None:
    """It is not that of a question that was asked before anything was learned, either."""
    model, (x, y) = model_of(task), stream_of(task, 1)[0]
    for _ in range(2):  # of one, the label never comes
        model.predict_one(x)
    model.learn_one(x, y)
    model.predict_one({})
    model.learn_one({}, y)
    assert model._core.questions.delay == 0.0


def test_the_weight_of_one_window_is_at_most_one() -> None:
    """A share that depends on the delay may round it to more, which no copy would take."""
    model = ret.ExtraTreesClassifier(2, window_sizes=(600,), seed=1)
    pairs = [({"a": i % 7}, i % 3) for i in range(200)]
    for i, (x, _) in enumerate(pairs):
        model.predict_one(x)
        if i >= 60:
            model.learn_one(*pairs[i - 60])
            assert model.window_weights[600] <= 1.0


@tasks
@pytest.mark.parametrize(
    "copied",
    [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m)),
     lambda m: persistence.load_bytes(persistence.save_bytes(m))],
    ids=["copy", "pickle", "file"],
)  # fmt: skip
def test_questions_wait_in_copies(task: str, copied: Any) -> None:
    pairs = stream_of(task, 200)
    model = late(model_of(task), pairs[:100])
    other = copied(model)
    for each in (model, other):
        late(each, pairs[100:])
    assert persistence.save_bytes(model) == persistence.save_bytes(other)
    assert model._core.questions.delay > 10.0


@tasks
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_frames_ask_as_their_rows_do(task: str, n_jobs: int) -> None:
    """Whichever thread predicts a row, and if a value is unknown; more rows than wait, too."""
    pairs = stream_of(task, 100)
    one, many = late(model_of(task), pairs), late(model_of(task), pairs)
    many.mutate({"n_jobs": n_jobs})
    rows = [{**x, "a": float(i)} for i in range(50) for x, _ in pairs]
    for i in (3, 2000, 4990):
        rows[i]["c"] = "unknown"
    for x in rows:
        one.predict_one(x)
    many.predict_many(pd.DataFrame(rows))
    found, wanted = (model._core.questions.state() for model in (many, one))
    for name in ("rows", "moments", "ages", "answers"):
        np.testing.assert_allclose(found[name], wanted[name], rtol=1e-12)


@tasks
def test_snapshots_ask_nothing_that_waits(task: str) -> None:
    served = late(model_of(task), stream_of(task, 100))._core.for_serving()
    for x, _ in stream_of(task, 100):
        (served.predict_number if task == "regression" else served.predict_proba)(x)
    assert not len(served.questions.state()["rows"])


@tasks
def test_questions_without_labels_take_a_fixed_memory(task: str) -> None:
    """4,096 questions wait; later ones replace them."""
    core = model_of(task)._core
    for x, y in stream_of(task, 30):
        core.learn(x, y)
    sizes = []
    for i in range(20_000):
        core.predict_number({"a": i}) if task == "regression" else core.predict_label({"a": i})
        if i >= 10_000:
            sizes.append(core.questions.__sizeof__())
    assert max(sizes) == min(sizes) < 2_500_000
    state = core.questions.state()
    assert len(state["rows"]) == 4096
    assert state["ages"].tolist() == list(range(4095, -1, -1))
    core.check()
    core.learn({"a": 20_000 - 4096}, 0.5 if task == "regression" else True)
    assert len(core.questions.state()["rows"]) == 4095
    core.learn({"a": 20_000 - 4097}, 0.5 if task == "regression" else True)
    assert len(core.questions.state()["rows"]) == 4095


def test_answers_of_many_labels_take_a_fixed_memory() -> None:
    """Four megabytes; then fewer questions wait."""
    core = ret.ExtraTreesClassifier(n_models=3, window_sizes=(20,), seed=1)._core
    for i in range(600):
        core.learn({"a": i}, i)
    for i in range(500):
        core.predict_label({"a": -i})
    assert len(core.questions.state()["rows"]) == (1 << 19) // (5 * 600 + 1)
    assert core.questions.__sizeof__() < 2 * 8 * (1 << 19) * 1.1


def test_a_new_label_ends_all_questions() -> None:
    model = late(model_of("classification"), stream_of("classification", 60))
    assert len(model._core.questions.state()["rows"])
    model.learn_one({"a": 1.0}, "new")
    assert not len(model._core.questions.state()["rows"])


WRONG = {
    "order": lambda f: {"ages": f["ages"][::-1].copy()},
    "age": lambda f: {"ages": f["ages"] + 4080},
    "future": lambda f: {"moments": f["moments"] + 10_000},
    "width": lambda f: {"answers": f["answers"][:, :-1].copy()},
    "answer": lambda f: {"answers": np.full_like(f["answers"], np.inf)},
    "nan": lambda f: {"answers": np.full_like(f["answers"], np.nan)},
}


@tasks
@pytest.mark.parametrize("change", WRONG.values(), ids=list(WRONG))
def test_impossible_questions_are_refused(task: str, change: Any) -> None:
    state = late(model_of(task), stream_of(task, 100))._core.state()
    values = state["questions"].values
    state["questions"].values = {**values, **change(values)}
    with pytest.raises(StateError, match="Questions"):
        ExtraTrees.restored(state)


@pytest.mark.filterwarnings("ignore:the model holds")
def test_no_question_of_a_former_feature_is_found() -> None:
    """A new feature that takes a freed column makes other rows, also in a copy."""
    model = crowded(ret.ExtraTreesClassifier(seed=1), 8)
    for i in range(200):
        model.learn_one({f"n{i}": 1.0}, True)  # no tree splits, and holds a column
        model.predict_one({f"n{i}": 1.0})
        if i % 40 == 0:
            model = persistence.load_bytes(persistence.save_bytes(model))
    assert "n199" in model._core.schema.names
    assert model._core.questions.delay == 0.0
