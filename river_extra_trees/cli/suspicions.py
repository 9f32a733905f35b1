"""Columns that look as if they were read in a wrong way, or hold nothing to learn from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from river_extra_trees._core.safe_repr import safe_repr
from river_extra_trees._estimator.kinds import COMMA, DATE, NOMINAL, NUMBER, PERCENTAGE, reader_of
from river_extra_trees.column_kinds import ColumnKinds

FEWEST_TEXTS = 10  # different ones, of a column of another kind
FEWEST_ROWS = 50  # of a column with a different text in each row
MOST_TEXTS = 200  # to look at
MOST_DIFFERENT = 0.95
ENOUGH = 0.9  # texts of a kind
STYLES = ("%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%m/%d/%Y %H:%M", "%d/%m/%Y %H:%M", "%d.%m.%Y %H:%M")
LIKELY = (COMMA, *(f"{DATE} {style}" for style in STYLES))


def suspicions(frames: Sequence[Any], kinds: ColumnKinds) -> Iterator[str]:
    """Say which columns of texts look like another kind, or like identifiers.

    Examples
    --------
    >>> import pyarrow
    >>> from river_extra_trees.cli.suspicions import suspicions
    >>> frame = pyarrow.table({"price": [f"{i},5" for i in range(60)]})
    >>> kinds = ColumnKinds()
    >>> kinds.learn_many(frame)
    >>> for text in suspicions([frame], kinds):
    ...     print(text)
    column 'price' is read as names, such as '0,5'; --kind price='decimal comma' reads numbers

    """
    import pyarrow
    from pyarrow import compute

    declared = kinds.kinds or {}
    for name, kind in kinds.columns.items():
        if kind != NOMINAL or name in declared:
            continue
        columns = [frame.column(name) for frame in frames if name in frame.column_names]
        chunks = [chunk for column in columns for chunk in column.chunks]
        if not chunks:
            continue
        values = compute.drop_null(pyarrow.chunked_array(chunks))
        different = compute.unique(values).to_pylist()
        shown = safe_repr(name)
        if other := likely_kind(different):
            yield (
                f"column {shown} is read as names, such as {different[0]!r}; --kind "
                f"{safe_repr(name, str)}={other!r} reads {'dates' if '%' in other else 'numbers'}"
            )
        elif len(values) >= FEWEST_ROWS and len(different) >= MOST_DIFFERENT * len(values):
            yield (
                f"column {shown} has {len(different):,} different texts in {len(values):,} rows; "
                f"if it is an identifier, --drop {safe_repr(name, str)} leaves it out"
            )


def likely_kind(different: Sequence[str]) -> str | None:
    """Return the kind that reads nearly all of some different texts, which are no plain numbers."""
    sample = different[:MOST_TEXTS]
    if len(sample) < FEWEST_TEXTS:
        return None
    plain = n_read(NUMBER, sample)
    for kind in [PERCENTAGE] if any("%" in text for text in sample) else LIKELY:
        n = n_read(kind, sample)
        if n >= ENOUGH * len(sample) and n - plain >= len(sample) / 2:
            return kind
    return None


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
