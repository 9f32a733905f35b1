"""Outputs of the R package dynaTree 1.2-17, and the inputs they were made from.

README.md in this folder says how each file was made and which error to expect.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent


def table(name: str) -> list[dict[str, str]]:
    """Rows of a file, as text."""
    with (FOLDER / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def column(rows: list[dict[str, str]], name: str) -> np.ndarray:
    return np.array([float(row[name]) for row in rows])


def data(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Features and target of fried_train, fried_test, class_train or class_test.

    Classes are numbered from 0 here, from 1 in the files.
    """
    rows = table(name)
    features = [key for key in rows[0] if key.startswith("x")]
    X = np.column_stack([column(rows, feature) for feature in features])
    y = column(rows, "y")
    return X, y - 1 if name.startswith("class") else y
