"""Columns that look as if they were read in a wrong way, or hold nothing to learn from."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from river_extra_trees._core.safe_repr import safe_repr
from river_extra_trees._estimator.kinds import (
    COMMA,
    DATE,
    NOMINAL,
    NUMBER,
    PERCENTAGE,
    is_symbol,
    reader_of,
)
from river_extra_trees._estimator.texts import NUMERAL
from river_extra_trees.column_kinds import ColumnKinds
from river_extra_trees.streams import Batch

FEWEST_TEXTS = 10  # different ones, of a column of another kind
FEWEST_ROWS = 50  # of a column with a different text in each row
MOST_TEXTS = 200  # to look at
MOST_DIFFERENT = 0.95
MOST_WORDS = 3  # among numbers
LEAST_POINTED, MOST_POINTED = 0.5, 0.98  # shares of numbers with a point between thousands
ENOUGH = 0.9  # texts of a kind
DAYS = (
    *("%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%Y/%m/%d", "%m-%d-%Y", "%d-%m-%Y", "%Y.%m.%d"),
    *("%m/%d/%y", "%d/%m/%y", "%d.%m.%y", "%d %b %Y", "%d-%b-%Y", "%d-%b-%y", "%b %d, %Y"),
    *("%d %B %Y", "%B %d, %Y"),
)
TIMES = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p", " %I:%M:%S %p")
STYLES = (
    *(day + time for time in TIMES for day in DAYS),
    *(
        "%Y-%m-%d %I:%M %p",
        "%Y-%m-%d %I:%M:%S %p",
        "%H:%M",
        "%H:%M:%S",
        "%d/%b/%Y:%H:%M:%S %z",
        "%a, %d %b %Y %H:%M:%S %Z",
    ),
    *("%a, %d %b %Y %H:%M:%S %z", "%a %b %d %H:%M:%S %Y"),
)
LIKELY = (PERCENTAGE, NUMBER, COMMA, DATE, *(f"{DATE} {style}" for style in STYLES))
FIRST = 3  # texts of which a likely kind reads one


def suspicions(
    batches: Sequence[Batch], kinds: ColumnKinds, target: str | None = None, untyped: bool = False
) -> Iterator[str]:
    """Say which columns of the first rows look like another kind, or like identifiers.

    `untyped` is whether the source has no types, so that a text may be a number.

    Examples
    --------
    >>> import pyarrow
    >>> from river_extra_trees.cli.suspicions import suspicions
    >>> from river_extra_trees.streams import Batch
    >>> frame = pyarrow.table({"price": [f"{i},5" for i in range(60)]})
    >>> kinds = ColumnKinds()
    >>> kinds.learn_many(frame)
    >>> for text in suspicions([Batch(range(60), frame, None)], kinds):
    ...     print(text)
    column 'price' is read as names, such as '0,5'; --kind price='decimal comma' reads numbers

    """
    import pyarrow
    from pyarrow import compute

    declared = kinds.kinds or {}
    for name, kind in kinds.columns.items():
        if name in declared:
            continue
        frames = [each.frame for each in batches]
        columns = [frame.column(name) for frame in frames if name in frame.column_names]
        chunks = [chunk for column in columns for chunk in column.chunks]
        if not chunks:
            continue
        values = compute.drop_null(pyarrow.chunked_array(chunks))
        if kind == NOMINAL:
            yield from of_names("column", "names", name, values.to_pylist(), untyped)
        elif kind == NUMBER and counts_rows(numbers := values.to_numpy()):
            yield f"column {safe_repr(name)} counts the rows; {drops(name)}"
        elif kind == NUMBER and untyped and (example := point_of_thousands(numbers)):
            yield (
                f"column {safe_repr(name)} may have points between thousands, as in {example}; "
                f"--kind {quoted(name)}={COMMA!r} reads them"
            )
    labels = [y for each in batches for y in each.targets or ()]
    if target is not None and target not in declared and any(type(y) is str for y in labels):
        yield from of_names("target", "labels", target, list(map(str, labels)), untyped)


def of_names(
    what: str, of: str, name: Hashable, values: Sequence[str], untyped: bool
) -> Iterator[str]:
    """Say whether some texts look like another kind, or like identifiers."""
    counts = Counter(values)
    different = list(counts)
    begin = f"{what} {safe_repr(name)}"
    if untyped and (words := odd_words(different)):
        share = sum(counts[word] for word in words) / len(values)
        options = " ".join(f"--missing {shlex.quote(word)}" for word in words)
        yield (
            f"{begin} is read as {of}, because {share:.0%} of its values are "
            f"{', '.join(map(safe_repr, words))}; {options} reads the others as numbers"
        )
    elif others := likely_kinds(different):
        read = "dates" if others[0].startswith(DATE) else "numbers"
        yield (
            f"{begin} is read as {of}, such as {different[0]!r}; --kind "
            f"{quoted(name)}={' or '.join(map(repr, others))} reads {read}"
        )
    elif len(values) >= FEWEST_ROWS and len(different) >= MOST_DIFFERENT * len(values):
        n = f"{len(different):,} different texts in {len(values):,} rows"
        if what == "target":
            yield f"{begin} has {n}: is it the column to predict?"
        else:
            yield f"{begin} has {n}; if it is an identifier, {drops(name)}"


def odd_words(different: Sequence[str]) -> list[str]:
    """Return the few words among texts that are numbers otherwise.

    Examples
    --------
    >>> from river_extra_trees.cli.suspicions import odd_words
    >>> odd_words(["n.a.", *map(str, range(20))])
    ['n.a.']

    """
    words = [text for text in different if not NUMERAL.fullmatch(text)]
    is_odd = 0 < len(words) <= MOST_WORDS and len(different) >= FEWEST_TEXTS + len(words)
    return words if is_odd else []


def quoted(name: Hashable) -> str:
    """Return the name of a column for a shell."""
    return shlex.quote(safe_repr(name, str))


def drops(name: Hashable) -> str:
    """Name the option that leaves a column out."""
    return f"--drop {quoted(name)} leaves it out"


def counts_rows(numbers: npt.NDArray[np.float64]) -> bool:
    """Return whether numbers are such as 1, 2, 3 ..., one more in each row."""
    return len(numbers) >= FEWEST_ROWS and bool(np.all(np.diff(numbers) == 1.0))


def point_of_thousands(numbers: npt.NDArray[np.float64]) -> str:
    """Return a number whose point may stand between thousands, if there are such; else nothing.

    Those numbers have three digits after the point, and others, below 1,000, have no point.

    Examples
    --------
    >>> import numpy as np
    >>> from river_extra_trees.cli.suspicions import point_of_thousands
    >>> point_of_thousands(np.array([1.234, 12.5, 987.0] * 20))
    ''
    >>> point_of_thousands(np.array([1.234, 12.345, 987.0] * 20))
    '1.234'

    """
    sizes = np.abs(numbers)
    pointed = sizes[sizes % 1.0 > 0.0]
    share = len(pointed) / max(1, len(sizes))
    if len(numbers) < FEWEST_ROWS or not LEAST_POINTED < share < MOST_POINTED:
        return ""
    thousands = np.round(pointed * 1000.0)
    is_one = np.all(thousands / 1000.0 == pointed) and sizes.max() < 1000.0 and pointed.min() > 1.0
    has_three_digits = np.mean(thousands % 10.0 > 0.0) > LEAST_POINTED
    return f"{pointed[0]:.3f}" if is_one and has_three_digits else ""


def likely_kinds(different: Sequence[str]) -> list[str]:
    """Return the kinds that read most of some different texts.

    Examples
    --------
    >>> from river_extra_trees.cli.suspicions import likely_kinds
    >>> likely_kinds([f"{i},500" for i in range(1, 11)])
    ['number', 'decimal comma']

    """
    sample = [text for text in different[:MOST_TEXTS] if not is_symbol(text)]
    has_zeros = any(text[:1] == "0" and text.isdecimal() and len(text) > 1 for text in sample)
    if len(sample) < FEWEST_TEXTS or has_zeros:  # codes
        return []
    found = {kind: n_read(kind, sample) for kind in LIKELY if n_read(kind, sample[:FIRST])}
    most = max(found.values(), default=0)
    if most < ENOUGH * len(sample):
        return []
    best = [kind for kind, n in found.items() if n == most]
    if all(map(NUMERAL.fullmatch, sample)):
        return [NUMBER]  # which other kinds read, too
    if DATE in best:
        return [DATE]
    if PERCENTAGE in best:  # which reads plain numbers, too
        has_signs = any("%" in text for text in sample)
        best = [kind for kind in best if (kind == PERCENTAGE) == has_signs]
    without_comma = best == [NUMBER, COMMA] and not any("," in text for text in sample)
    return [NUMBER] if without_comma else best


def n_read(kind: str, sample: Sequence[str]) -> int:
    """Return how many texts a kind reads."""
    read = reader_of(kind)
    n = 0
    for text in sample:
        try:
            read(text)
        except (ValueError, OverflowError):
            continue
        n += 1
    return n
