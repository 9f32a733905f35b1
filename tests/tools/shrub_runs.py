"""Streams for shrub ensembles: the recorded runs in `golden/shrubs`, and one that changes a lot."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "golden" / "shrubs"
SUMMARY = json.loads((FOLDER / "summary.json").read_text())
CASES = list(SUMMARY)


class Run:
    """One recorded run: its settings, its stream, and what is to come out at every step."""

    def __init__(self, name: str) -> None:
        settings = SUMMARY[name]
        self.n_classes: int | None = None if settings.get("regression") else settings["C"]
        self.step_size: float | str = settings["step"]
        self.l2: float = settings.get("l2", 0.0)
        # Trees that agree on the window have equal weights up to rounding in these runs: which of
        # them leaves is decided by noise, and only the predictions are comparable.
        self.has_ties = settings["smallest_cut_margin"] == 0.0
        self.parameters: dict[str, Any] = {
            "n_models": settings["M"],
            "window_size": settings["B"],
            "loss": {"ce": "cross_entropy", "mse": "mse"}[settings.get("loss", "mse")],
            "max_depth": settings["depth"],
            "rounds": settings.get("rounds", 1),
            "project_each_round": settings.get("prox_each", False),
        }
        self.rows: list[tuple[list[float], Any]] = [
            ([float(value) for value in row[:-1]], float(row[-1]))
            for row in lines(f"{settings['data']}.csv")
        ]
        if self.n_classes:
            self.rows = [(x, int(y)) for x, y in self.rows]
        skipped = 3 if self.n_classes else 2
        self.predictions = [
            [float(value) for value in row[skipped:]] for row in lines(f"{name}.pred.csv")
        ]
        self.weights = [
            [(int(pair.split(":")[0]), float(pair.split(":")[1])) for pair in row[1:]]
            for row in lines(f"{name}.weights.csv")
        ]


def lines(name: str) -> list[list[str]]:
    with (FOLDER / name).open(newline="") as file:
        return list(csv.reader(file))[1:]


class Stress:
    """A stream with missing, nominal, new and vanishing features, new classes and weights."""

    def __init__(self, seed: int, regression: bool) -> None:
        self.rng = random.Random(seed)
        self.regression = regression

    def rows(self, n: int) -> Any:
        rng = self.rng
        for i in range(n):
            x: dict[Any, Any] = {"a": rng.randrange(4), "b": rng.random()}
            if rng.random() < 0.5:
                x["c"] = rng.choice(["red", "green", 3, float("nan")])
            if i > n // 2:
                x[f"late {i % 3}"] = rng.gauss(0, 1)
            y: Any = x["a"] + x["b"] + rng.gauss(0, 0.1)
            if not self.regression:
                y = f"{int(y)}" if rng.random() < 0.9 else f"rare {i // 40}"
            yield x, y, rng.choice([1.0, 1.0, 0.0, 0.3, 17.0, 1e9])
