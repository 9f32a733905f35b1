"""Learning and prediction of a table by the models of several keys.

The rows are put in the order of their keys. One reader of the core is passed from model to model at
the borders of the groups, so that no row becomes a dict.
"""

from __future__ import annotations

import typing

import numpy as np
import numpy.typing as npt

from river_extra_trees._core.table import Reader, Table

from .._estimator.rows import labels_of_codes, probabilities_of
from .block import KeyedBlock
from .keeper import Keeper
from .keys import Key

__all__ = ["Refusal", "learned", "predicted"]

Rows = npt.NDArray[np.intp]
Refusal = tuple[int, Key, Exception]  # number of the sample, its key, the error


class Groups:
    """Rows of a block, grouped by key.

    Parameters
    ----------
    block
        The block.
    rows
        Numbers of the rows, ascending.
    """

    def __init__(self, block: KeyedBlock, rows: Rows) -> None:
        codes = block.codes[rows]
        # numpy sorts integers of 16 bits in linear time.
        narrow = codes.astype(np.uint16) if len(block.keys) <= 2**16 else codes
        self.order = np.argsort(narrow, kind="stable")  # positions in `rows`, by group
        self.way = rows[self.order]
        ordered = codes[self.order]
        bounds = np.flatnonzero(np.diff(ordered, prepend=-1, append=-1))
        self.starts: list[int] = bounds[:-1].tolist()
        self.stops: list[int] = bounds[1:].tolist()
        self.keys = [block.keys[code] for code in ordered[bounds[:-1]].tolist()]
        self.firsts = self.order[bounds[:-1]]
        self.lasts = self.order[bounds[1:] - 1]


class Way:
    """One pass of the models of several keys over rows of a block.

    Parameters
    ----------
    block
        The block.
    rows
        Numbers of the rows, ascending.
    learns
        Whether the models learn the rows.
    regression
        Whether the models are regressors.
    asks
        What to predict: `"predictions"`, `"shares"` (probabilities), or `None` (nothing).
    """

    def __init__(
        self, block: KeyedBlock, rows: Rows, learns: bool, regression: bool, asks: str | None
    ) -> None:
        self.groups = Groups(block, rows)
        self.refusals: list[tuple[int, Exception]] = []  # position in `rows`, error
        self._block, self._learns, self._asks = block, learns, asks
        self._table = typing.cast(Table, block.table).take(self.groups.way)
        self._reader = Reader(self._table, learns)
        if asks == "predictions":
            self._reader.ask(regression)
        self._labels: list[tuple[int, int, list[typing.Any]]] = []  # start, stop, labels by code
        self._others: dict[int, typing.Any] = {}  # predictions that the reader does not hold

    def go(self, group: int, model: typing.Any) -> None:
        """Let the model of a group predict and learn its rows.

        Parameters
        ----------
        group
            Number of the group.
        model
            The model of its key.
        """
        start, stop = self.groups.starts[group], self.groups.stops[group]
        reader, before = self._reader, 0
        if self._asks == "shares":  # each model has its own labels, so its own array
            rows = self._table.take(np.arange(start, stop))
            reader, before = Reader(rows, self._learns), start
            model._core.ask(reader, True)
        try:
            model._core.take_over(reader, start - before, stop - before)
            model._read_rows(reader)
        except Exception:
            if not self._learns:
                raise
            self._go_one_by_one(model, max(start, reader.row + before), stop)
        if self._asks == "shares":
            self._read_shares(reader, start, model._core.labels.labels)
        elif self._asks == "predictions" and self._reader.labels is not None:
            self._labels.append((start, stop, model._core.labels.labels))

    def _go_one_by_one(self, model: typing.Any, start: int, stop: int) -> None:
        """Learn rows one by one, and skip those for which the model raises an error."""
        answer = model.predict_proba_one if self._asks == "shares" else model.predict_one
        for at in range(start, stop):
            _, x, y, w = self._block.sample(self.groups.way[at])
            try:
                if self._asks is not None:
                    self._others[at] = answer(x)
                    if self._reader.labels is not None:
                        self._reader.labels[at] = -1
                model.learn_one(x, y, w)
            except Exception as error:
                self.refusals.append((int(self.groups.order[at]), error))

    def _read_shares(self, reader: Reader, start: int, labels: list[typing.Any]) -> None:
        for at, answer in enumerate(probabilities_of(reader.shares, labels), start):
            self._others.setdefault(at, answer)

    def know_nothing(self, group: int, n: int) -> None:
        """Give the first rows of a group an empty prediction.

        Parameters
        ----------
        group
            Number of the group.
        n
            Number of rows.
        """
        start = self.groups.starts[group]
        for at in range(start, start + n):
            self._others[at] = {} if self._asks == "shares" else None

    def answers(self) -> list[typing.Any]:
        """Predictions in the order of the rows."""
        found: list[typing.Any] = [None] * len(self.groups.way)
        if self._reader.numbers is not None:
            found = self._reader.numbers.tolist()
        elif self._reader.labels is not None:
            codes = self._reader.labels
            for start, stop, labels in self._labels:
                found[start:stop] = labels_of_codes(codes[start:stop], labels)
        for at, answer in self._others.items():
            found[at] = answer
        ordered: list[typing.Any] = [None] * len(found)
        for place, answer in zip(self.groups.order.tolist(), found, strict=True):
            ordered[place] = answer
        return ordered


def predicted(keeper: Keeper, block: KeyedBlock, rows: Rows, asks: str) -> list[typing.Any]:
    """Predict rows of a block of columns.

    Parameters
    ----------
    keeper
        The models.
    block
        The block.
    rows
        Numbers of the rows, ascending.
    asks
        `"predictions"`, or `"shares"` for probabilities.
    """
    way = Way(block, rows, False, keeper.model._core.regression, asks)
    groups = way.groups
    for group, key in enumerate(groups.keys):
        kept = keeper.look(key)
        if kept is None:
            way.know_nothing(group, groups.stops[group] - groups.starts[group])
        else:
            way.go(group, kept.model)
    return way.answers()


def learned(
    keeper: Keeper, block: KeyedBlock, rows: Rows, asks: str | None
) -> tuple[list[typing.Any], list[Refusal]]:
    """Learn rows of a block of columns; return the predictions made before, and the refusals.

    Parameters
    ----------
    keeper
        The models.
    block
        The block.
    rows
        Numbers of the rows, ascending; at most `keeper.stretch` of them.
    asks
        What to predict: `"predictions"`, `"shares"` (probabilities), or `None` (nothing).
    """
    way = Way(block, rows, True, keeper.model._core.regression, asks)
    first = keeper.now + 1
    for group, (model, is_known) in enumerate(taken(keeper, way.groups, asks is not None)):
        way.go(group, model)
        if asks is not None and not is_known:
            way.know_nothing(group, 1)
    refusals = [
        (first + place, block.keys[block.codes[rows[place]]], error)
        for place, error in sorted(way.refusals, key=lambda refusal: refusal[0])
    ]
    return ([] if asks is None else way.answers()), refusals


def taken(keeper: Keeper, groups: Groups, asks: bool) -> list[tuple[typing.Any, bool]]:
    """For each group, its model, and if predictions are requested, whether the key is known."""
    start = keeper.now + 1
    numbers = (groups.firsts + start).tolist()
    found: list[typing.Any] = [None] * len(numbers)
    for group in np.argsort(groups.firsts).tolist():
        key, number = groups.keys[group], numbers[group]
        is_known = asks and keeper.look(key, number) is not None
        found[group] = keeper.take(key, number).model, is_known
    numbers = (groups.lasts + start).tolist()
    for group in np.argsort(groups.lasts).tolist():
        keeper.touch(groups.keys[group], numbers[group])
    return found
