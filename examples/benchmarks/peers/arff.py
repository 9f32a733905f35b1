"""Streams as ARFF files, which MOA's learners read; nominal features stay nominal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from examples.benchmarks.common.streams import Rows
from river_extra_trees.cli.streams import Task


def quoted(value: object) -> str:
    """Return a value between quotes."""
    return "'" + str(value).replace("\\", "\\\\").replace("'", "\\'") + "'"


def write(path: Path, rows: Rows, task: Task) -> list[Any]:
    """Write a file; return the classes in the order of their numbers, none for regression."""
    keys = sorted({key for x, _ in rows for key in x}, key=str)
    values = {key: {x[key] for x, _ in rows if x.get(key) is not None} for key in keys}
    nominal = {key for key in keys if any(isinstance(v, str) for v in values[key])}
    labels = sorted({y for _, y in rows}, key=str) if task == "classification" else []
    with path.open("w") as file:
        file.write("@relation stream\n")
        for key in keys:
            names = ",".join(map(quoted, sorted(values[key], key=str)))
            kind = f"{{{names}}}" if key in nominal else "numeric"
            file.write(f"@attribute {quoted(key)} {kind}\n")
        kind = f"{{{','.join(map(quoted, labels))}}}" if labels else "numeric"
        file.write(f"@attribute target {kind}\n@data\n")
        for x, y in rows:
            cells = [cell(x.get(key), key in nominal) for key in keys]
            file.write(",".join([*cells, cell(y, bool(labels))]) + "\n")
    return labels


def cell(value: Any, nominal: bool) -> str:
    """Return a value as it stands in a line of data."""
    if value is None:
        return "?"
    return quoted(value) if nominal else repr(float(value))
