"""The values of stored samples in a state: only those that are there.

A window of thousands of samples may know thousands of columns, while each sample has a value in
few of them. A state has the number of values per column, the values column by column, those of a
column in the order of the samples, and the numbers of their samples. Columns of which all samples
have a value, as all have in most tables, list no samples.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .state import State, require

CELLS: dict[str, Any] = {
    "n_values": np.empty(0, np.int32),
    "sample_of": np.empty(0, np.int32),
    "values": np.empty(0),
}


class Cells:
    """Values of samples, by column.

    Parameters
    ----------
    n_samples
        Number of samples, which are numbered from 0 on.
    n_values
        Per column: number of samples with a value.
    sample_of
        Per value, by column: the number of its sample, ascending in a column.
    values
        The values.
    """

    def __init__(
        self,
        n_samples: int,
        n_values: NDArray[np.int32],
        sample_of: NDArray[np.int32],
        values: NDArray[np.float64],
    ) -> None:
        self.n_samples, self.n_values = n_samples, n_values
        self.sample_of, self.values = sample_of, values
        self.bounds = np.append(0, np.cumsum(n_values, dtype=np.int64))  # of the columns

    @classmethod
    def restored(cls, state: State, n_samples: int, most_columns: int) -> Cells:
        """Read cells from the fields of a state that is not trusted."""
        n_values = state.whole_numbers("n_values", np.int32, None, most=n_samples)
        require(len(n_values) <= most_columns, f"{state.owner}: too many columns")
        n = int(n_values.sum(dtype=np.int64))
        values = state.array("values", np.float64, n)
        require(not np.any(np.isnan(values) | np.isinf(values)), f"{state.owner}: a value is none")
        is_full = np.repeat(n_values == n_samples, n_values)
        sample_of = np.empty(n, np.int32)
        sample_of[is_full] = np.tile(np.arange(n_samples), int(np.sum(n_values == n_samples)))
        sample_of[~is_full] = state.whole_numbers(
            "sample_of", np.int32, n - int(is_full.sum()), most=max(0, n_samples - 1)
        )
        first = np.zeros(n + 1, bool)
        cells = cls(n_samples, n_values, sample_of, values)
        first[cells.bounds[:-1]] = True
        require(
            np.all(first[1:-1] | (sample_of[:-1] < sample_of[1:])) if n else True,
            f"{state.owner}: the values of a column are not in the order of the samples",
        )
        return cells

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the fields of a state."""
        is_listed = np.repeat(self.n_values < self.n_samples, self.n_values)
        return {
            "n_values": self.n_values,
            "sample_of": self.sample_of[is_listed],
            "values": self.values,
        }

    def columns(self) -> list[tuple[int, NDArray[np.float64]]]:
        """Return each column and its values."""
        parts = np.split(self.values, self.bounds[1:-1]) if len(self.n_values) else []
        return list(enumerate(parts))

    def by_sample(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
        """Return the values sample by sample: where those of each begin, columns, values."""
        order = np.argsort(self.sample_of, kind="stable")
        columns = np.repeat(np.arange(len(self.n_values), dtype=np.int32), self.n_values)
        counts = np.bincount(self.sample_of, minlength=self.n_samples)
        return np.append(0, np.cumsum(counts)), columns[order], self.values[order]

    def rows(self) -> list[dict[int, float]]:
        """Return per sample its values by column."""
        starts, columns, values = self.by_sample()
        return [
            dict(zip(columns[at:end].tolist(), values[at:end].tolist(), strict=True))
            for at, end in itertools.pairwise(starts)
        ]
