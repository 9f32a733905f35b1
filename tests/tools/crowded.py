"""Learners with few columns, so that new features take the places of others."""

from typing import Any

from river_extra_trees._core.schema import Schema


def crowded(model: Any, n_columns: int) -> Any:
    """A new model like this one with so many columns."""
    if hasattr(model, "max_columns"):
        return model.clone({"max_columns": n_columns})
    model = model.clone()
    core = model._core
    model._core = type(core).restored({**core.state(), "schema": Schema(n_columns)})
    return model
