"""Forests in parts: what they learn and answer is, bit for bit, what one forest does."""

from __future__ import annotations

import itertools
import pickle
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import river_extra_trees as ret
from river_extra_trees import persistence
from river_extra_trees._core.forests.memories import MemoryForest
from river_extra_trees.distributed import Block, coordinator, learn_together, merge, split
from river_extra_trees.distributed.memories import LONGEST
from tests.tools.blocks import samples_in
from tests.tools.estimators import (
    SPLITTABLE,
    answers,
    begun_anew,
    broken_stream,
    is_classifier,
    learn,
    make,
    stream,
)

Case = tuple[str, int]
SIZES = (1, 5, 33, 450, 7, 250)  # of the blocks: inside of a batch, just one, several


class Twin:
    """A forest and the same forest in parts, which learn one stream with weights."""

    def __init__(self, case: Case, n_parts: int, n_before: int) -> None:
        self.case = case
        self.rows = list(broken_stream(case, n_before + sum(SIZES) + 150))
        self.at = n_before
        rng = random.Random(4)
        self.weights = [rng.choice([0.0, 1.0, 2.5]) for _ in self.rows]
        self.forest = make(case)
        self.planted = list(self.forest._core.trees)
        self.learn_alone(0, n_before)
        self.parts = split(self.forest, n_parts)
        self.coordinator = coordinator(self.forest)

    def learn_alone(self, start: int, stop: int) -> None:
        for (x, y), w in zip(self.rows[start:stop], self.weights[start:stop], strict=True):
            self.forest.learn_one(x, y, w)

    def learn(self, size: int) -> None:
        """Learn one block in both ways, and send the parts through a pickle at each message."""
        rows, targets = zip(*self.rows[self.at : self.at + size], strict=True)
        block = Block(rows, targets, self.weights[self.at : self.at + size])
        block = pickle.loads(pickle.dumps(block, 5))
        start, given, combined = 0, block, None
        while start < size:
            calls = [part.step(combined, given, start) for part in [self.coordinator, *self.parts]]
            self.parts = pickle.loads(pickle.dumps(self.parts, 5))
            given, combined = None, None
            start, report = calls[0]
            if report is not None:
                reports = [report for _, report in calls[1:]]
                combined = pickle.loads(pickle.dumps(self.coordinator.combine(reports), 5))
        if combined is not None:
            for part in [self.coordinator, *self.parts]:
                part.grow(combined)
        self.learn_alone(self.at, self.at + size)
        self.at += size

    def answers_of_parts(self, rows: Sequence[Any]) -> list[str]:
        block = Block([x for x, _ in rows])
        votes = [part.votes(block) for part in self.parts]
        if not is_classifier(self.case):
            return [repr(number) for number in self.coordinator.predict_numbers(votes)]
        probabilities = self.coordinator.predict_probabilities(votes)
        return [
            repr((label, sorted(each.items(), key=repr)))
            for label, each in zip(
                self.coordinator.predict_labels(votes), probabilities, strict=True
            )
        ]


DIVIDED = [
    (case, n_parts, n_before)
    for case in SPLITTABLE
    for n_parts, n_before in ([(1, 0), (2, 137), (3, 0)] if case[1] == 1 else [(2, 137)])
]


@pytest.mark.parametrize(("case", "n_parts", "n_before"), DIVIDED, ids=str)
def test_parts_are_one_forest(case: Case, n_parts: int, n_before: int) -> None:
    """Parts answer, and merge to a forest that answers and goes on, as one forest does.

    They are split before the first sample, or in the middle of a batch.
    """
    asked = list(stream(case, 20, seed=2))
    twin = Twin(case, min(n_parts, make(case).n_models), n_before)
    for size in SIZES:
        twin.learn(size)
        expected = answers(twin.forest, asked)
        assert twin.answers_of_parts(asked) == expected
        assert twin.coordinator.n_samples_seen == twin.forest.n_samples_seen
    if getattr(twin.forest, "n_swaps", None) != 0:
        assert begun_anew(twin.forest, twin.planted) > 0
    merged = merge(twin.parts)
    merged._core.check()
    assert answers(merged, asked) == expected
    rest = twin.rows[twin.at :]
    assert answers(learn(merged, rest), asked) == answers(learn(twin.forest, rest), asked)


@pytest.mark.parametrize("n_parts", [2, 3, 5])
@pytest.mark.parametrize("case", [case for case in SPLITTABLE if case[1] == 1], ids=str)
def test_many_parts(case: Case, n_parts: int) -> None:
    """Up to as many parts as there are trees, some of which go while the others stay."""
    forest = make(case, n_models=5)
    planted = list(forest._core.trees)
    parts = split(forest, n_parts)
    assert [part.first for part in parts] == [i * 5 // n_parts for i in range(n_parts)]
    assert sum(part.n_trees for part in parts) == 5
    rows, targets = zip(*broken_stream(case, 600), strict=True)
    learn_together(parts, Block(rows, targets))
    learn(forest, zip(rows, targets, strict=True))
    assert begun_anew(forest, planted) > 0
    asked = list(stream(case, 40, seed=2))
    parts.reverse()
    assert answers(merge(parts), asked) == answers(forest, asked)


@pytest.mark.parametrize("n", [0, 4, 1.5, True])
def test_number_of_parts(n: Any) -> None:
    """There are as many parts as trees at most, and at least one."""
    forest = ret.StreamDecisionForestClassifier(n_models=3, window_size=(20, 50), seed=1)
    with pytest.raises(ValueError, match="n must be"):
        split(forest, n)


def test_parts_that_do_not_belong_together() -> None:
    """What keeps parts from being merged is said."""
    case = ("StreamDecisionForestClassifier", 0)
    forest = make(case)
    a, b, c = split(forest, 3)
    rows, targets = zip(*stream(case, 9), strict=True)
    with pytest.raises(ValueError, match="no parts"):
        merge([])
    with pytest.raises(ValueError, match="tree 0 is missing"):
        merge([b, c])
    with pytest.raises(ValueError, match="tree 1 is missing"):
        merge([a, c])
    with pytest.raises(ValueError, match="tree 2 is missing"):
        merge([a, b])
    with pytest.raises(ValueError, match="tree 1 is in two parts"):
        merge([a, b, b, c])
    with pytest.raises(ValueError, match="another forest"):
        merge([a, split(make(case, seed=2), 3)[1], c])
    b.learn(Block(rows, targets))
    with pytest.raises(ValueError, match="has learned other samples: 9 instead of 0"):
        merge([a, b, c])


def test_order_of_calls() -> None:
    """A full batch is grown before the next one begins, and not before it is full."""
    case = ("ForgetfulRandomForestClassifier", 1)
    forest = learn(make(case), stream(case, make(case).batch_size))  # beyond the first trees
    part, other = split(forest, 2)
    rows, targets = zip(*stream(case, 30), strict=True)
    block = Block(rows, targets)
    with pytest.raises(RuntimeError, match="not full"):
        part.grow(None)
    stop, report = part.learn(block)
    assert stop == make(case).batch_size
    with pytest.raises(RuntimeError, match="call grow"):
        part.learn(block, stop)
    with pytest.raises(ValueError, match="has a full batch"):
        merge([part, other])
    part.grow(part.combine([report, other.learn(block)[1]]))
    assert part.learn(block, stop) == (len(block), None)


@pytest.mark.parametrize("case", [case for case in SPLITTABLE if case[1] in (1, 3)], ids=str)
def test_part_of_a_part(case: Case) -> None:
    """Only whole forests are split."""
    part = split(make(case), 2)[0]
    with pytest.raises(ValueError, match="first, stop"):
        type(part)(part._model, 0, 1)


ROTATING = [case for case in SPLITTABLE if isinstance(make(case)._core, MemoryForest)]


@pytest.mark.parametrize("case", ROTATING, ids=str)
def test_merged_in_the_middle_of_growths(case: Case) -> None:
    """Wherever growths stand, the file of a merged forest is that of one that was not split."""
    forest, n_parts = make(case), 3
    parts = split(forest, n_parts)
    rows = iter(broken_stream(case, 391))
    for number, size in enumerate(itertools.cycle((31, 1, 17))):
        block = list(itertools.islice(rows, size))
        if not block:
            break
        learn(forest, block)
        learn_together(parts, Block(*zip(*block, strict=True)))
        merged = merge(parts)
        assert persistence.save_bytes(merged) == persistence.save_bytes(forest)
        if number % 5 == 0:
            n_parts = 1 + number % make(case).n_models
            parts = split(merged, n_parts)
    assert merged.memory_weights == parts[0]._model.memory_weights != make(case).memory_weights


@pytest.mark.parametrize("case", ROTATING, ids=str)
def test_votes_that_wait(case: Case) -> None:
    """Weights learn one block before the next one, which may be longer than a report."""
    forest = make(case)
    parts = split(forest, 2)
    rows, targets = zip(*stream(case, 2100), strict=True)
    block = Block(rows, targets)
    stop, _ = parts[0].learn(block)
    assert stop == LONGEST < len(block)
    with pytest.raises(RuntimeError, match="call grow"):
        parts[0].learn(block, stop)
    with pytest.raises(ValueError, match="has a full batch"):
        merge(parts)
    parts = split(forest, 2)
    learn_together(parts, block)
    learn_together(parts, Block(rows[:3], targets[:3], [0.0] * 3))
    learn(forest, zip(rows, targets, strict=True))
    assert persistence.save_bytes(merge(parts)) == persistence.save_bytes(forest)


def test_votes_of_another_forest() -> None:
    """Votes and answers that do not fit are refused, and nothing is read beyond their end."""
    case = ("StreamDecisionForestClassifier", 3)
    part, _ = split(make(case), 2)
    rows, targets = zip(*stream(case, 50), strict=True)
    block = Block(rows, targets)
    whole = make(case)._core
    with pytest.raises(ValueError, match="only a part"):
        whole.learn_and_vote(whole.reader(block.batch(False), True), 50)
    part.learn(block)
    core, answers = part._model._core, np.full((4, 3, 3), 1 / 3)
    zeros, threes = np.zeros(4), np.full(4, 3, np.intc)
    assert core.combined(answers).shape == (4, 3)
    before = core.state()["pool"].values["weights"]
    for wrong in (answers[:, :2].copy(), answers[:, :, :2].copy()):
        with pytest.raises(ValueError, match="another forest"):
            core.combined(wrong)
        with pytest.raises(ValueError, match="another forest"):
            core.weigh_answers(wrong, zeros, threes)
    for wrong_targets in (zeros + 3, zeros - 1, zeros * np.nan):
        with pytest.raises(ValueError, match="a target has no answer"):
            core.weigh_answers(answers, wrong_targets, threes)
    with pytest.raises(ValueError, match="as many answers"):
        core.weigh_answers(answers, zeros[:3].copy(), threes)
    with pytest.raises(ValueError, match="another forest"):
        core.weigh_answers(answers, zeros, threes + 1)
    assert (core.state()["pool"].values["weights"] == before).all()


# --- Blocks


def test_block_keeps_what_matters() -> None:
    """Values come out as they went in, but for floats in place of other numbers."""
    rows = [
        {"a": 1.5, "b": 3, "c": "red", "d": True, "e": None, "f": 2**60, 7: (1, 2)},
        {"a": -0.0, "b": 4, "c": 1.0, "d": False, "e": 2.0, "f": 1.5},
    ]
    block = pickle.loads(pickle.dumps(Block(rows, ["x", 1], [1.0, 2.0]), 5))
    first, second = samples_in(block)
    del rows[0]["e"]
    assert first == (rows[0], "x", 1.0)
    assert second == (rows[1], 1, 2.0)


def test_block_of_nothing() -> None:
    """Blocks may lack rows, features or targets."""
    assert samples_in(Block([], [])) == []
    assert samples_in(Block([{}, {}], [1, 2])) == [({}, 1, 1.0), ({}, 2, 1.0)]
    with pytest.raises(ValueError, match="no targets"):
        Block([{}]).batch(True)
    with pytest.raises(ValueError, match="1 rows and 2 weights"):
        Block([{}], [1], [1.0, 2.0])


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_block_of_a_frame(kind: str) -> None:
    """Frames of all kinds make the same blocks as their rows do."""
    columns = {"a": [0.5, 1.5, 2.5], "b": [1, 2, 3], "c": ["x", "y", "x"]}
    frame = _frame(kind, columns)
    block = Block.from_frame(frame, [1, 2, 3], 0.5)
    assert samples_in(block) == [
        ({"a": a, "b": b, "c": c}, y, 0.5)
        for a, b, c, y in zip(*columns.values(), [1, 2, 3], strict=True)
    ]


def _frame(kind: str, columns: dict[str, list[Any]]) -> Any:
    import narwhals

    library = pytest.importorskip(kind, reason=f"{kind} is not installed")
    make_frame = library.table if kind == "pyarrow" else library.DataFrame
    return narwhals.from_native(make_frame(columns), eager_only=True)


def test_buffers_travel_without_a_copy() -> None:
    """With protocol 5 the numbers of a block are out of band."""
    block = Block([{"a": float(i), "b": i / 2} for i in range(1000)], [0.5] * 1000)
    buffers: list[pickle.PickleBuffer] = []
    message = pickle.dumps(block, 5, buffer_callback=buffers.append)
    assert len(message) < 500
    assert sum(buffer.raw().nbytes for buffer in buffers) == 8 * (2 * 1000 + 1000)
    again = pickle.loads(message, buffers=buffers)
    for column in again.columns:
        assert column.numbers.base is not None  # a view of the buffer it was given
    assert samples_in(again) == samples_in(block)


class Calling(float):
    """A number whose conversion calls something."""

    hook: Any = None

    def __float__(self) -> float:
        refused = pytest.raises(RuntimeError, match="the model is in use")
        for act in self.hook:
            with refused:
                act()
        return 0.5


@pytest.mark.parametrize(
    "forest",
    [
        ret.StreamDecisionForestClassifier(
            n_models=4, batch_size=10, splitter="best", swap_rule="always", window_size=20, seed=1
        ),
        ret.ForgetfulRandomForestRegressor(n_models=4, batch_size=10, seed=1),
    ],
    ids=lambda forest: type(forest).__name__,
)
def test_no_part_is_cut_or_joined_while_it_learns(forest: Any) -> None:
    """Code of a sample that tries to is refused, and the parts are as they were."""
    forest = learn(forest, [({"a": float(i % 7)}, float(i % 3)) for i in range(25)])
    first, second = (part._model._core for part in split(forest, 2))
    value = Calling(1.0)
    value.hook = [
        lambda: first.keep(0, 1),
        lambda: first.join([second]),
        lambda: second.join([first]),
    ]
    first.learn({"a": value}, 1.0)
    first.check()
    second.check()
    assert [len(first.trees), len(second.trees)] == [2, 2]
    assert first.is_part
    assert second.is_part
