"""Results in small CSV files: written one by one, read back as rows of text."""

from __future__ import annotations

import csv
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "results"

Result = dict[str, str]


def read(path: Path) -> list[Result]:
    """Return what was measured before."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


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
