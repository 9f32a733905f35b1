"""LightGBM on a sliding window, trained anew every so many samples, as is usual in practice."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable
from typing import Any

import numpy as np

from examples.benchmarks.common.streams import Rows
from river_extra_trees.cli import UserError
from river_extra_trees.cli.streams import Task

WINDOW = 5_000
EVERY = 500


class WindowLightGBM:
    """LightGBM with its defaults, trained every 500 samples on the last 5,000.

    Names are LightGBM's categories. Before the first training the shares of the classes, or the
    mean, are the answer. Another `window` is the number of latest samples to train on.
    """

    def __init__(self, rows: Rows, task: Task, window: int = WINDOW) -> None:
        try:
            import lightgbm
        except ImportError as error:
            raise UserError("LightGBM is missing; run: pip install lightgbm") from error
        self._library = lightgbm
        self._task = task
        self._keys = sorted({key for x, _ in rows for key in x}, key=str)
        self._nominal = [
            i for i, k in enumerate(self._keys) if any(isinstance(x.get(k), str) for x, _ in rows)
        ]
        self._codes: dict[tuple[str, Hashable], float] = {}
        self._labels: dict[Any, int] = {}
        self._window = window
        self._X = np.empty((window, len(self._keys)))
        self._y = np.empty(window)
        self._n = 0
        self._model: Any = None

    def _row(self, x: dict[str, Any]) -> list[float]:
        return [self._number(key, x.get(key)) for key in self._keys]

    def _number(self, key: str, value: Any) -> float:
        if value is None:
            return math.nan
        if isinstance(value, str):
            return self._codes.setdefault((key, value), float(len(self._codes)))
        return float(value)

    def predict_one(self, x: dict[str, Any]) -> float:
        """Return the predicted target."""
        if self._model is None:
            return float(self._y[: self._n].mean()) if self._n else 0.0
        return float(self._model.predict([self._row(x)], num_threads=1)[0])

    def predict_proba_one(self, x: dict[str, Any]) -> dict[Any, float]:
        """Return the probabilities of the classes."""
        if self._model is None:
            n = min(self._n, self._window)
            counts = Counter(self._y[:n])
            return {label: counts[i] / n for label, i in self._labels.items()}
        found = self._model.predict([self._row(x)], num_threads=1)[0]
        shares = (1.0 - found, found) if np.ndim(found) == 0 else found
        # A label that came after the training is none that the model knows.
        return dict(zip(self._labels, map(float, shares), strict=False))

    def learn_one(self, x: dict[str, Any], y: Any) -> None:
        """Put a sample into the window; train when it is time."""
        place = self._n % self._window
        self._X[place] = self._row(x)
        if self._task == "classification":
            y = self._labels.setdefault(y, len(self._labels))
        self._y[place] = y
        self._n += 1
        if self._n % EVERY == 0:
            self._train()

    def _train(self) -> None:
        parameters: dict[str, Any] = {"verbosity": -1, "num_threads": 1, "objective": "regression"}
        if self._task == "classification":
            n = len(self._labels)
            if n < 2:
                return
            parameters["objective"] = "binary"
            if n > 2:
                parameters |= {"objective": "multiclass", "num_class": n}
        n_rows = min(self._n, self._window)
        data = self._library.Dataset(
            self._X[:n_rows],
            self._y[:n_rows],
            categorical_feature=self._nominal,
            params={"verbosity": -1},
        )
        self._model = self._library.train(parameters, data)

    @property
    def _raw_memory_usage(self) -> int:
        text = self._model.model_to_string() if self._model is not None else ""
        return self._X.nbytes + self._y.nbytes + len(text)
