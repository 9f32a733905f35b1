"""Tables, their columns, and rows that a learner refuses."""

import sys
from typing import Any

import numpy as np
import pytest

import river_extra_trees as ret
from river_extra_trees._core.columns import Column, column_of_numbers, column_of_values
from river_extra_trees._core.table import Table
from river_extra_trees._estimator.tables import labelled_table_of
from tests.tools.inputs import Interruption, Loud


def model() -> Any:
    return ret.StreamDecisionTreeClassifier(batch_size=5, min_samples_leaf=1, seed=1)


def test_rows_that_fail_half_way() -> None:
    """A new row that fails leaves no columns and no values, and is learned in a second attempt."""
    value = Loud()
    columns = [
        column_of_values("a", ["red", value]),
        column_of_numbers("b", np.array([np.nan, 1])),
        column_of_values("c", [value, value]),
    ]
    targets = labelled_table_of(np.zeros((2, 1)), ["yes", "yes"], 1.0, False).targets
    table, failed = Table(2, columns, targets), 0
    for call in range(1, 41):
        learner = model()
        reader = learner._core.reader(table, learns=True)
        value.be_interrupted(call)
        try:
            learner._read_rows(reader)
        except Interruption:
            failed += 1
            assert learner.n_samples_seen == reader.row
            assert learner._schema.names == ["a", "c"][: 2 * reader.row]
            assert [len(codes) for codes in learner._schema.codes] == [1, 1][: 2 * reader.row]
        value.be_interrupted(1000)
        learner._read_rows(reader)
        learner._core.check()
        assert learner.n_samples_seen == 2
        assert learner._schema.names == ["a", "c", "b"]
    assert 1 < failed < 40


@pytest.mark.parametrize(
    "targets",
    [
        None,
        Column(None, 3),
        Column(None, 3, np.zeros(3)),
        Column(None, 3, None, np.array([0, -1, 1], np.intc), ["a", "b"]),
    ],
    ids=["none", "empty", "numbers", "no label"],
)
def test_targets_that_no_learner_reads(targets: Any) -> None:
    """Targets that are missing, of another task, or codes of no label are never looked up."""
    table, one = Table(3, [column_of_numbers("x", np.zeros(3))], targets), model()
    with pytest.raises((ValueError, TypeError, IndexError), match="target"):
        one._core.reader(table, learns=True)
    assert one.n_samples_seen == 0


@pytest.mark.parametrize("code", [2, 70000, -2])
def test_codes_of_no_value(code: int) -> None:
    with pytest.raises(ValueError, match="a code is none of 2 values"):
        Column("x", 2, None, np.array([0, code], np.intc), ["a", "b"])


def test_columns_of_other_lengths() -> None:
    """Columns and tables have the number of rows that they say, whatever Python optimizes."""
    with pytest.raises(ValueError, match="2 values in a column of 3 rows"):
        Column("x", 3, np.zeros(2))
    with pytest.raises(ValueError, match="a column of 2 rows in a table of 3"):
        Table(3, [Column("x", 2, np.zeros(2))])


class Interrupted(np.ndarray[Any, Any]):
    """Codes whose maximum raises, as Ctrl-C can."""

    def min(self, *_: Any, **__: Any) -> Any:
        return np.intc(0)

    def max(self, *_: Any, **__: Any) -> Any:
        raise Interruption


def test_an_interrupt_while_codes_are_checked_releases_nothing_twice() -> None:
    """The C of a chained comparison of objects would release True; see tools/lint.py."""
    codes = np.zeros(2, np.intc).view(Interrupted)
    before = sys.getrefcount(np.True_)
    for _ in range(3):
        with pytest.raises(Interruption):
            Column("a", 2, None, codes, ["u"])
    after = sys.getrefcount(np.True_)
    assert after >= before
