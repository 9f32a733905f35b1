"""Damaged model files, by accident and on purpose, and what loading them may do.

A damaged file either raises `ModelFileError` or, where the damage was signed with a new hash, is a
sound model: its `check()` passes, it answers, and it goes on learning. Nasty files are what a
forger would try: in the description every value is replaced by each of `VALUES`, and by an array;
every array by others of its kind, of other kinds, and by itself with one nasty number.

    python -m tests.tools.damage --every-bit  # of small files, signed anew
    python -m tests.tools.damage --every-value  # nasty files of all small files
    python -m tests.tools.damage --random 100000  # random damage to large files
"""

import argparse
import copy
import hashlib
import itertools
import json
import math
import pickle
import random
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base

from river_extra_trees import persistence
from river_extra_trees.persistence import container, files
from tests.tools.estimators import CASES, CLASSES, learn, make, stream

HASH = re.compile(rb'sha256\\":\\"(.{64})', re.DOTALL)
SMALL = {
    "DynamicTreeClassifier": {"n_particles": 4, "window": 8, "seed": 1},
    "DynamicTreeRegressor": {"n_particles": 4, "window": 8, "seed": 1},
    "ForgetfulRandomForestClassifier": {"n_models": 2, "batch_size": 8, "seed": 1},
    "ForgetfulRandomForestRegressor": {"n_models": 2, "batch_size": 8, "seed": 1},
    "ForgetfulDecisionTreeClassifier": {"batch_size": 8, "seed": 1},
    "ForgetfulDecisionTreeRegressor": {"batch_size": 8, "seed": 1},
    "ShrubEnsembleClassifier": {"n_models": 3, "window_size": 8, "seed": 1},
    "ShrubEnsembleRegressor": {"n_models": 3, "window_size": 8, "seed": 1},
    "ExtraTreesClassifier": {"n_models": 3, "batch_size": 4, "window_sizes": (9, 30), "seed": 1},
    "ExtraTreesRegressor": {"n_models": 6, "batch_size": 4, "window_sizes": (9, 30), "seed": 1},
    "StreamDecisionForestClassifier": {"n_models": 2, "batch_size": 8, "seed": 1},
    "StreamDecisionForestRegressor": {"n_models": 2, "batch_size": 8, "seed": 1},
    "StreamDecisionTreeClassifier": {"batch_size": 8, "seed": 1},
    "StreamDecisionTreeRegressor": {"batch_size": 8, "seed": 1},
}
AGES = (19, 35)  # samples: before the leaves of the second batch grow, and after it
HUGE = hex(2**1600)  # larger than any float
VALUES: list[list[Any]] = [
    *(["none", None], ["bool", True], ["bool", False], ["str", ""], ["str", "\ud800"]),
    *(["int", code] for code in ("0x0", "-0x1", "0x1", "0x2", "0x14", "0x100000", "0x7fffffff")),
    *(["int", code] for code in ("0x80000000", "0xffffffffffffffff", HUGE, "-" + HUGE)),
    *(["int", hex(count)] for count in (2**61, 2**62 - 1, 2**62)),
    *(["float", code] for code in ("inf", "-inf", "nan", "-0x0.0p+0", "0x1p-1", "0x1p-1074")),
    *(["float", "0x1.fffffffffffffp+1023"], ["bytes", "00"], ["list", []], ["tuple", []]),
    *(["tuple", [["float", "nan"]]], ["dict", {}], ["array", "absent"], ["object", "window", {}]),
    *(["numpy", "int64", "int", "0x3"], ["numpy", "float32", "float", "nan"]),
    *(["numpy", "float64", "float", "0x1p-1"], ["numpy", "bool", "bool", True]),
]
ARRAYS = (np.array([1.0, 2.0]), np.array([], np.int32), np.array(3))
FLOATS = (np.inf, -np.inf, np.nan, 1.7e308, -1.7e308, 5e-324, -0.0, 0.5, -1.0, 1.0, 2.0**62)

File = tuple[Any, dict[str, NDArray[Any]]]  # the description and the arrays


def small_file(name: str, n: int = 19) -> bytes:
    """The file of a small model that is in the middle of its stream."""
    return persistence.save_bytes(learn(small(name), stream((name, 0), n)))


def small(name: str) -> Any:
    """A small model."""
    return CLASSES[name](**SMALL[name])


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


def opened(content: bytes) -> File:
    """The description and the arrays of a file."""
    return container.unpack(content, files.VERSION)


def closed(file: File) -> bytes:
    """The file of a description and arrays."""
    return container.pack(files.VERSION, *file)


def changed(content: bytes, change: Any) -> bytes:
    """A file whose description and arrays were changed by a function, signed anew."""
    file = opened(content)
    change(*file)
    return closed(file)


def places(document: Any) -> list[tuple[Any, Any, str]]:
    """Every place of a value: the list or dict that it is in, its key there, the whole path."""
    found = []
    values = [(document, "")]
    while values:
        (tag, *content), path = values.pop()
        inside = content[-1] if tag in ("list", "tuple", "dict", "object") else []
        for key in range(len(inside)) if isinstance(inside, list) else list(inside):
            found.append((inside, key, f"{path}/{key}"))
            values.append((inside[key], f"{path}/{key}"))
    return found


def with_value(content: bytes, end: str, value: Any) -> bytes:
    """A file with another value in the one place whose path ends like this, signed anew."""

    def change(document: Any, _: Any) -> None:
        [(inside, key)] = [each[:2] for each in places(document) if each[2].endswith(end)]
        inside[key] = value

    return changed(content, change)


def nasty(file: File) -> Iterator[tuple[str, File]]:
    """What is done, and the file with another value or array in one place until the next one."""
    document, arrays = file
    for inside, key, path in places(document):
        before = inside[key]
        for value in VALUES:
            inside[key] = value
            yield f"{path} = {json.dumps(value)[:40]}", file
        inside[key] = ["array", "more"]
        for more in ARRAYS:
            yield f"{path} = {more!r}", (document, {**arrays, "more": more})
        inside[key] = before
    for name, array in arrays.items():
        for other in others(array):
            yield f"{name}: {other.dtype}{other.shape}", (document, {**arrays, name: other})


def others(array: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """Arrays to put in the place of one."""
    yield from (array[:0], array[1:], array[::-1].copy(), array.reshape(-1), array[..., None])
    yield from (np.zeros_like(array), np.ones_like(array), np.concatenate([array, array]))
    with np.errstate(invalid="ignore"):  # what NaN becomes is as good as any other number
        cast = [array.astype(kind) for kind in (np.float32, np.int64, np.uint8)]
    yield from cast
    numbers: Any = FLOATS
    if array.dtype != np.float64:
        limits = np.iinfo(array.dtype)
        numbers = {limits.min, limits.min + 1, 0, 1, 2, 7, limits.max, -1 % (limits.max + 1)}
    for place in {0, array.size // 2, array.size - 1} if array.size else ():
        for number in numbers:
            other = array.copy()
            other.reshape(-1)[place] = number
            yield other


def use(model: Any) -> None:
    """Look at a model, copy it, ask it, let it learn, and save it again."""
    rows = list(stream((type(model).__name__, 0), 20, seed=3))
    x = rows[0][0]
    is_classifier = isinstance(model, base.Classifier)
    model._state()["core"].check()
    persistence.save_bytes(model)
    copy.deepcopy(pickle.loads(pickle.dumps(model)))  # a copy can be copied
    model.snapshot().predict_one(x)
    model.debug_one(x)
    model.to_dataframe()
    model._repr_html_()
    shares = model.feature_importances_.values()
    assert not shares or math.isclose(sum(shares), 1.0)
    if hasattr(model, "acquisition_one"):
        model.relevance()
        model.split_shares()
        model.active_samples()
        for criterion in () if is_classifier else ("alc", "alm", "ei"):
            model.acquisition_one(x, criterion)
        repr(model.acquisition_one(x) if is_classifier else model.predict_one(x, with_dist=True))
    for x, y in rows:
        if is_classifier:
            shares = model.predict_proba_one(x).values()
            assert all(-1e-9 <= share <= 1.0 + 1e-9 for share in shares)
            model.predict_one(x)
        else:
            assert math.isfinite(model.predict_one(x))
        model.learn_one(x, y)
    model._state()["core"].check()
    persistence.save_bytes(model)
    assert len(model.to_text()) > 0


def outcome(content: bytes, use: Callable[[Any], None] = use) -> str:
    """Load a file, and use its model as anybody would; raise what should never be raised."""
    try:
        model = persistence.load_bytes(content)
    except persistence.ModelFileError:
        return "refused"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        use(model)
    return "sound"


def nasty_outcomes(content: bytes, step: int = 1, use: Callable[[Any], None] = use) -> Counter[str]:
    """What became of each step-th nasty file made from one; raises what should not be raised."""
    counts: Counter[str] = Counter()
    for what, bad in itertools.islice(nasty(opened(content)), len(content) % step, None, step):
        try:
            counts[outcome(closed(bad), use)] += 1
        except Exception as error:
            raise AssertionError(what) from error
    return counts


def main() -> None:
    """Damage files and count what comes of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--every-bit", action="store_true", help="of a small file of each family")
    parser.add_argument("--every-value", action="store_true", help="of them, by nasty ones")
    parser.add_argument("--random", type=int, default=0, help="how many, of larger files")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    for name in SMALL if arguments.every_bit else ():
        content = small_file(name)
        counts = Counter(outcome(signed(damaged)) for damaged in flips(content))
        print(f"{name}, {len(content)} bytes, every bit, signed anew: {dict(counts)}", flush=True)
    for name in SMALL if arguments.every_value else ():
        for n in AGES:
            counts = nasty_outcomes(small_file(name, n))
            print(f"{name}, {n} samples, nasty values: {dict(counts)}", flush=True)
    if arguments.random:
        rng = random.Random(arguments.seed)
        large = [persistence.save_bytes(learn(make(case), stream(case, 400))) for case in CASES]
        counts = Counter()
        for i in range(arguments.random):
            content = scrambled(rng.choice(large), rng)
            try:
                counts[outcome(content)] += 1
            except BaseException:
                print(f"damage {i} of seed {arguments.seed} is neither refused nor harmless")
                raise
            if (i + 1) % 5_000 == 0 or i + 1 == arguments.random:
                print(f"{i + 1} random damages: {dict(counts)}", flush=True)


if __name__ == "__main__":
    main()
