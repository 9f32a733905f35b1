"""Explanations of the predictions of a core object; see `river_extra_trees.explanation`."""

from __future__ import annotations

import typing
from collections.abc import Hashable, Iterable, Mapping

import numpy as np

from river_extra_trees.explanation import Explanation

from .parameters import check_choice
from .rows import is_missing

if typing.TYPE_CHECKING:
    from river_extra_trees._core.learner import Learner
    from river_extra_trees._core.team import Team

__all__ = ["explain_row", "explain_rows"]

METHODS = ("shapley", "path")


def explain_row(
    core: Learner, team: Team, x: Mapping[Hashable, typing.Any], label: typing.Any, method: str
) -> Explanation:
    """Explain the prediction for a sample, with some threads; `label` is None in a regression."""
    check_choice("method", method, *METHODS)
    label, base, parts = core.explain(x, label, method == "shapley", team)
    features = [each for each in core.schema.features() if each[0] < len(parts)]
    # A feature with numbers and other values has two columns.
    places = {name: place for place, name in enumerate(dict.fromkeys(n for _, n in features))}
    values = np.zeros(len(places))
    for column, name in features:
        values[places[name]] += parts[column]
    data = np.empty(len(places), dtype=object)
    for name, place in places.items():
        value = x.get(name)
        data[place] = None if is_missing(value) else value
    return Explanation(base, values, data, tuple(places), label, method)


def explain_rows(
    core: Learner,
    team: Team,
    rows: Iterable[Mapping[Hashable, typing.Any]],
    label: typing.Any,
    method: str,
) -> Explanation:
    """Explain the prediction for each of some samples."""
    shape = explain_row(core, team, {}, label, method)  # raises for an invalid label or method
    found = [explain_row(core, team, x, label, method) for x in rows]
    n, d = len(found), len(shape.feature_names)
    return Explanation(
        np.array([each.base_value for each in found], dtype=np.float64),
        np.array([each.values for each in found], dtype=np.float64).reshape(n, d),
        np.array([each.data for each in found], dtype=object).reshape(n, d),
        shape.feature_names,
        None if core.regression else [each.label for each in found],
        method,
    )
