"""Model files that every later version has to load, and what their models answered.

The files of a version of the format are written once, when it is released, and stay as they are;
their hashes are added to the list in `tests/data/models`:

    python -m tests.stored_models
    cd tests/data/models && sha256sum version_*/* > SHA256SUMS
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from river import base

from river_extra_trees import persistence
from river_extra_trees.persistence import files
from tests.estimators import CASES, TIGHTEST, learn, make, stream

FOLDER = Path(__file__).parent / "data" / "models"
LEARNED = 130  # samples


def said(model: Any, case: tuple[str, int]) -> list[list[float]]:
    """What a model answers: numbers, or the probabilities in the order of the labels' names."""
    asked = [x for x, _ in stream(case, 12, seed=2)]
    if not isinstance(model, base.Classifier):
        return [[model.predict_one(x)] for x in asked]
    shares = [model.predict_proba_one(x) for x in asked]
    return [[share[label] for label in sorted(share)] for share in shares]


def case_of(path: Path) -> tuple[str, int]:
    """The estimator and the number of its parameters that a stored file is of."""
    name, number = path.stem.rsplit("_", 1)
    return name, int(number)


def main() -> None:
    """Write the files of this version of the format that are not there yet."""
    folder = FOLDER / f"version_{files.VERSION}"
    folder.mkdir(exist_ok=True, parents=True)
    for case in CASES:
        path = folder / f"{case[0]}_{case[1]}.model"
        if path.exists() or not (case[1] == 0 or case in TIGHTEST):
            continue
        model = learn(make(case), stream(case, LEARNED))
        persistence.save(model, path)
        path.with_suffix(".json").write_text(json.dumps(said(model, case), indent=0) + "\n")


if __name__ == "__main__":
    main()
