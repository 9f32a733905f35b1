"""Conversion of constructor parameters to Python types, and checks that name the parameter."""

from __future__ import annotations

import functools
import inspect
import math
import numbers
import os
import random
import typing
from collections.abc import Callable

import numpy as np

from .._core.safe_repr import safe_repr

__all__ = [
    "LARGEST",
    "MaxFeatures",
    "check_choice",
    "check_jobs",
    "check_max_features",
    "check_number",
    "check_parameter",
    "check_published",
    "check_switch",
    "check_whole",
    "decay_factor",
    "draw_seed",
    "is_whole",
    "n_threads_of",
    "plain_parameters",
]

Parameters = typing.ParamSpec("Parameters")
MaxFeatures = int | float | str | None

LARGEST = 2**31 - 1  # the core counts in 32 bits
# Parameters that the published programs do not have, or the value that they do not have. With
# `published=True`, each keeps its default, and does not bound the model.
ABSENT: dict[str, dict[str, str | None]] = {
    "dynamic": {"discard": "alm"},
    "forgetful": dict.fromkeys(("warm_size", "max_depth", "max_retained", "max_columns")),
    "stream": dict.fromkeys(("max_nodes", "leaf_memory")),
}
NO_NUMBERS = (bool, np.timedelta64)  # types of `numbers` that are no valid parameters


def draw_seed(seed: int | None) -> int:
    """Convert a seed to 64 unsigned bits; None draws one from the operating system."""
    if seed is None:
        return random.SystemRandom().getrandbits(64)
    check_parameter(is_whole(seed), "seed", seed, "None or a whole number")
    return int(seed) % 2**64


def plain_parameters(begin: Callable[Parameters, None]) -> Callable[Parameters, None]:
    """Decorate `__init__`: convert numpy numbers, booleans and strings to Python types.

    Arithmetic with numpy numbers can wrap around, overflow or lose digits. Also, equal models must
    give equal files.
    """

    @functools.wraps(begin)
    def begin_plainly(*args: Parameters.args, **kwargs: Parameters.kwargs) -> None:
        begin(*map(plain, args), **{name: plain(value) for name, value in kwargs.items()})

    return begin_plainly


def plain(value: typing.Any) -> typing.Any:
    """Convert a number, boolean or string to the Python type; return other values unchanged."""
    if isinstance(value, np.bool_):
        return bool(value)
    if is_whole(value):
        return int(value)
    if is_number(value):
        return float(value)
    if isinstance(value, str):
        return str.__str__(value)  # str(value) would call `__str__` of a subclass
    return value


def is_whole(value: object) -> bool:
    """Return whether a parameter is an integer, but neither bool nor numpy.timedelta64."""
    return isinstance(value, numbers.Integral) and not isinstance(value, NO_NUMBERS)


def is_number(value: object) -> bool:
    """Return whether a parameter is a finite number, but neither bool nor numpy.timedelta64."""
    if not isinstance(value, numbers.Real) or isinstance(value, NO_NUMBERS):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def check_parameter(condition: bool, name: str, value: object, wanted: str) -> None:
    """Raise a ValueError that names the parameter unless the condition holds."""
    if not condition:
        raise ValueError(f"{name} must be {wanted}, not {safe_repr(value)}")


def check_whole(
    name: str, value: typing.Any, least: int, most: int = LARGEST, optional: bool = False
) -> None:
    """Raise a ValueError that names the parameter unless it is a whole number of an interval."""
    wanted = f"a whole number from {least} to {most}"
    check_parameter(
        (optional and value is None) or (is_whole(value) and least <= value <= most),
        name,
        value,
        f"None or {wanted}" if optional else wanted,
    )


def check_number(
    name: str,
    value: typing.Any,
    least: float,
    most: float = math.inf,
    ends: str = "[]",
    words: tuple[str | None, ...] = (),
) -> None:
    """Raise a ValueError that names the parameter unless it is in an interval, or one of `words`.

    `ends` are the brackets of the interval: with `"[)"` it contains its lower end only.
    """
    above = is_number(value) and (least <= value if ends[0] == "[" else least < value)
    inside = above and (value <= most if ends[1] == "]" else value < most)
    interval = f"{ends[0]}{least:g}, {most:g}{')' if most == math.inf else ends[1]}"
    wanted = " or ".join([f"a number in {interval}", *map(repr, words)])
    check_parameter(inside or is_one_of(value, words), name, value, wanted)


def check_jobs(n_jobs: typing.Any) -> None:
    """Raise a ValueError unless `n_jobs` is a number of threads, or -1 for all cores."""
    is_valid = is_whole(n_jobs) and (n_jobs == -1 or 1 <= n_jobs <= LARGEST)
    check_parameter(is_valid, "n_jobs", n_jobs, "-1 or a positive whole number")


def n_threads_of(n_jobs: int, n_tasks: int) -> int:
    """Return the number of threads for n tasks; -1 means one per core of this process."""
    if n_jobs == -1:
        may_use = getattr(os, "sched_getaffinity", None)  # not on macOS and Windows
        n_jobs = len(may_use(0)) if may_use else os.cpu_count() or 1
    return max(1, min(n_jobs, n_tasks))


def decay_factor(name: str, memory: float | None) -> float:
    """Return the factor by which weights decay per sample, for a memory in samples or None."""
    check_number(name, memory, 1, words=(None,))
    return 1.0 if memory is None else 1.0 - 1.0 / memory


def check_choice(name: str, value: typing.Any, *words: str) -> None:
    """Raise a ValueError that names the parameter unless it is one of `words`."""
    if not is_one_of(value, words):
        check_parameter(False, name, value, " or ".join(map(repr, words)))


def is_one_of(value: object, words: tuple[str | None, ...]) -> bool:
    """Return whether a parameter is one of `words`; `in` alone would fail for arrays."""
    return (value is None or isinstance(value, str)) and value in words


def check_switch(name: str, value: typing.Any) -> None:
    """Raise a ValueError that names the parameter unless it is a boolean."""
    check_parameter(isinstance(value, bool | np.bool_), name, value, "True or False")


def check_published(model: typing.Any, family: str) -> None:
    """Raise a ValueError unless `published` is a boolean that the other parameters agree with."""
    check_switch("published", model.published)
    parameters = inspect.signature(type(model)).parameters
    for name, absent in ABSENT[family].items() if model.published else ():
        default, value = parameters[name].default, getattr(model, name)
        check_parameter(
            value == default or (absent is not None and value != absent),
            name,
            value,
            f"{default!r}, its default, when published=True, because the published program has no "
            f"{name}{'' if absent is None else f'={absent!r}'}",
        )


def check_max_features(max_features: MaxFeatures) -> None:
    """Raise a ValueError unless `max_features` is valid."""
    wanted = f"a number of features up to {LARGEST} or a share of them in (0, 1]"
    fits = (
        is_one_of(max_features, (None, "sqrt", "log2"))
        or (is_whole(max_features) and 1 <= typing.cast(int, max_features) <= LARGEST)
        or (isinstance(max_features, float) and 0.0 < max_features <= 1.0)
    )
    check_parameter(fits, "max_features", max_features, f"None, 'sqrt', 'log2', {wanted}")
