"""Learners with few columns or labels, so that new ones take the places of others."""

from typing import Any

from river_extra_trees._core.schema import Labels, Schema


def crowded(model: Any, n_columns: int | None = None, n_labels: int | None = None) -> Any:
    """A new model like this one with so many columns and labels."""
    model = model.clone()
    if hasattr(model, "max_columns") and n_columns is not None:
        model, n_columns = model.clone({"max_columns": n_columns}), None
    core = model._core
    parts = {
        **({} if n_columns is None else {"schema": Schema(n_columns)}),
        **({} if n_labels is None else {"labels": Labels(n_labels)}),
    }
    model._core = type(core).restored({**core.state(), **parts})
    return model
