"""The recorded runs of shrub ensembles in `golden/shrubs`."""

from __future__ import annotations

import csv
import json
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
