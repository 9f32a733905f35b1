"""Comparison of the columns of data with those of a model."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping

from river_extra_trees._core.safe_repr import safe_repr

__all__ = ["Fit"]

MOST_NAMES = 1000  # unknown columns that are counted by name
MOST_SHOWN = 5


class Fit:
    """Counts the columns of a model that its data lack, and those that the model does not know.

    Parameters
    ----------
    columns
        The columns of the model.

    Attributes
    ----------
    n
        Number of samples.
    unknown
        Number of samples by column that the model does not know.

    Examples
    --------
    >>> from river_extra_trees._estimator.fit import Fit
    >>> fit = Fit(["size", "colour", "day"])
    >>> _ = fit.note(["size", "color"], 300)
    >>> for note in fit.notes():
    ...     print(note)
    2 of 3 columns of the model are missing: 'colour', 'day' (in 300 of 300 samples)
    the model does not know 1 column, and ignores it: 'color'

    """

    def __init__(self, columns: Collection[Hashable]) -> None:
        self.columns = columns if isinstance(columns, Mapping) else dict.fromkeys(columns)
        self.n = 0
        self.present: dict[Hashable, int] = {}  # in how many samples a column of the model was
        self.unknown: dict[Hashable, int] = {}

    def note(self, names: Collection[Hashable], n: int = 1) -> tuple[int, int]:
        """Count n samples with these columns; return the numbers of missing and unknown columns."""
        self.n += n
        if not self.columns:
            return 0, 0
        n_known = 0
        for name in names:
            if name in self.columns:
                n_known += 1
                self.present[name] = self.present.get(name, 0) + n
            elif name in self.unknown or len(self.unknown) < MOST_NAMES:
                self.unknown[name] = self.unknown.get(name, 0) + n
        return len(self.columns) - n_known, len(names) - n_known

    @property
    def missing(self) -> dict[Hashable, int]:
        """In how many samples each column of the model was missing, if in any."""
        counts = {name: self.n - self.present.get(name, 0) for name in self.columns}
        return {name: n for name, n in counts.items() if n}

    @property
    def is_disjoint(self) -> bool:
        """Whether no sample had a column of the model."""
        return bool(self.columns) and self.n > 0 and not self.present

    def notes(self, refused: bool = False) -> Iterator[str]:
        """Yield a note on missing columns and one on unknown columns, if there are any."""
        if missing := self.missing:
            n, of = len(missing), len(self.columns)
            yield (
                f"{n:,} of {of:,} columns of the model {'is' if n == 1 else 'are'} missing: "
                f"{listed(missing)} (in {max(missing.values()):,} of {self.n:,} samples)"
            )
        if self.unknown:
            n = len(self.unknown)
            then = "" if refused else f", and ignores {'them' if n > 1 else 'it'}"
            what = f"{n:,} column{'s' * (n > 1)}{then}"
            yield f"the model does not know {what}: {listed(self.unknown)}"


def listed(names: Collection[Hashable]) -> str:
    """Return the first names as text, and the number of the others."""
    shown = ", ".join(safe_repr(name) for name in list(names)[:MOST_SHOWN])
    more = len(names) - MOST_SHOWN
    return f"{shown} and {more:,} more" if more > 0 else shown
