"""Descriptions of models that are the same in every process."""

from __future__ import annotations

import numbers
import typing

__all__ = ["description"]


def description(model: typing.Any) -> str:
    """Describe the type and the parameters of a model, with the same text in every process.

    Parameters
    ----------
    model
        Any river estimator.

    Examples
    --------
    >>> from river import preprocessing
    >>> from river_extra_trees.keyed.description import description
    >>> description(preprocessing.MinMaxScaler() | preprocessing.Normalizer(order=1))
    'Pipeline {MinMaxScaler: {window_size: None}, Normalizer: {order: 1}}'
    """
    return described((type(model), model._get_params()))


def described(value: typing.Any) -> str:
    """Describe a parameter; by its type alone if its `repr` may differ between processes."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {described(each)}" for name, each in value.items()) + "}"
    if isinstance(value, tuple | list):
        return " ".join(map(described, value))
    if isinstance(value, type):
        return value.__name__
    is_plain = value is None or isinstance(value, numbers.Number | str | bytes)
    return repr(value) if is_plain else type(value).__name__
