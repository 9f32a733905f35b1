"""Damaged model files, by accident and on purpose, and what loading them may do.

A damaged file either raises `ModelFileError` or, where the damage was signed with a new hash, is a
sound model: its `check()` passes, it answers, and it goes on learning.

    python -m tests.tools.damage --every-bit  # of small files, signed anew
    python -m tests.tools.damage --random 100000  # random damage to large files
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import math
import pickle
import random
import re
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

from river import base

from river_extra_trees import persistence
from tests.tools.estimators import CLASSES, PARAMETERS, learn, make, stream

HASH = re.compile(rb'sha256\\":\\"(.{64})', re.DOTALL)
SMALL = {
    "DynamicTreeClassifier": {"n_particles": 4, "window": 8, "seed": 1},
    "DynamicTreeRegressor": {"n_particles": 4, "window": 8, "seed": 1},
    "ForgetfulRandomForestClassifier": {"n_models": 2, "batch_size": 8, "seed": 1},
    "ForgetfulDecisionTreeRegressor": {"batch_size": 8, "seed": 1},
    "ShrubEnsembleClassifier": {"n_models": 3, "window_size": 8, "seed": 1},
    "ShrubEnsembleRegressor": {"n_models": 3, "window_size": 8, "seed": 1},
    "ExtraTreesClassifier": {"n_models": 3, "batch_size": 4, "window_sizes": (9, 30), "seed": 1},
    "ExtraTreesRegressor": {"n_models": 6, "batch_size": 4, "window_sizes": (9, 30), "seed": 1},
    "StreamDecisionForestClassifier": {"n_models": 2, "batch_size": 8, "seed": 1},
    "StreamDecisionTreeClassifier": {"batch_size": 8, "seed": 1},
}


def small_file(name: str, n: int = 19) -> bytes:
    """The file of a small model that is in the middle of its stream."""
    return persistence.save_bytes(learn(small(name), stream((name, 0), n)))


def small(name: str) -> Any:
    """A small model."""
    return CLASSES[name](**SMALL[name])


def truncations(content: bytes) -> Iterator[bytes]:
    return (content[:n] for n in range(len(content)))


def flips(content: bytes, first: int = 0, step: int = 1) -> Iterator[bytes]:
    """Every step-th single-bit flip."""
    for bit in range(8 * first, 8 * len(content), step):
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << bit % 8
        yield bytes(damaged)


def signed(content: bytes) -> bytes:
    """The file with the hash that it should have."""
    place = HASH.search(content)
    if place is None:
        return content
    start, end = place.span(1)
    digest = hashlib.sha256(content[:start] + b"0" * 64 + content[end:]).hexdigest()
    return content[:start] + digest.encode() + content[end:]


def length_of_header(content: bytes) -> int:
    """The length of the description, with what is before it."""
    return 8 + int.from_bytes(content[:8], "little")


def scrambled(content: bytes, rng: random.Random) -> bytes:
    """A few bytes replaced, repeated, swapped or left out; length and hash put right."""
    length = length_of_header(content)
    text, block = bytearray(content[8:length]), bytearray(content[length:])
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        part = text if rng.random() < 0.5 else block
        i = rng.randrange(len(part))
        width = rng.choice((1, 1, 1, 4, 8))
        way = rng.randrange(4)
        if way == 0:
            part[i : i + width] = rng.randbytes(len(part[i : i + width]))
        elif way == 1:
            j = rng.randrange(len(part))
            part[i : i + width] = part[j : j + width].ljust(len(part[i : i + width]), b"0")
        elif way == 2:
            part[i : i + width] = rng.choice((b"\xff", b"\0", b"\x7f")) * len(part[i : i + width])
        elif part is text:
            part[i : i + 1] = rng.choice((b"", b"0", b"1", b"9", b"-", b"f", b"[", b'"'))
    return signed(len(text).to_bytes(8, "little") + bytes(text) + bytes(block))


def outcome(content: bytes) -> str:
    """Load a file, and use its model as anybody would; raise what should never be raised."""
    try:
        model = persistence.load_bytes(content)
    except persistence.ModelFileError:
        return "refused"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        use(model)
    return "sound"


def use(model: Any) -> None:
    """Save a model, copy it, look at it, ask it, let it learn, save it again."""
    name = type(model).__name__
    look_at(model)
    for x, y in stream((name, 0), 20, seed=3):
        if isinstance(model, base.Classifier):
            shares = model.predict_proba_one(x).values()
            assert all(-1e-9 <= share <= 1.0 + 1e-9 for share in shares)
            model.predict_one(x)
        else:
            assert math.isfinite(model.predict_one(x))
        model.learn_one(x, y)
    model._state()["core"].check()
    persistence.save_bytes(model)
    assert len(model.to_text()) > 0


def look_at(model: Any) -> None:
    """Call everything that changes nothing. A copy is as good as the model: it can be copied."""
    model._state()["core"].check()
    persistence.save_bytes(model)
    copy.deepcopy(pickle.loads(pickle.dumps(model)))
    x = next(stream((type(model).__name__, 0), 1, seed=5))[0]
    model.snapshot().predict_one(x)
    model.debug_one(x)
    model.to_dataframe()
    model._repr_html_()
    assert len(model.to_text()) > 0
    shares = model.feature_importances_.values()
    assert not shares or math.isclose(sum(shares), 1.0)
    if not hasattr(model, "acquisition_one"):
        return
    model.relevance()
    model.split_shares()
    model.active_samples()
    if isinstance(model, base.Classifier):
        model.acquisition_one(x)
    else:
        for criterion in ("alc", "alm", "ei"):
            model.acquisition_one(x, criterion)
        repr(model.predict_one(x, with_dist=True))


def large_files(n: int) -> list[bytes]:
    """A file of each estimator with each of its parameters, after n samples."""
    return [
        persistence.save_bytes(learn(make((name, i)), stream((name, i), n)))
        for name in CLASSES
        for i in range(len(PARAMETERS[name]))
    ]


def main() -> None:
    """Damage files and count what comes of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--every-bit", action="store_true", help="of a small file of each family")
    parser.add_argument("--random", type=int, default=0, help="how many, besides")
    parser.add_argument("--samples", type=int, default=400, help="learned by the large models")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    for name in SMALL if arguments.every_bit else ():
        content = small_file(name)
        counts = Counter(outcome(signed(damaged)) for damaged in flips(content))
        print(f"{name}, {len(content)} bytes, every bit, signed anew: {dict(counts)}", flush=True)
    if arguments.random:
        rng = random.Random(arguments.seed)
        files = large_files(arguments.samples)
        counts = Counter()
        for i in range(arguments.random):
            content = scrambled(rng.choice(files), rng)
            try:
                counts[outcome(content)] += 1
            except BaseException:
                print(f"damage {i} of seed {arguments.seed} is neither refused nor harmless")
                raise
            if (i + 1) % 5_000 == 0 or i + 1 == arguments.random:
                print(f"{i + 1} random damages: {dict(counts)}", flush=True)


if __name__ == "__main__":
    main()
