"""How the values of the columns are distributed, and evidence that this has changed.

Each column has bins: one for missing values, some for usual values, and the rest for unusual ones.
A numeric column divides its usual values at quantiles, and a nominal one has a bin for each of its
most frequent values. The number of a block is the chi-squared distance of its counts from the
usual counts (`_core/watch.pyx`).
"""

from __future__ import annotations

import collections
import math
import random
import sys
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from .._core.safe_repr import safe_repr
from .._core.state import LARGEST_COUNT, State, StateError, require
from .._core.watch import BINS, BLOCK, ROWS, Bins, Evidence, number_of, restored

__all__ = ["Inputs"]

HIGHEST = 4  # times that a block may become twice as long
MOST_COLUMNS = 1_000  # that are watched
MISSING, LOW, USUAL, HIGH = 0, 1, 2, BINS - 1  # bins; LOW holds other values than usual names
N_USUAL = HIGH - USUAL
COUNTS = ("counts", "usual", "recent")
PLAIN = (float, int, str, bytes, type(None))  # types of values in files
LARGEST = sys.float_info.max
MOST_COUNTED = 2.0**24  # where floats stop: a column that moves by itself is counted for good

Change = tuple[Hashable, float, str]


class Inputs(Bins):
    """The columns of a stream, of which some rows are looked at by `add`.

    Column 0 stands for the names: its value is in the bin HIGH where a row has a new name.

    Parameters
    ----------
    run_length
        Expected number of samples between two false alarms of all columns together, at least.
    rng
        Random numbers that break ties.
    """

    def __init__(self, run_length: float, rng: random.Random) -> None:
        self.run_length = run_length
        self.rng = rng

    def __reduce__(self) -> tuple[Any, ...]:
        return restored_inputs, (self.run_length, self.rng, self.state())

    def take_change(self, column: int) -> Change:
        """Describe the change of a column; what follows is usual from now on.

        Its blocks become longer: a column that changes again and again moves by itself.
        """
        change = describe(self, column)
        self.evidence[column].restart()
        self.evidence[column].level += 1
        self.waiting.append(column)
        return change

    @property
    def unwatched(self) -> list[Hashable]:
        """The names of the columns that are not watched because they move by themselves."""
        pairs = zip(self.names, self.evidence[1:], strict=True)
        return [name for name, each in pairs if not each.is_tested]

    # ------------------------------------------------------------------ bins

    def make_bins(self) -> None:
        """Divide the values of all columns in the latest rows, or of those that wait."""
        if not self.values:
            names = list(dict.fromkeys(name for row in self.rows for name in row))
            self.set_columns(names[:MOST_COLUMNS])
            self.waiting = list(range(len(self.values)))
            self.evidence = self.new_evidence()
        for column in self.waiting:
            if column:
                self.divide(column, [row.get(self.names[column - 1]) for row in self.rows])
            else:
                self.known = {*self.names, *(name for row in self.rows for name in row)}
            self.begin(column)
        self.waiting, self.rows = [], []

    def new_evidence(self) -> list[Evidence]:
        """Return the evidence of columns that have not been looked at."""
        n = len(self.values)
        return [Evidence(self.run_length * n / BLOCK, self.rng, HIGHEST) for _ in range(n)]

    def divide(self, column: int, values: list[Any]) -> None:
        """Make the bins of a column whose usual values are these."""
        self.edges[column], self.values[column] = np.inf, None
        present = [value for value in values if value is not None]
        numbers = [each for value in present if (each := number_of(value)) is not None]
        if 2 * len(numbers) < len(present):
            frequent = collections.Counter(present).most_common(N_USUAL)
            self.values[column] = {value: USUAL + i for i, (value, _) in enumerate(frequent)}
        elif finite := [each for each in numbers if math.isfinite(each)]:
            quantiles = np.quantile(finite, np.linspace(0.0, 1.0, N_USUAL + 1))
            quantiles[0] = np.nextafter(min(finite), -np.inf)
            self.edges[column] = quantiles

    # ------------------------------------------------------------------ files

    def state(self) -> dict[str, Any]:
        """Return what model files hold."""
        self.count()
        names = list(dict.fromkeys(name for row in self.rows for name in row))
        return {
            "n_blocks": self.n_blocks,
            "n_rows": len(self.rows),
            "names": names,
            "columns": [written([row.get(name) for row in self.rows]) for name in names],
            "waiting": tuple(self.waiting),
            "watched": list(self.names) if self.values else None,
            "known": in_order(self.known) if self.values else None,
            "values": [v and list(v.items()) for v in self.values],
            "evidence": [each.state() for each in self.evidence],
            "arrays": {
                **{name: getattr(self, name).astype(float) for name in COUNTS},
                "edges": self.edges.copy(),
                "n_usual": self.n_usual.copy(),
            }
            if self.values
            else None,
        }

    def restore(self, values: Any) -> None:
        """Take over a state, which is checked."""
        state = State("the inputs", values, self.state())
        self.n_blocks = state.whole("n_blocks")
        n = state.whole("n_rows", 0, ROWS)
        names = state.items("names")
        columns = [read(each, n) for each in state.items("columns", len(names))]
        require_names(names)
        self.rows = [
            {name: column[i] for name, column in zip(names, columns, strict=True)} for i in range(n)
        ]
        if state.value("watched") is None:
            return
        watched, known = state.items("watched"), state.items("known")
        require_names(watched)
        require_names(known)
        require(len(watched) <= MOST_COLUMNS, "too many columns are watched")
        n = len(watched) + 1
        waiting = state.value("waiting")
        require(type(waiting) is tuple, "the waiting columns are no tuple")
        whole = all(type(each) is int and 0 <= each < n for each in waiting)
        require(whole and len(set(waiting)) == len(waiting), "a column waits for no bins")
        self.set_columns(watched)
        self.waiting, self.known = list(waiting), set(known)
        self.values[:] = [found and values_of(found) for found in state.items("values", n)]
        arrays = State("the bins", state.value("arrays"), (*COUNTS, "edges", "n_usual"))
        for name in COUNTS:
            getattr(self, name)[...] = arrays.numbers(name, n, BINS, least=0.0, most=MOST_COUNTED)
        self.n_usual[...] = arrays.whole_numbers("n_usual", np.intc, n, most=LARGEST_COUNT)
        require(np.all(self.usual.sum(axis=1) > 0.0), "a column has no usual values")
        self.edges[...] = arrays.numbers("edges", n, N_USUAL + 1, least=-LARGEST)
        pairs = zip(self.new_evidence(), state.items("evidence", n), strict=True)
        self.evidence = [
            restored(each.run_length, self.rng, HIGHEST, found) for each, found in pairs
        ]


def restored_inputs(run_length: float, rng: random.Random, state: dict[str, Any]) -> Inputs:
    """Return inputs with a state, which is checked."""
    inputs = Inputs(run_length, rng)
    inputs.restore(state)
    return inputs


# ---------------------------------------------------------------------- values in files


def written(values: list[Any]) -> Any:
    """Return the values of a column: an array if all are numbers or missing, else a tuple."""
    if any(isinstance(value, str | bytes) for value in values):
        return tuple(values)
    return np.array([np.nan if value is None else value for value in values], float)


def read(values: Any, n: int) -> list[Any]:
    """Return the values of a column from a file."""
    if isinstance(values, np.ndarray):
        require(values.dtype == float and values.ndim == 1, "a column has no numbers")
        values = [None if value != value else value for value in values.tolist()]
    known = isinstance(values, list | tuple) and all(type(each) in PLAIN for each in values)
    require(known and len(values) == n, "a column has other values than numbers and names")
    return list(values)


def values_of(pairs: Any) -> dict[Any, int]:
    """Return the bins of the values of a column of names from a file."""
    require(isinstance(pairs, list), "the values of a column are no list")
    require(all(type(pair) is tuple and len(pair) == 2 for pair in pairs), "a value has no bin")
    values = dict(pairs) if all(type(value) in PLAIN for value, _ in pairs) else {}
    whole = all(type(each) is int and USUAL <= each <= HIGH for each in values.values())
    require(len(values) == len(pairs) and whole, "a value of a column has no bin")
    return values


def require_names(names: list[Any]) -> None:
    """Raise a StateError for names that are not different ones."""
    try:
        require(len(set(names)) == len(names), "a column has two places")
    except TypeError:
        raise StateError("a column has no name") from None


def in_order(names: Iterable[Hashable]) -> list[Hashable]:
    """Return names in an order that does not depend on their hashes."""
    return sorted(names, key=lambda name: (type(name).__name__, safe_repr(name)))


# ---------------------------------------------------------------------- words


def describe(bins: Bins, column: int) -> Change:
    """Say what changed in a column."""
    usual = bins.usual[column] / bins.usual[column].sum()
    recent = bins.recent[column] / bins.recent[column].sum()
    more = int(np.argmax(np.where(recent > usual, recent - usual, 0.99 * (usual - recent))))
    size = float(np.maximum(recent - usual, 0.0).sum())
    name = bins.names[column - 1] if column else None
    what = f"the column {safe_repr(name)} is {words(bins, column, more)}"
    if not column:
        what = "a column is new"
    now, before = recent[more], usual[more]
    return name, size, f"{what} in {share(now)} of the latest samples; {share(before)} was usual"


def share(part: float) -> str:
    """Write a share in percent; a small one with two digits."""
    return f"{100.0 * part:.2g}%" if part < 0.095 else f"{part:.0%}"


def words(bins: Bins, column: int, index: int) -> str:
    """Describe the values in a bin."""
    known, edges = bins.values[column], bins.edges[column]
    if index == MISSING:
        return "missing"
    if known is not None:
        values = (value for value, each in known.items() if each == index)
        return "none of its usual values" if index == LOW else safe_repr(next(values, None))
    if edges[0] == np.inf:
        return "not missing"
    least = np.nextafter(edges[0], np.inf) + 0.0  # in place of -0.0
    if index == LOW:
        return f"below its usual minimum of {least:g}"
    if index == HIGH:
        return f"above its usual maximum of {edges[-1]:g}"
    low, high = edges[index - USUAL], edges[index - USUAL + 1]
    if index > USUAL:
        return f"above {low:g} and at most {high:g}"
    return f"{high:g}" if high == least else f"between {least:g} and {high:g}"
