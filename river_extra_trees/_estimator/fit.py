"""Comparison of the columns of data with those of a model, and names in messages."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Hashable, Iterator, Mapping

from river_extra_trees._core.safe_repr import safe_repr

__all__ = ["Fit", "listed", "near"]

MOST_NAMES = 1000  # unknown columns that are remembered
MOST_SHOWN = 5
MOST_THERE = 80  # names in an error for another one


class Fit:
    """The columns of a model that its data lack, and those that the model does not know.

    Samples may lack a column, which is a missing value there; a column that all of them lack is
    missing. What is said does not depend on the batches in which the samples come.

    Parameters
    ----------
    columns
        The columns of the model.
    others
        Columns of its data that are no features, such as the target. The model knows them.

    Attributes
    ----------
    present
        The columns of the model that were in any sample.
    unknown
        The columns that the model does not know, up to a number of them.
    n_missing, n_unknown
        Columns of the model that samples lacked, and columns of samples that it does not know: a
        column counts once per call of `note`.

    Examples
    --------
    >>> from river_extra_trees._estimator.fit import Fit
    >>> fit = Fit(["size", "colour", "day"], ["price"])
    >>> fit.note(["size", "color", "price"])
    >>> fit.n_missing, fit.n_unknown
    (2, 1)
    >>> for note in fit.notes():
    ...     print(note)
    2 of 3 columns of the model are missing: 'colour', 'day'
    the model does not know 1 column, and ignores it: 'color'

    """

    def __init__(self, columns: Collection[Hashable], others: Collection[Hashable] = ()) -> None:
        self.columns = columns if isinstance(columns, Mapping) else dict.fromkeys(columns)
        self.others = others
        self.has_data = False
        self.present: set[Hashable] = set()
        self.unknown: dict[Hashable, None] = {}
        self.n_missing = self.n_unknown = 0

    def note(self, names: Collection[Hashable]) -> None:
        """Note the columns of data."""
        self.has_data = True
        if not self.columns:
            return
        self.n_missing += len(self.columns)
        for name in names:
            if name in self.columns:
                self.n_missing -= 1
                self.present.add(name)
            elif name not in self.others:
                self.n_unknown += 1
                if len(self.unknown) < MOST_NAMES:
                    self.unknown[name] = None

    @property
    def missing(self) -> list[Hashable]:
        """The columns of the model that no sample had."""
        if not self.has_data:
            return []
        return [name for name in self.columns if name not in self.present]

    @property
    def is_disjoint(self) -> bool:
        """Whether no sample had a column of the model."""
        return bool(self.columns) and self.has_data and not self.present

    def notes(self, refused: bool = False) -> Iterator[str]:
        """Yield a note on missing columns and one on unknown columns, if there are any."""
        if missing := self.missing:
            n, of = len(missing), len(self.columns)
            yield (
                f"{n:,} of {of:,} columns of the model {'is' if n == 1 else 'are'} missing: "
                f"{listed(missing)}"
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


def near(name: str, known: Collection[str], there: Collection[str] | None = None) -> str:
    """Return the end of an error for a misspelt name: the nearest one, or those that are there.

    Examples
    --------
    >>> from river_extra_trees._estimator.fit import near
    >>> near("Acuracy", ["Accuracy", "F1"]), near("f1", ["Accuracy", "F1"])
    ("; did you mean 'Accuracy'?", "; did you mean 'F1'?")
    >>> near("x", ["Accuracy", "F1"])
    '; there are Accuracy, F1'

    """
    cased = {each.lower(): each for each in reversed(list(known))}
    for each in difflib.get_close_matches(name.lower(), cased, 1):
        return f"; did you mean {cased[each]!r}?"
    names = list(known if there is None else there)
    more = len(names) - MOST_THERE
    shown = ", ".join(names[:MOST_THERE])
    return f"; there are {shown} and {more:,} more" if more > 0 else f"; there are {shown}"
