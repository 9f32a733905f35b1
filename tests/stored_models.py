"""Model files that every later version has to load, and what their models answered.

The files of a version of the format are written once, when it is released, and stay as they are:

    python -m tests.stored_models
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from river_extra_trees import persistence
from tests.estimators import CASES, answers, learn, make, stream

FOLDER = Path(__file__).parent / "data" / "models"
FIRST, THEN = 130, 80  # samples learned before the model was saved, and after it was loaded


def said(model: Any, case: tuple[str, int]) -> list[list[str]]:
    """What a model answers, then what it answers after learning more."""
    asked = list(stream(case, 12, seed=2))
    before = answers(model, asked)
    return [before, answers(learn(model, stream(case, THEN, seed=1)), asked)]


def main() -> None:
    """Write the files of this version of the format, for cases that are not there yet."""
    folder = FOLDER / f"version_{persistence.VERSION}"
    folder.mkdir(exist_ok=True, parents=True)
    for case in CASES:
        if (path := folder / f"{case[0]}_{case[1]}.model").exists():
            continue
        model = learn(make(case), stream(case, FIRST))
        persistence.save(model, path)
        path.with_suffix(".json").write_text(json.dumps(said(model, case), indent=0) + "\n")


if __name__ == "__main__":
    main()
