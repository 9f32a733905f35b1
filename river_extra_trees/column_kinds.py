"""How the columns of a stream are read, as a part of the model."""

from __future__ import annotations

import sys
import typing
from collections.abc import Hashable, Mapping, Sequence

import numpy as np
from river import base

from ._core.columns import Column
from ._core.safe_repr import safe_repr
from ._core.validation import fit_of
from ._estimator.frames import columns_in, is_array, readable_frame, values_of
from ._estimator.kinds import DATE, MISSING, NOMINAL, NUMBER, check_kind, kind_of, reader_of
from ._estimator.tables import table_of

__all__ = ["ColumnKinds", "joined", "parted"]

Features = Mapping[typing.Any, typing.Any]

# Further columns are read by their own values, and are neither remembered nor counted.
MOST_COLUMNS = 100_000
COMPLETE = 2  # of `fit_of`: the sample has a value in each column


class ColumnKinds(base.MiniBatchTransformer):
    """Reads the values of each column by its kind, before a learner reads them.

    The first value of a column that is learned determines its kind, unless `kinds` declares it.
    Every later value is read as that kind, whatever type it has: a date may be a text in JSON and a
    datetime in a data frame, and the nominal value `10115` a text or a number. A value that cannot
    be read so is refused. Predictions learn nothing.

    | kind | values | what the learner reads |
    |---|---|---|
    | `number` | numbers, booleans, durations, numbers as texts | a number |
    | `nominal` | everything else; numbers and booleans become their names | a text |
    | `date` | dates, texts of ISO 8601 | the seconds since 1970, in UTC |
    | `date %d.%m.%Y` | dates, texts of this format, see `datetime.strptime` | the same |
    | `decimal comma` | numbers, texts such as `1.234,5` | a number |
    | `percentage` | numbers, texts such as `5%` | a number, here 5 |

    Numbers are seconds in a column of dates. The texts ``""``, `?`, `NA`, `N/A`, `NaN`, `nan` and
    `null` are missing values. The command line puts this transformer in front of each learner that
    it trains.

    Parameters
    ----------
    kinds
        Kinds of columns by name; `None` declares none.

    Examples
    --------
    >>> import river_extra_trees as ret
    >>> kinds = ret.ColumnKinds({"zip": "nominal"})
    >>> model = kinds | ret.ExtraTreesClassifier(seed=1)
    >>> model.learn_one({"zip": 10115, "day": "1970-01-02", "size": 2.5}, True)
    >>> kinds.columns
    {'zip': 'nominal', 'day': 'date', 'size': 'number'}
    >>> kinds.transform_one({"zip": "10115", "day": 86400, "size": "2.5"})
    {'zip': '10115', 'day': 86400, 'size': 2.5}
    >>> kinds.transform_one({"size": "large"})
    Traceback (most recent call last):
    ...
    ValueError: column 'size' holds 'large' among numbers (--kind size=nominal reads names)

    """

    def __init__(self, kinds: Mapping[typing.Any, str] | None = None) -> None:
        for kind in ({} if kinds is None else kinds).values():
            check_kind(kind)
        self.kinds = kinds
        self._columns: dict[Hashable, str] = {}
        self._present: dict[Hashable, int] = {}
        self._n_samples = 0
        self._n_complete = 0  # samples with all columns, which `_present` does not count yet
        self._layout: dict[Hashable, int] | None = None  # see `fit_of`

    # ------------------------------------------------------------------ what was learned

    @property
    def columns(self) -> dict[Hashable, str]:
        """The kind of each column that was learned, by name."""
        return dict(self._columns)

    @property
    def missing(self) -> dict[Hashable, float]:
        """The share of the samples in which each column was missing, by name."""
        n = self._n_samples
        return {
            name: 1.0 - (present + self._n_complete) / n if n else 0.0
            for name, present in self._present.items()
        }

    @property
    def summary(self) -> dict[str, str]:
        """The kind of each column by its name as text, and the share of missing values if any."""
        missing = self.missing
        return {
            safe_repr(name, str): kind + (f", {missing[name]:.1%} missing" if missing[name] else "")
            for name, kind in self._columns.items()
        }

    @property
    def _raw_memory_usage(self) -> int:
        names = sum(map(sys.getsizeof, self._columns))
        return names + sum(map(sys.getsizeof, (self._columns, self._present)))

    def _kind_for(self, name: Hashable, value: typing.Any, untyped: bool = False) -> str | None:
        """Return the kind by which a value is read; None if nothing says it."""
        kind = self._columns.get(name)
        if kind is None and self.kinds is not None:
            kind = self.kinds.get(name)
        return kind_of(value, untyped=untyped) if kind is None else kind

    def _admit(self, name: Hashable, kind: str) -> None:
        """Remember the kind of a new column."""
        self._layout = None
        if name in self._columns or len(self._columns) >= MOST_COLUMNS:
            return
        for each in self._present:
            self._present[each] += self._n_complete
        self._n_complete = 0
        self._columns[name] = kind
        self._present.setdefault(name, 0)

    def _take_counts(self, other: ColumnKinds) -> None:
        """Take over the counts of the same stream at an earlier time."""
        for name, present in other._present.items():
            self._present[name] = present + other._n_complete
        self._n_samples, self._n_complete = other._n_samples, 0

    # ------------------------------------------------------------------ samples

    def learn_one(self, x: Features) -> None:
        """Learn a sample.

        The first values of its new columns determine their kinds; missing columns are counted.

        Parameters
        ----------
        x
            Features by name.

        Raises
        ------
        ValueError
            If a value cannot be read as the kind of its column. Nothing is learned then.
        """
        if self._fit(x) == COMPLETE:
            self._n_samples += 1
            self._n_complete += 1
            return
        read = self._read(x)
        for name, value in x.items():
            if name not in self._columns and (kind := self._kind_for(name, value)) is not None:
                self._admit(name, kind)
        self._n_samples += 1
        for name, value in read.items():
            if name in self._present and value is not None and value == value:
                self._present[name] += 1

    def transform_one(self, x: Features) -> typing.Any:
        """Return a sample as the learner reads it; the sample itself if nothing has to change.

        Parameters
        ----------
        x
            Features by name.

        Raises
        ------
        ValueError
            If a value cannot be read as the kind of its column.
        """
        return x if self._fit(x) else self._read(x)

    def _fit(self, x: Features) -> int:
        """Return whether the learner may read a sample as it is, and whether it is complete."""
        if self._layout is None:
            declared = {name: int(kind == NOMINAL) for name, kind in (self.kinds or {}).items()}
            learned = {name: 2 + (kind == NOMINAL) for name, kind in self._columns.items()}
            self._layout = declared | learned
        return fit_of(x, self._layout, MISSING, len(self._columns)) if type(x) is dict else 0

    def _read(self, x: Features) -> Features:
        return {name: self._value(name, value) for name, value in x.items()}

    def _value(self, name: Hashable, value: typing.Any, untyped: bool = False) -> typing.Any:
        """Read a value."""
        kind = self._kind_for(name, value, untyped)
        if kind is None:
            return None
        try:
            return reader_of(kind)(value)
        except (ValueError, OverflowError):
            raise ValueError(misfit(name, kind, value)) from None

    # ------------------------------------------------------------------ frames

    def learn_many(self, X: typing.Any) -> None:
        """Learn the rows of a data frame, as `learn_one` learns each of them.

        Parameters
        ----------
        X
            A data frame of any library that narwhals supports, or a two-dimensional array.

        Raises
        ------
        ValueError
            If a value cannot be read as the kind of its column. Nothing is learned then.
        """
        columns = self._read_columns(readable_frame(X))
        for column in columns:
            if column.kind is not None:
                self._admit(column.name, column.kind)
        self._count_missing(columns)

    def _count(self, frame: typing.Any) -> None:
        """Count the missing values of a frame that is read already."""
        plain = (Read(each.name, None, None, each) for each in table_of(frame).columns)
        self._count_missing(list(plain), len(frame))

    def transform_many(self, X: typing.Any) -> typing.Any:
        """Return a frame as the learner reads it; the frame itself if nothing has to change.

        Parameters
        ----------
        X
            A data frame of any library that narwhals supports, or a two-dimensional array.

        Raises
        ------
        ValueError
            If a value cannot be read as the kind of its column; the message names the row.
        """
        native = readable_frame(X)
        changed = [
            (i, each)
            for i, each in enumerate(self._read_columns(native))
            if each.values is not None
        ]
        if not changed:
            return X
        if is_array(native):
            array = np.array(native, object)
            for i, each in changed:
                array[:, i] = each.values
            return array
        import narwhals

        frame = narwhals.from_native(native, pass_through=True, eager_only=True)
        series = []
        for _, each in changed:
            dtype = narwhals.String if each.kind == NOMINAL else narwhals.Float64
            name = typing.cast(str, each.name)
            series.append(
                narwhals.new_series(name, each.values, dtype, backend=frame.implementation)
            )
        return frame.with_columns(*series).to_native()

    def _read_columns(self, frame: typing.Any) -> list[Read]:
        """Read a result of `readable_frame`."""
        read = []
        for column, (_, given) in zip(table_of(frame).columns, columns_in(frame), strict=True):
            name = column.name
            kind = self._kind_for(name, None)
            if kind is None and is_numeric(column):
                kind = NUMBER if n_missing(column) < column.length else None
            if is_plain(column, kind):
                read.append(Read(name, kind, None, column))
                continue
            values = values_of(given, "a column")
            if kind is None:
                kinds = (kind_of(value) for value in values)
                kind = next((each for each in kinds if each is not None), None)
            if kind is None or is_plain(column, kind):
                read.append(Read(name, kind, None, column))
                continue
            found, faults = self._read_values(name, kind, values)
            for row, fault in faults.items():
                raise ValueError(f"row {row}: {fault}")
            read.append(Read(name, kind, found, column))
        return read

    def _read_values(
        self, name: Hashable, kind: str, given: Sequence[typing.Any]
    ) -> tuple[list[typing.Any], dict[int, str]]:
        """Read the values of a column; return them, and by row what is wrong with some of them."""
        read = reader_of(kind)
        known: dict[str, typing.Any] = {}  # the same texts come again and again
        values: list[typing.Any] = []
        faults: dict[int, str] = {}
        for row, value in enumerate(given):
            is_text = type(value) is str
            if is_text and value in known:
                values.append(known[value])
                continue
            try:
                found = read(value)
            except (ValueError, OverflowError):
                found, faults[row] = None, misfit(name, kind, value)
            else:
                if is_text:
                    known[value] = found
            values.append(found)
        return values, faults

    def _count_missing(self, columns: list[Read], n: int | None = None) -> None:
        n = columns[0].column.length if n is None and columns else n or 0
        self._n_samples += n
        for each in columns:
            if each.name in self._present:
                self._present[each.name] += n - each.n_missing


class Read(typing.NamedTuple):
    """A column of a frame, its kind, and its values if they have to change."""

    name: Hashable
    kind: str | None
    values: list[typing.Any] | None
    column: Column

    @property
    def n_missing(self) -> int:
        """Number of missing values."""
        if self.values is None:
            return n_missing(self.column)
        return sum(value is None or value != value for value in self.values)


def misfit(name: Hashable, kind: str, value: object) -> str:
    """Say that a value does not fit the kind of its column, and what to do."""
    among = {NUMBER: "numbers", NOMINAL: "names", DATE: "dates", "percentage": "percentages"}
    what = among.get(kind, f"values of the kind {kind!r}")
    return (
        f"column {safe_repr(name)} holds {safe_repr(value)} among {what} "
        f"(--kind {safe_repr(name, str)}=nominal reads names)"
    )


# --- Columns of the core


def is_numeric(column: Column) -> bool:
    """Return whether all values of a column are numbers or missing."""
    return column.codes is None and column.refused < 0


def is_plain(column: Column, kind: str | None) -> bool:
    """Return whether the learner may read a column as it is."""
    if kind is None or kind != NOMINAL:
        return is_numeric(column)
    is_text = column.refused < 0 and column.numbers is None
    return is_text and all(type(each) is str and each not in MISSING for each in column.values)


def n_missing(column: Column) -> int:
    """Return the number of missing values of a column."""
    is_missing = np.ones(column.length, bool)
    if column.numbers is not None:
        is_missing &= np.isnan(column.numbers)
    if column.codes is not None:
        is_missing &= column.codes < 0
    return int(is_missing.sum())


# --- Pipelines


def parted(model: typing.Any) -> tuple[ColumnKinds | None, typing.Any]:
    """Return the kinds in front of a model, and the model behind them, which is the same object."""
    if type(model).__name__ != "Pipeline":  # learners alone need no import, which takes long
        return None, model
    from river import compose

    if type(model) is not compose.Pipeline or len(model.steps) < 2:
        return None, model
    (_, first), *others = model.steps.items()
    if not isinstance(first, ColumnKinds):
        return None, model
    return first, others[0][1] if len(others) == 1 else compose.Pipeline(*others)


def joined(kinds: ColumnKinds, model: typing.Any) -> typing.Any:
    """Return a pipeline of kinds and a model, which stay the same objects."""
    from river import compose

    pipeline = compose.Pipeline(kinds)
    steps = model.steps if isinstance(model, compose.Pipeline) else {type(model).__name__: model}
    pipeline.steps.update(steps)
    return pipeline
