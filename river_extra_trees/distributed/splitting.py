"""Splitting a model into parts for several processes, and merging the parts of a forest."""

from __future__ import annotations

import typing
from collections.abc import Sequence

from ..dynamic_tree import DynamicTreeClassifier, DynamicTreeRegressor
from ..extra_trees import ExtraTreesClassifier, ExtraTreesRegressor
from ..forgetful_forest import ForgetfulRandomForestClassifier, ForgetfulRandomForestRegressor
from ..stream_forest import StreamDecisionForestClassifier, StreamDecisionForestRegressor
from .forests import ForestPart, ForgetfulForestPart, StreamForestPart, merge_forests
from .independent_filters import FilterPart
from .memories import MemoryForestPart
from .parts import Part

__all__ = ["coordinator", "is_splittable", "merge", "split"]

PARTS: dict[type, type[Part]] = {
    DynamicTreeClassifier: FilterPart,
    DynamicTreeRegressor: FilterPart,
    ExtraTreesClassifier: MemoryForestPart,
    ExtraTreesRegressor: MemoryForestPart,
    ForgetfulRandomForestClassifier: ForgetfulForestPart,
    ForgetfulRandomForestRegressor: ForgetfulForestPart,
    StreamDecisionForestClassifier: StreamForestPart,
    StreamDecisionForestRegressor: StreamForestPart,
}


def is_splittable(model: object) -> bool:
    """Whether `split` takes a model.

    Parameters
    ----------
    model
        Anything.
    """
    return isinstance(model, tuple(PARTS))


def part_of(model: object) -> type[Part]:
    """Class of the parts of a model."""
    for kind, part in PARTS.items():
        if isinstance(model, kind):
            return part
    raise TypeError(
        "only stream decision forests, forgetful random forests and dynamic trees can be split, "
        f"not {type(model).__name__!r}"
    )


def split(model: typing.Any, n: int) -> list[typing.Any]:
    """Split a model into parts for n processes. The model is not changed.

    Each part of a **forest** has some of its trees; `merge` makes one forest of the parts. They
    learn and predict the same, bit for bit, as the forest, if they exchange one message per batch
    (see `learn_together`), or with `swap_rule="rotation"` one per block of samples.

    The parts of **dynamic trees** are independent particle filters that start as copies of the
    model. Each has all `n_particles` and learns every sample with its own random numbers; the first
    one continues like the model. Particles compete by resampling at every step, so that one filter
    cannot be distributed over processes. The predictions of the filters are averaged by dynamic
    model averaging[^1]: the weight of a filter is the likelihood of about its last hundred
    predictions. So more processes give more particles, not less time.

    Parameters
    ----------
    model
        A stream decision forest, a forgetful random forest, or dynamic trees.
    n
        Number of parts; for a forest at most the number of its trees.

    Returns
    -------
    The parts.

    Raises
    ------
    TypeError
        If the model is of another kind.
    ValueError
        If n is not a positive integer, or if there are fewer trees than parts.

    References
    ----------
    [^1]: Raftery, A.E., Karny, M. and Ettler, P., 2010. Online Prediction Under Model
        Uncertainty via Dynamic Model Averaging. Technometrics, 52(1), pp. 52-66.

    Examples
    --------
    >>> import river_extra_trees as ret
    >>> from river_extra_trees.distributed import split

    >>> forest = ret.ForgetfulRandomForestRegressor(n_models=10, seed=42)
    >>> [part.n_trees for part in split(forest, 3)]
    [3, 3, 4]
    """
    return list(part_of(model).split(model, n))


def coordinator(model: typing.Any) -> Part:
    """Make a small part that validates samples and combines the votes of the other parts.

    It learns every sample, as the other parts do, but has no trees (or one particle).

    Parameters
    ----------
    model
        A model, as for `split`.

    Returns
    -------
    The part.
    """
    return part_of(model).coordinator(model)


def merge(parts: Sequence[Part]) -> typing.Any:
    """Merge the parts of a forest into one forest. The parts are not changed.

    The forest predicts and continues learning the same, bit for bit, as if it had not been split.

    Parameters
    ----------
    parts
        All parts of a forest, in any order.

    Returns
    -------
    The forest.

    Raises
    ------
    ValueError
        If they are not all parts of one forest, or if they have not learned the same samples.
    TypeError
        If they are not parts of a forest.
    """
    forests = [part for part in parts if isinstance(part, ForestPart)]
    if len(forests) < len(parts):
        raise TypeError("only the parts of a forest can be merged; filters stay apart")
    return merge_forests(forests)
