"""Results in small CSV files: written one by one, read back as rows of text.

The results of the comparison that the documentation shows are recorded beside it, in
`docs/results`. A run writes into a folder that git ignores, unless it is told otherwise.
"""

from __future__ import annotations

import csv
from pathlib import Path

RECORDED = Path(__file__).parents[3] / "docs" / "results"
OWN = Path("build/benchmarks")

Result = dict[str, str]


def read(path: Path) -> list[Result]:
    """Return what was measured before."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def in_place_of(recorded: list[Result], own: list[Result], key: list[str]) -> list[Result]:
    """Return recorded results, with one's own in the place of those with the same key."""
    found = {tuple(result[field] for field in key): result for result in [*recorded, *own]}
    return list(found.values())


def write(path: Path, results: list[Result]) -> None:
    """Write a whole file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(results[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(results)


def keep(path: Path, result: Result, key: list[str]) -> None:
    """Put a result in the place of an earlier one with the same values of the key's fields."""

    def place(each: Result) -> list[str]:
        return [each[field] for field in key]

    others = [old for old in read(path) if place(old) != place(result)]
    write(path, sorted([*others, result], key=place))
