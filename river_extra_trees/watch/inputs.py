"""How the values of the columns are distributed, and evidence that this has changed.

Each column has bins: one for missing values, some for usual values, and the rest for unusual ones.
A numeric column divides its usual values at quantiles, and a nominal one has a bin for each of its
most frequent values. The number of a block is the chi-squared distance of its counts from the
counts that were usual before.
"""

from __future__ import annotations

import collections
import random
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from .._core.safe_repr import safe_repr
from .evidence import WAITING, Evidence

__all__ = ["BLOCK", "Inputs"]

BLOCK = 64  # samples of a shortest block

N_ROWS = 64  # from which bins are made
MOST_COLUMNS = 1_000  # that are watched
MISSING, LOW, USUAL, HIGH = 0, 1, 2, 15  # bins; LOW holds the other values of a nominal column
N_BINS = HIGH + 1
N_USUAL = HIGH - USUAL
FADING = 1.0 - 1.0 / 200  # of the usual counts, per block
RECENT = 1.0 - 1.0 / WAITING  # of the recent counts, per block

Row = Mapping[Hashable, Any]
Counts = npt.NDArray[np.float64]
Change = tuple[Hashable, float, str]


class Inputs:
    """The columns of a stream, of which some rows are looked at.

    Column 0 stands for the names: its value is in the bin HIGH where a row has a new name.

    Parameters
    ----------
    run_length
        Expected number of samples between two false alarms of all columns together, at least.
    seed
        Seed of the random numbers.
    """

    def __init__(self, run_length: float, seed: int) -> None:
        self.run_length = run_length
        self.rng = random.Random(seed)
        self.evidence: list[Evidence] = []  # per column, when there are bins
        self.names: dict[Hashable, int] = {}  # the column of a name, from 1 on
        self.known: set[Hashable] = set()  # names that are not new
        self.rows: collections.deque[Row] = collections.deque(maxlen=N_ROWS)  # the latest
        self.values: list[dict[Hashable, int] | None] = []  # the bins of a nominal column
        self.edges = np.empty((0, N_USUAL + 1))  # of a numeric column
        self.n_blocks = 0
        # Counts per column and bin: of the present blocks, usual and recent ones.
        self.counts = self.usual = self.recent = np.empty((0, N_BINS))

    def end_block(self, rows: list[Row]) -> list[Change]:
        """Take rows of a block; return the name, the size and the text of each change."""
        self.rows.extend(rows)
        if not self.evidence:
            if len(self.rows) == N_ROWS:
                self.begin()
            return []
        self.n_blocks += 1
        self.counts += self.count(rows)
        ended = [i for i, each in enumerate(self.evidence) if each.ends(self.n_blocks)]
        counts = self.counts[ended]
        numbers = self.distances(ended, counts).tolist()
        self.recent[ended] = self.recent[ended] * RECENT + counts
        self.usual[ended] = self.usual[ended] * FADING + counts
        self.counts[ended] = 0.0
        changed = [
            column
            for column, number in zip(ended, numbers, strict=True)
            if self.evidence[column].update(number)
        ]
        return [self.take_change(column) for column in changed]

    def take_change(self, column: int) -> Change:
        """Describe the change of a column; what is recent is usual from now on.

        Its blocks become longer: a column that changes again and again moves by itself.
        """
        change = self.describe(column)
        self.evidence[column].restart()
        self.evidence[column].level += 1
        self.make_bins(column)
        return change

    @property
    def unwatched(self) -> list[Hashable]:
        """The names of the columns that are not watched because they move by themselves."""
        columns = self.names.items() if self.evidence else ()
        return [name for name, column in columns if not self.evidence[column].is_tested]

    # ------------------------------------------------------------------ bins

    def begin(self) -> None:
        """Make the columns and their bins."""
        names = dict.fromkeys(name for row in self.rows for name in row)
        self.names = {name: i for i, name in enumerate(list(names)[:MOST_COLUMNS], 1)}
        n = len(self.names) + 1
        self.values = [None] * n
        self.edges = np.full((n, N_USUAL + 1), np.inf)
        self.counts, self.usual, self.recent = np.zeros((3, n, N_BINS))
        self.evidence = [Evidence(self.run_length * n / BLOCK, self.rng) for _ in range(n)]
        for column in range(n):
            self.make_bins(column)

    def make_bins(self, column: int) -> None:
        """Divide the values of a column in the latest rows; these are usual from now on."""
        if column:
            name = self.name_of(column)
            values = [row.get(name) for row in self.rows]
            self.edges[column], self.values[column] = np.inf, None
            present: list[Any] = [value for value in values if not is_missing(value)]
            numbers = [float(value) for value in present if is_number(value)]
            if 2 * len(numbers) < len(present):
                frequent = collections.Counter(present).most_common(N_USUAL)
                self.values[column] = {value: USUAL + i for i, (value, _) in enumerate(frequent)}
            elif numbers:
                quantiles = np.quantile(numbers, np.linspace(0.0, 1.0, N_USUAL + 1))
                quantiles[0] = np.nextafter(min(numbers), -np.inf)
                self.edges[column] = quantiles
        else:
            self.known = self.names.keys() | {name for row in self.rows for name in row}
        self.usual[column] = self.count(self.rows)[column]
        self.recent[column] = 0.0

    # ------------------------------------------------------------------ counts

    def count(self, rows: Iterable[Row]) -> Counts:
        """Count the rows per column and bin."""
        rows = list(rows)
        bins = np.empty((len(rows), len(self.values)), np.int64)
        bins[:, 0] = [LOW if row.keys() <= self.known else HIGH for row in rows]
        numeric = [each for each in self.names.items() if self.values[each[1]] is None]
        columns = [column for _, column in numeric]
        numbers = numbers_of(rows, [name for name, _ in numeric])
        above = (numbers[:, :, None] > self.edges[columns]).sum(axis=2)
        bins[:, columns] = np.where(np.isnan(numbers), MISSING, LOW + above)
        for name, column in self.names.items():
            known = self.values[column]
            if known is not None:
                values = [row.get(name) for row in rows]
                bins[:, column] = [
                    MISSING if is_missing(value) else known.get(value, LOW) for value in values
                ]
        places = bins + N_BINS * np.arange(len(self.values))
        counts = np.bincount(places.ravel(), minlength=self.usual.size)
        return counts.reshape(self.usual.shape).astype(float)

    def distances(self, columns: list[int], counts: Counts) -> Counts:
        """Return the chi-squared distance of the counts of some columns from the usual ones."""
        usual = self.usual[columns]
        expected = usual * (counts.sum(axis=1, keepdims=True) / usual.sum(axis=1, keepdims=True))
        return np.asarray(((counts - expected) ** 2 / (expected + 0.5)).sum(axis=1))

    # ------------------------------------------------------------------ words

    def name_of(self, column: int) -> Hashable:
        """Return the name of a column."""
        return next(name for name, each in self.names.items() if each == column)

    def describe(self, column: int) -> Change:
        """Say what changed in a column."""
        usual = np.maximum(self.usual[column] - self.recent[column], 0.0) + 1e-9
        usual /= usual.sum()
        recent = self.recent[column] / self.recent[column].sum()
        more = int(np.argmax(recent - usual))
        size = float(np.maximum(recent - usual, 0.0).sum())
        name = self.name_of(column) if column else None
        what = f"the column {safe_repr(name)} is {self.words(column, more)}"
        if not column:
            what = "a column is new"
        now, before = recent[more], usual[more]
        return name, size, f"{what} in {now:.0%} of the latest samples; {before:.0%} was usual"

    def words(self, column: int, index: int) -> str:
        """Describe the values in a bin."""
        known, edges = self.values[column], self.edges[column]
        if index == MISSING:
            return "missing"
        if known is not None:
            values = (value for value, each in known.items() if each == index)
            return "none of its usual values" if index == LOW else safe_repr(next(values))
        if index == LOW:
            return f"below its usual minimum of {np.nextafter(edges[0], np.inf):g}"
        if index == HIGH:
            return f"above its usual maximum of {edges[-1]:g}"
        return f"between {edges[index - USUAL]:g} and {edges[index - USUAL + 1]:g}"


def numbers_of(rows: list[Row], names: list[Hashable]) -> Counts:
    """Return the numbers of some columns; NaN for what is missing or no number."""
    cells: list[list[Any]] = [[row.get(name) for name in names] for row in rows]
    try:
        return np.array(cells, float).reshape(len(rows), len(names))
    except (TypeError, ValueError, OverflowError):
        numbers = [[float(each) if is_number(each) else np.nan for each in row] for row in cells]
        return np.array(numbers).reshape(len(rows), len(names))


def is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value)


def is_number(value: Any) -> bool:
    if isinstance(value, float | int):
        return True
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return not isinstance(value, str | bytes)
