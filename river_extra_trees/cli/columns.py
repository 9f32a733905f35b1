"""The kinds of the columns of a table, and what looks wrong with them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from river_extra_trees._estimator.fit import listed
from river_extra_trees._estimator.kinds import NOMINAL, NUMBER
from river_extra_trees.cli import UserError
from river_extra_trees.column_kinds import ColumnKinds
from river_extra_trees.streams import Batch

ENOUGH = 20  # rows; with fewer, nothing is suspected
# Patterns of texts that are no names if all values of a column match, and what to do then.
PATTERNS = (
    (r"[+-]?[\d.]*\d,\d+", "a decimal comma", "--kind {name}='decimal comma'"),
    (r"[+-]?[\d.]+ ?%", "a percentage", "--kind {name}=percentage"),
    (r"\d{1,2}/\d{1,2}/\d{4}", "a date", "--kind {name}='date %m/%d/%Y', or %d/%m/%Y"),
    (r"\d{1,2}\.\d{1,2}\.\d{4}", "a date", "--kind {name}='date %d.%m.%Y'"),
    (r"[$€£] ?[\d.,]+|[\d.,]+ ?[$€£]", "an amount of money", "remove the sign of the currency"),
)


def declared(
    nominal: Sequence[str] | None, kind: Sequence[str] | None, saved: ColumnKinds | None = None
) -> ColumnKinds:
    """Return the kinds that the user declares, together with those of a saved model."""
    found = dict.fromkeys(nominal or (), NOMINAL)
    for text in kind or ():
        name, equals, each = text.rpartition("=")
        if not equals:
            raise UserError(f"--kind is {text!r}; write it as COLUMN=KIND, such as zip=nominal")
        found[name] = each
    try:
        kinds = ColumnKinds(dict(found) if found else None)
    except ValueError as error:
        raise UserError(f"--kind: {error}") from error
    if saved is None:
        return kinds
    known: dict[Any, str] = {**(saved.kinds or {}), **saved.columns}
    for name, each in found.items():
        if known.get(name, each) != each:
            raise UserError(f"the model has learned the column {name!r} as {known[name]!r}")
    if found:
        saved.kinds = {**(saved.kinds or {}), **found}
    return saved


def summary(kinds: ColumnKinds) -> str:
    """Return the number of columns of each kind, with the first names."""
    by_kind: dict[str, list[Any]] = {}
    for name, kind in kinds.columns.items():
        by_kind.setdefault(kind, []).append(name)
    return "; ".join(f"{len(names):,} {kind}: {listed(names)}" for kind, names in by_kind.items())


def suspicions(batch: Batch, kinds: ColumnKinds) -> Iterator[str]:
    """Report what looks wrong with the columns of the first rows of a table."""
    if len(batch) < ENOUGH:
        return
    for i, name in enumerate(batch.frame.column_names):
        kind = kinds.columns.get(name)
        values = batch.frame.column(name).to_pylist()
        if kind == NOMINAL:
            yield from suspicious_names(name, [value for value in values if value is not None])
        elif i == 0 and kind == NUMBER and name in ("", "Unnamed: 0") and counts_up(values):
            yield f"the first column has no name and counts up: an index? (--drop '{name}')"


def suspicious_names(name: str, values: list[str]) -> Iterator[str]:
    """Report what the values of a nominal column look like."""
    distinct = set(values)
    if not distinct:
        return
    what = f"{name}: {len(distinct):,} different texts in {len(values):,} rows"
    for pattern, looks, do in PATTERNS:
        if all(re.fullmatch(pattern, text) for text in distinct):
            yield f"{what}, looks like {looks} ({do.format(name=name)})"
            return
    if len(distinct) == len(values) >= ENOUGH:
        yield f"{what}: an identifier? (--drop {name})"


def counts_up(values: list[Any]) -> bool:
    """Return whether each value is one more than the value before it."""
    first = values[0]
    return first is not None and values == [first + i for i in range(len(values))]
