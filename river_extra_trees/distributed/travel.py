"""Checks that samples can be sent to another process, made before they are learned."""

from __future__ import annotations

import pickle
import typing
from collections.abc import Hashable, Iterable, Mapping

from river_extra_trees._core.safe_repr import safe_repr

from ..keyed import KeyedBlock

__all__ = ["check_block_travels", "check_sample_travels", "check_travels"]

PLAIN = frozenset([bool, bytes, float, int, str, type(None)])  # types that can always be pickled


def check_travels(what: str, values: Iterable[typing.Any]) -> None:
    """Raise a TypeError unless all values can be pickled.

    Parameters
    ----------
    what
        Description of the values, for the error message.
    values
        The values.
    """
    for value in values:
        if type(value) in PLAIN:
            continue
        try:
            pickle.dumps(value, protocol=5)
        except Exception as error:  # `__reduce__` can raise anything
            raise TypeError(
                f"{what} {safe_repr(value)} cannot be sent to a worker, because it cannot be "
                f"pickled: {type(error).__name__}: {error}"
            ) from None


def check_sample_travels(x: Mapping[Hashable, typing.Any], y: typing.Any, w: typing.Any) -> None:
    """Raise a TypeError that names the first value of a sample that cannot be pickled.

    Parameters
    ----------
    x
        Features.
    y
        The target.
    w
        The weight.
    """
    for name, value in x.items():
        if type(value) not in PLAIN:
            check_travels(f"the value of feature {safe_repr(name)}", [value])
    check_travels("the name of a feature", x)
    check_travels("the target", [y])
    check_travels("the weight", [w])


def check_block_travels(block: KeyedBlock) -> None:
    """Raise a TypeError that names the first value of a block that cannot be pickled.

    Parameters
    ----------
    block
        Samples with their keys.
    """
    if block.table is None:
        targets, weights = block.targets or [None] * len(block), block.weights or [1.0] * len(block)
        for sample in zip(block.rows or [], targets, weights, strict=True):
            check_sample_travels(*sample)
        return
    for column in block.table.columns:
        check_travels(f"the value of feature {safe_repr(column.name)}", column.values)
    check_travels("the name of a feature", [column.name for column in block.table.columns])
    if block.table.targets is not None:
        check_travels("the target", block.table.targets.values)
