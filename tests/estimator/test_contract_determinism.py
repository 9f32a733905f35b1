"""The same seed and the same stream give the same bits, however they arrive."""

from __future__ import annotations

import copy
import hashlib
import os
import pickle
import random
import subprocess
import sys
from typing import Any

import pytest

from river_extra_trees import persistence
from tests.tools.contract import ENDS, Case
from tests.tools.estimators import CASES, CLASSES, answers, learn, make, stream


def split_stream(case: Case) -> tuple[list[Any], list[Any], list[Any]]:
    """Return rows to learn first, rows to learn then, and rows to answer."""
    return (
        list(stream(case, 150)),
        list(stream(case, 130, seed=1)),
        list(stream(case, 60, seed=2)),
    )


def shuffled(rows: list[Any]) -> list[Any]:
    """The same samples with their keys in another order."""
    rng = random.Random(5)
    return [(dict(rng.sample(list(x.items()), len(x))), y) for x, y in rows]


@pytest.mark.parametrize("case", ENDS, ids=str)
def test_copies_go_on_alike(case: Case) -> None:
    """A copy made in mid-stream goes on as the original does, and apart from it; a clone is new.

    A model that is asked in between learns as one that is not, whatever the order of the keys.
    """
    first, then, asked = split_stream(case)
    model, quiet = make(case), learn(make(case), shuffled(first))
    for row in first:
        answers(model, [row, *asked[:2]])
        learn(model, [row])
    copies = [
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
        persistence.load_bytes(persistence.save_bytes(model)),
        model.clone(include_attributes=True),
        quiet,
    ]
    before = answers(model, asked)
    learn(model, then)
    expected = answers(model, asked)
    for other in copies:
        with pytest.raises(AttributeError, match="seed"):
            other.seed = 5
        assert answers(other, asked) == before
        assert answers(learn(other, then), asked) == expected
    clone = model.clone()
    assert answers(learn(clone, then), asked) == answers(learn(make(case), then), asked)


@pytest.mark.parametrize("name", CLASSES)
def test_without_a_seed(name: str) -> None:
    """Without a seed a model draws one, once: its copies go on as it does."""
    case = (name, 0)
    first, then, asked = split_stream(case)
    model = learn(make(case, seed=None), first)
    other = copy.deepcopy(model)
    assert model.seed is None
    assert answers(learn(model, then), asked) == answers(learn(other, then), asked)


def digest_of_all_answers() -> str:
    """Return a digest of what every estimator says after learning."""
    digest = hashlib.sha256()
    for case in CASES:
        first, _, asked = split_stream(case)
        digest.update(repr((case, answers(learn(make(case), first), asked))).encode())
    return digest.hexdigest()


@pytest.mark.slow
def test_hash_seed() -> None:
    """Another interpreter, whatever the seed of its string hashes, comes to the same answers."""
    run = subprocess.run(
        [sys.executable, "-c", f"import {__name__} as tests; print(tests.digest_of_all_answers())"],
        env={**os.environ, "PYTHONHASHSEED": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == digest_of_all_answers()
