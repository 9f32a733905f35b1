"""Model files of the right hash with a nasty value in every place: what a forger would try.

Of the description every value is replaced by each of `VALUES`, and every parameter by an array;
every array by others of its kind, of other kinds, and by itself with one nasty number. Each file is
refused with `ModelFileError`, or its model is sound (`damage.outcome`).

    python -m tests.tools.nasty  # small files of all families: all of it
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_extra_trees.persistence import container, files
from tests.tools import damage

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

Arrays = dict[str, NDArray[Any]]
File = tuple[Any, Arrays]
Place = tuple[Any, Any, str]  # the list or dict that a value is in, its key there, the whole path


def opened(content: bytes) -> File:
    """The description and the arrays of a file."""
    return container.unpack(content, range(1, 2))


def closed(file: File) -> bytes:
    """The file of a description and arrays."""
    return container.pack(files.VERSION, *file)


def places(document: Any) -> list[Place]:
    """Every place in which the description has a value."""
    found: list[Place] = []
    values = [(document, "")]
    while values:
        (tag, *content), path = values.pop()
        inside = content[-1] if tag in ("list", "tuple", "dict", "object") else []
        for key in range(len(inside)) if isinstance(inside, list) else list(inside):
            found.append((inside, key, f"{path}/{key}"))
            values.append((inside[key], f"{path}/{key}"))
    return found


def of_description(file: File) -> Iterator[tuple[str, File]]:
    """What is done, and the file with another value in one place until the next one."""
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


def of_arrays(file: File) -> Iterator[tuple[str, File]]:
    """What is done, and the file with another array in one place."""
    document, arrays = file
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
            changed = array.copy()
            changed.reshape(-1)[place] = number
            yield changed


def run(name: str, step: int = 1, first: int = 0) -> Counter[str]:
    """What became of each step-th nasty file of a small model; raises what should not be raised."""
    counts: Counter[str] = Counter()
    for n in (19, 35):  # before the leaves of the second batch grow, and after it
        file = opened(damage.small_file(name, n))
        for make in (of_description, of_arrays):
            for i, (what, nasty) in enumerate(make(file)):
                if i % step != first % step:
                    continue
                try:
                    counts[damage.outcome(closed(nasty))] += 1
                except Exception as error:
                    raise AssertionError(f"{name}, {n} samples, {i}: {what}") from error
    return counts


def main() -> None:
    """All of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--step", type=int, default=1, help="take each such file only")
    arguments = parser.parse_args()
    for name in damage.SMALL:
        print(f"{name}: {dict(run(name, arguments.step))}", flush=True)


if __name__ == "__main__":
    main()


def changed(content: bytes, change: Any) -> bytes:
    """A file whose document and arrays were changed by a function, signed anew."""
    file = opened(content)
    change(*file)
    return closed(file)
