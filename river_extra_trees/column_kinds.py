"""How the columns of a stream are read, as a part of the model."""

from __future__ import annotations

import math
import operator
import sys
import typing
from collections.abc import Collection, Hashable, Mapping, Sequence

import numpy as np
from river import base

from ._core.columns import Column
from ._core.safe_repr import safe_repr
from ._core.validation import fit_of
from ._estimator.fit import Fit
from ._estimator.frames import columns_in, is_array, readable_frame, scalars_of
from ._estimator.kinds import (
    DATE,
    MISSING,
    NOMINAL,
    NUMBER,
    PARTS,
    check_kind,
    family_of,
    kind_of,
    numbers_in,
    parts_of,
    reader_of,
    settled,
    words_of,
)
from ._estimator.rows import is_missing
from ._estimator.tables import table_of

if typing.TYPE_CHECKING:
    from ._estimator.frames import Frame

__all__ = ["ColumnKinds", "joined", "parted"]

Features = Mapping[typing.Any, typing.Any]

# As many as a learner has. Further columns are read by their own values, and are not counted.
MOST_COLUMNS = 1 << 14
COMPLETE = 2  # of `fit_of`: the sample has a value in each column
MOST_SHARED = 256  # smaller whole numbers take no memory
# Marks of columns for `fit_of`.
HAS_NAMES, IS_LEARNED, IS_CONVERTED = 1, 2, 4


class ColumnKinds(base.MiniBatchTransformer):
    """Reads the values of each column by its kind, before a learner reads them.

    The first value of a column that is learned determines its kind, unless `kinds` declares it.
    Every later value is read as that kind, whatever type it has: a date may be a text in JSON and a
    datetime in a data frame, and the nominal value `10115` a text or a number. A value that cannot
    be read so is refused. Predictions learn nothing.

    | kind | values | what the learner reads |
    |---|---|---|
    | `number` | numbers, booleans, durations, texts such as `1,234.5` | a number |
    | `nominal` | everything else; numbers, booleans and dates become their names | a text |
    | `date` | dates, texts of ISO 8601, seconds or milliseconds since 1970 | the seconds, in UTC |
    | `date %d.%m.%Y` | dates, texts of this format, see `datetime.strptime` | the same |
    | `date parts` | as `date`; also with a format | the seconds, and three numbers more |
    | `decimal comma` | numbers, texts such as `1.234,5` | a number |
    | `percentage` | numbers, texts such as `5%` and `23,78%` | a number, here 5 and 23.78 |

    The parts of a date are columns of their own, such as `day hour`, `day weekday` (Monday is 0)
    and `day day of the year`, in UTC. A nominal value has one text: `501`, `501.0` and the text
    `501.0` are `501`, `True` is `true`, and a date at midnight has no time; `007` remains `007`.

    Blanks around texts are ignored. The texts that pandas' reader takes as missing are missing
    values, such as ``""``, `NA`, `None` and `null`; `?`, too. The page "Tables and
    evaluations" lists all words, and the texts that each kind reads. The command line puts this
    transformer in front of each learner that it trains.

    Parameters
    ----------
    kinds
        Kinds of columns by name; `None` declares none.
    missing_words
        Further texts that are missing values, such as `unknown`; `None` adds none. The text of a
        number, such as `-999`, stands for the number, too.
    strict
        Whether data with other columns than those learned are refused: frames that lack a column,
        and frames and samples to predict that have a new one, or none of those learned. Columns of
        an array are its numbers from 0, so that arrays do not fit names.

    Notes
    -----
    A sample that the learner behind refuses, for example because of its target, has determined the
    kinds of its new columns. Declare the kinds of columns that may begin with odd values.

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
    ValueError: column 'size' holds 'large' among numbers

    >>> kinds = ret.ColumnKinds({"day": "date parts"}, missing_words=["unknown"])
    >>> kinds.transform_one({"day": "2026-11-22 14:15", "size": "unknown"})
    {'day': 1795356900.0, 'size': None, 'day hour': 14.25, 'day weekday': 6.0, \
'day day of the year': 326.0}

    """

    def __init__(
        self,
        kinds: Mapping[typing.Any, str] | None = None,
        missing_words: Collection[str] | None = None,
        strict: bool = False,
    ) -> None:
        for kind in ({} if kinds is None else kinds).values():
            check_kind(kind)
        self.kinds = kinds
        self._words = words_of(missing_words or ())
        self._has_numbers = bool(numbers_in(self._words))  # among the words
        self.missing_words = tuple(missing_words) if missing_words else None
        self.strict = bool(strict)
        self._columns: dict[Hashable, str] = {}
        self._present: dict[Hashable, int] = {}
        # Columns of the table that the model was trained on which are no features, and their roles:
        # target and weight.
        self._roles: dict[Hashable, str] = {}
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
        return {
            name: each["kind"] + (f", {each['missing']:.1%} missing" if each["missing"] else "")
            for name, each in self._described.items()
        }

    @property
    def _described(self) -> dict[str, dict[str, typing.Any]]:
        """The kind of each column and its share of missing values, by its name as text."""
        missing = self.missing
        return {
            safe_repr(name, str): {"kind": kind, "missing": missing[name]}
            for name, kind in self._columns.items()
        }

    @property
    def _raw_memory_usage(self) -> int:
        tables = [self._columns, self._present, self._roles, self._layout or {}, vars(self)]
        tables += [] if self._words is MISSING else [self._words, *self._words - MISSING]
        names = sum(map(sys.getsizeof, self._columns))
        counts = sum(sys.getsizeof(each) for each in self._present.values() if each > MOST_SHARED)
        return names + counts + sum(map(sys.getsizeof, tables))

    def _kind_for(self, name: Hashable, value: typing.Any) -> str | None:
        """Return the kind by which a value is read; None if nothing says it."""
        kind = self._columns.get(name)
        if kind is None and self.kinds is not None:
            kind = self.kinds.get(name)
        return kind_of(value, missing=self._words) if kind is None else kind

    def _is_new(self, x: Features) -> bool:
        """Return whether a sample has a column that would be remembered if it were learned."""
        return len(self._columns) < MOST_COLUMNS and any(name not in self._columns for name in x)

    def _admit(self, name: Hashable, kind: str) -> None:
        """Remember the kind of a new column."""
        if name in self._columns or len(self._columns) >= MOST_COLUMNS:
            return
        if self._n_complete:
            for each in self._present:
                self._present[each] += self._n_complete
            self._n_complete = 0
        self._columns[name] = kind
        self._present.setdefault(name, 0)
        if self._layout is not None:
            self._layout[name] = IS_LEARNED | mark_of(kind)

    def _take_over(self, other: ColumnKinds) -> None:
        """Take over the kinds and the counts of the same stream at an earlier time."""
        self._columns = other._columns | self._columns
        self._roles = other._roles | self._roles
        self._present = dict.fromkeys(self._columns, 0)
        for name, present in other._present.items():
            self._present[name] = present + other._n_complete
        self._n_samples, self._n_complete, self._layout = other._n_samples, 0, None

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
        for name in x:
            if name in self._present and read[name] is not None and not is_missing(read[name]):
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
        if self.strict:
            self._require_columns(x)
        return x if self._fit(x) else self._read(x)

    def _require_columns(self, names: Collection[Hashable], rows: int = 0) -> None:
        """Raise an error if the columns of a sample, or of some rows, are not those learned."""
        if not self._columns:
            return
        fit = Fit(self._columns, self._roles)
        fit.note(names)
        if fit.unknown or fit.is_disjoint or (rows and fit.missing):
            raise ValueError("; ".join(fit.notes(refused=True)))

    def _read_target(self, y: typing.Any) -> typing.Any:
        """Read a target by the kind that was declared for it in training, if any."""
        for name, role in self._roles.items():
            if role == "target" and self.kinds is not None and name in self.kinds:
                kind = self.kinds[name]
                try:
                    return reader_of(kind, self._words)(y)
                except (ValueError, OverflowError):
                    raise ValueError(misfit(name, kind, y)) from None
        return y

    def _fit(self, x: Features) -> int:
        """Return whether the learner may read a sample as it is, and whether it is complete."""
        if type(x) is not dict or self._has_numbers:
            return 0
        if self._layout is None:
            declared = {name: mark_of(kind) for name, kind in (self.kinds or {}).items()}
            learned = {name: IS_LEARNED | mark_of(kind) for name, kind in self._columns.items()}
            self._layout = declared | learned
        return fit_of(x, self._layout, self._words, len(self._columns))

    def _read(self, x: Features) -> dict[typing.Any, typing.Any]:
        read = {name: self._value(name, value) for name, value in x.items()}
        for name in x:
            kind = self._kind_for(name, None)
            if kind is not None and family_of(kind) == PARTS and read[name] is not None:
                for part, values in parts_of(np.array([double_of(read[name])])).items():
                    if values[0] == values[0]:
                        read[self._part(name, part, x)] = float(values[0])
        return read

    def _part(self, name: Hashable, part: str, names: Collection[Hashable]) -> str:
        """Return the name of a part of a date; raise an error if another column has this name."""
        found = f"{safe_repr(name, str)} {part}"
        if found in names:
            raise ValueError(f"column {found!r} is there, and also a part of the date {name!r}")
        return found

    def _value(self, name: Hashable, value: typing.Any) -> typing.Any:
        """Read a value."""
        kind = self._kind_for(name, value)
        if kind is None:
            return None
        try:
            return reader_of(kind, self._words)(value)
        except (ValueError, OverflowError):
            raise ValueError(misfit(name, kind, value)) from None

    # ------------------------------------------------------------------ frames

    def learn_many(self, X: Frame) -> None:
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
        native = readable_frame(X)
        if self.strict:
            new = dict(columns_in(native)).keys() - self._columns.keys()
            self._require_columns([name for name, _ in columns_in(native) if name not in new], 1)
        columns = self._read_columns(native)
        for column in columns:
            if column.kind is not None:
                self._admit(column.name, column.kind)
        self._count_missing(columns)

    def _count(self, frame: typing.Any) -> None:
        """Count the missing values of a frame that is read already."""
        plain = (Read(each.name, None, None, each) for each in table_of(frame).columns)
        self._count_missing(list(plain), len(frame))

    def transform_many(self, X: Frame) -> typing.Any:
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
        if self.strict:
            self._require_columns(dict(columns_in(native)), len(native))
        columns = self._read_columns(native)
        changed = [(i, each) for i, each in enumerate(columns) if each.values is not None]
        if not changed:
            return X
        dated = [each for each in columns if each.kind and family_of(each.kind) == PARTS]
        if is_array(native):
            if dated:
                raise ValueError(
                    f"column {dated[0].name} has the kind {PARTS!r}, whose parts need names; pass "
                    "a data frame instead of an array"
                )
            array = np.array(native, object)
            for i, each in changed:
                array[:, i] = each.values
            return array
        import narwhals

        frame = narwhals.from_native(native, pass_through=True, eager_only=True)

        def series(name: Hashable, kind: str | None, values: typing.Any) -> typing.Any:
            dtype: typing.Any = narwhals.String if kind == NOMINAL else narwhals.Float64
            if kind == NOMINAL and not all(each is None or type(each) is str for each in values):
                dtype = narwhals.Object
            backend = frame.implementation
            return narwhals.new_series(typing.cast(str, name), values, dtype, backend=backend)

        added = [series(each.name, each.kind, each.values) for _, each in changed]
        names = [each.name for each in columns]
        for each in dated:
            for part, values in parts_of(np.array(each.values, np.float64)).items():
                added.append(series(self._part(each.name, part, names), NUMBER, values))
        return frame.with_columns(*added).to_native()

    def _read_columns(self, frame: typing.Any) -> list[Read]:
        """Read a result of `readable_frame`."""
        read = []
        for column, (_, given) in zip(table_of(frame).columns, columns_in(frame), strict=True):
            name = column.name
            kind = self._kind_for(name, None)
            if kind is None and is_numeric(column):
                kind = NUMBER if n_missing(column) < column.length else None
            if self._is_plain(column, kind):
                read.append(Read(name, kind, None, column))
                continue
            values = scalars_of(given, "a column")
            if kind is None:
                kinds = (kind_of(value, missing=self._words) for value in values)
                kind = next((each for each in kinds if each is not None), None)
            if kind is None:  # words for missing values
                read.append(Read(name, kind, [None] * len(values), column))
            elif self._is_plain(column, kind):
                read.append(Read(name, kind, None, column))
            else:
                found, faults = self._read_values(name, kind, values)
                for row, fault in faults.items():
                    raise ValueError(f"row {row}: {fault}")
                if kind == NOMINAL and all(map(operator.is_, found, values)):
                    read.append(Read(name, kind, None, column))  # bytes, for example
                    continue
                if kind != NOMINAL:
                    found = [None if value is None else double_of(value) for value in found]
                read.append(Read(name, kind, found, column))
        return read

    def _is_plain(self, column: Column, kind: str | None) -> bool:
        """Return whether the learner may read a column of a frame as it is."""
        if kind == NOMINAL:
            is_text = column.refused < 0 and column.numbers is None
            read = reader_of(NOMINAL, self._words)
            return is_text and all(
                type(each) is str and read(each) == each for each in column.values
            )
        if not is_numeric(column) or (kind is not None and family_of(kind) == PARTS):
            return False
        numbers = column.numbers
        return numbers is None or settled(numbers, kind or NUMBER, self._words) is numbers

    def _read_values(
        self, name: Hashable, kind: str, given: Sequence[typing.Any]
    ) -> tuple[list[typing.Any], dict[int, str]]:
        """Read the values of a column; return them, and by row what is wrong with some of them."""
        read = reader_of(kind, self._words)
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
        return sum(value is None or is_missing(value) for value in self.values)


def mark_of(kind: str) -> int:
    """Return the mark of a kind for `fit_of`."""
    if kind == NOMINAL:
        return HAS_NAMES
    return IS_CONVERTED * (family_of(kind) in (DATE, PARTS))


def misfit(name: Hashable, kind: str, value: object) -> str:
    """Say that a value does not fit the kind of its column."""
    among = {NUMBER: "numbers", DATE: "dates", "percentage": "percentages"}
    what = among.get(kind, f"values of the kind {kind!r}")
    found = f"column {safe_repr(name)} holds {safe_repr(value)}"
    if kind == NOMINAL:
        return f"{found}, which is neither a number nor a text"
    return f"{found} among {what}"


def double_of(number: typing.Any) -> float:
    """Return a number as a double; one that is too large is infinite, which learners refuse."""
    try:
        return float(number)
    except OverflowError:
        return math.inf


# --- Columns of the core


def is_numeric(column: Column) -> bool:
    """Return whether all values of a column are numbers or missing."""
    return column.codes is None and column.refused < 0


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
