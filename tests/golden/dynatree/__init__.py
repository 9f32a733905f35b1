"""Outputs of the R package dynaTree 1.2-17, and the inputs they were made from.

README.md in this folder says how each file was made and which error to expect.
"""

from pathlib import Path

import numpy as np
import pandas as pd

FOLDER = Path(__file__).parent


def text(name: str) -> pd.DataFrame:
    return pd.read_csv(FOLDER / f"{name}.csv", dtype=str, keep_default_na=False)


def table(name: str) -> list[dict[str, str]]:
    """Rows of a file, as text."""
    return text(name).to_dict("records")


def column(rows: list[dict[str, str]], name: str) -> np.ndarray:
    return np.array([float(row[name]) for row in rows])


def data(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Features and target of fried_train, fried_test, class_train or class_test.

    Classes are numbered from 0 here, from 1 in the files.
    """
    frame = text(name).astype(float)
    return frame.filter(regex="^x").to_numpy(), frame["y"].to_numpy() - name.startswith("class")
