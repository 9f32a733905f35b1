"""Stored model files that every later version has to load, and the answers of their models.

The files of a version of the format are written when it is released, and never change afterwards.
One command writes the files that are missing, together with the list of all hashes, after a new
estimator, or for a new version:

    python -m tests.tools.stored_models
"""

import hashlib
import json
from pathlib import Path
from typing import Any

from river import base

from river_extra_trees import persistence
from river_extra_trees.persistence import files
from tests.tools.estimators import CASES, TIGHTEST, learn, make, stream

FOLDER = Path(__file__).parents[1] / "data" / "models"
LEARNED = 130  # samples


def predictions(model: Any, case: tuple[str, int]) -> list[list[float]]:
    """The predictions of a model: numbers, or probabilities in the order of the labels."""
    asked = [x for x, _ in stream(case, 12, seed=2)]
    if not isinstance(model, base.Classifier):
        return [[model.predict_one(x)] for x in asked]
    shares = [model.predict_proba_one(x) for x in asked]
    return [[share[label] for label in sorted(share)] for share in shares]


def case_of(path: Path) -> tuple[str, int]:
    """The estimator and the number of its parameters of a stored file."""
    name, number = path.stem.rsplit("_", 1)
    return name, int(number)


def hashes() -> str:
    """The hashes of all stored files, as `sha256sum` prints them."""
    paths = sorted(path for path in FOLDER.glob("*/*") if path.suffix in (".model", ".json"))
    return "".join(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(FOLDER).as_posix()}\n"
        for path in paths
    )


def main() -> None:
    """Write the files of the present version that are missing, and the hashes."""
    folder = FOLDER / f"version_{files.VERSION}"
    folder.mkdir(exist_ok=True, parents=True)
    for case in CASES:
        path = folder / f"{case[0]}_{case[1]}.model"
        if path.exists() or not (case[1] == 0 or case in TIGHTEST):
            continue
        model = learn(make(case), stream(case, LEARNED))
        persistence.save(model, path)
        text = json.dumps(predictions(model, case), indent=0) + "\n"
        path.with_suffix(".json").write_text(text)
    (FOLDER / "SHA256SUMS").write_text(hashes())


if __name__ == "__main__":
    main()
