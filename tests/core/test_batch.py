"""Readers of a batch: chosen rows, and one learner after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import river_extra_trees as ret
from river_extra_trees import persistence
from river_extra_trees._core.batch import Batch, Reader
from river_extra_trees._core.columns import Column, column_of_numbers, column_of_values
from river_extra_trees._estimator.columns import labelled_batch_of

N = 60


def model() -> Any:
    return ret.StreamDecisionTreeClassifier(batch_size=5, min_samples_leaf=1, seed=1)


def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "a": rng.random(N),
            "b": [["red", "green", None, f"colour {i}"][i % 4] for i in range(N)],
            "c": [float(i) if i > N // 2 else np.nan for i in range(N)],
        }
    )


def targets() -> list[str]:
    return [f"label {i * i % 3 + (i > N // 2)}" for i in range(N)]


def test_chosen_rows() -> None:
    """A learner that reads chosen rows, in any order, learns what it would of these rows alone."""
    chosen = np.random.default_rng(1).permutation(N)[:41]
    batch = labelled_batch_of(frame(), targets(), np.linspace(0.0, 2.0, N), False)
    one, other = model(), model()
    reader = Reader(batch, True, chosen)
    one._core.ask(reader)
    one._core.take_over(reader, 0, len(chosen))
    one._learn_rows(reader)
    alone = labelled_batch_of(
        frame().iloc[chosen],
        [targets()[i] for i in chosen],
        np.linspace(0.0, 2.0, N)[chosen],
        False,
    )
    expected = other._core.reader(alone, learns=True)
    other._answer_and_learn(expected)
    assert reader.labels.tolist() == expected.labels.tolist()
    assert persistence.save_bytes(one) == persistence.save_bytes(other)


def test_several_learners() -> None:
    """Each learner reads its part of the way, though others have learned in between."""
    batch = labelled_batch_of(frame(), targets(), 1.0, False)
    rows = np.argsort(np.arange(N) % 3, kind="stable")
    models = [model() for _ in range(3)]
    for start, stop in ((0, 7), (7, 20)):  # the second time, they have columns and labels
        reader = Reader(batch, True, rows)
        for i, each in enumerate(models):
            each._core.take_over(reader, 20 * i + start, 20 * i + stop)
            each._learn_rows(reader)
    for i, each in enumerate(models):
        alone = model()
        alone.learn_many(frame()[i::3], targets()[i::3])
        assert persistence.save_bytes(each) == persistence.save_bytes(alone)


def test_places_outside() -> None:
    """Rows that the batch does not have, and parts that the way does not have, are refused."""
    batch = labelled_batch_of(frame(), targets(), 1.0, False)
    for rows in ([-1], [N], [0, N]):
        with pytest.raises(IndexError, match=f"the batch has {N}"):
            Reader(batch, True, np.array(rows, dtype=np.intp))
    reader = Reader(batch, True, np.arange(5))
    for part in ((-1, 2), (3, 2), (0, 6)):
        with pytest.raises(IndexError, match="the reader has 5 rows"):
            model()._core.take_over(reader, *part)
    assert len(Reader(batch, True, np.arange(0)).batch) == N


def test_refused_batches() -> None:
    """A batch tells whether some learner may refuse a value or a name of it."""
    numbers = np.array([0.0, 1.0])
    assert not Batch(2, [column_of_numbers("a", numbers)]).is_refused()
    assert Batch(2, [column_of_numbers("a", np.array([0.0, np.inf]))]).is_refused()
    assert Batch(2, [column_of_numbers(10**5000, numbers)]).is_refused()


def test_refused_targets() -> None:
    """A learner refuses targets of its own part only, and may be followed by others."""
    labels = [f"label {i}" for i in range(1030)]
    batch = labelled_batch_of(pd.DataFrame({"a": np.zeros(1030)}), labels, 1.0, False)
    reader = Reader(batch, True, np.arange(1030))
    one, other = model(), model()
    with pytest.raises(ValueError, match="label 1024"):
        one._core.take_over(reader, 0, 1030)
    one._core.take_over(reader, 0, 1024)
    one._learn_rows(reader)
    other._core.take_over(reader, 1024, 1030)
    other._learn_rows(reader)
    assert (one.n_samples_seen, other.n_samples_seen) == (1024, 6)


class Moody:
    """A nominal value that is hashable a number of times."""

    patience = 1000

    def __hash__(self) -> int:
        Moody.patience -= 1
        if Moody.patience < 0:
            raise KeyboardInterrupt
        return 1


def test_rows_that_fail_half_way() -> None:
    """A new row that fails leaves no columns and no values, and is learned in a second attempt."""
    columns = [
        column_of_values("a", ["red", Moody()]),
        column_of_numbers("b", np.array([np.nan, 1])),
        column_of_values("c", [Moody(), Moody()]),
    ]
    targets = labelled_batch_of(frame()[:2], ["yes", "yes"], 1.0, False).targets
    batch, failed = Batch(2, columns, targets), 0
    for patience in range(20):
        learner = model()
        reader = learner._core.reader(batch, learns=True)
        Moody.patience = patience
        try:
            learner._learn_rows(reader)
        except KeyboardInterrupt:
            failed += 1
            assert learner.n_samples_seen == reader.row
            assert learner._schema.names == ["a", "c"][: 2 * reader.row]
        Moody.patience = 1000
        learner._learn_rows(reader)
        learner._core.check()
        assert learner.n_samples_seen == 2
        assert learner._schema.names == ["a", "c", "b"]
    assert 1 < failed < 20


@pytest.mark.parametrize(
    "targets",
    [
        None,
        Column(None, 3),
        Column(None, 3, np.zeros(3)),
        Column(None, 3, None, np.array([0, 1, 70000], np.intc), ["a", "b"]),
        Column(None, 3, None, np.array([0, -9, 1], np.intc), ["a", "b"]),
    ],
    ids=["none", "empty", "numbers", "too large", "too small"],
)
def test_targets_that_no_learner_reads(targets: Any) -> None:
    """Targets that are missing, of another task, or codes of no label are never looked up."""
    batch, one = Batch(3, [column_of_numbers("x", np.zeros(3))], targets), model()
    with pytest.raises((ValueError, TypeError, IndexError), match=r"target|no such label"):
        one._core.take_over(Reader(batch, True), 0, 3)
    assert one.n_samples_seen == 0


def test_columns_of_other_lengths() -> None:
    """Columns and batches have the number of rows that they say, whatever Python optimizes."""
    with pytest.raises(ValueError, match="2 values in a column of 3 rows"):
        Column("x", 3, np.zeros(2))
    with pytest.raises(ValueError, match="a column of 2 rows in a batch of 3"):
        Batch(3, [Column("x", 2, np.zeros(2))])
