"""The nominal columns of a learner that was trained without `ColumnKinds`."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from .kinds import NOMINAL, NUMBER
from .texts import name_of_text

__all__ = ["as_learned", "kinds_learned", "names_learned"]

Names = Mapping[Hashable, Mapping[str, str]]


def names_learned(learner: Any) -> Names:
    """Return the columns that a learner knows as nominal alone, with the values it remembers.

    The values stand by the texts that `ColumnKinds` reads in their place: ``1.5`` for ``1.50``.

    Examples
    --------
    >>> import river_extra_trees as ret
    >>> from river_extra_trees._estimator.learned_names import names_learned
    >>> model = ret.ExtraTreesClassifier(seed=1)
    >>> model.learn_one({"zip": "10115", "size": 2.5}, True)
    >>> names_learned(model)
    {'zip': {'10115': '10115'}}
    """
    schema = learner._schema
    pairs = [(name, schema.codes[column]) for column, name in schema.features()]
    numeric = {name for name, codes in pairs if codes is None}
    found: dict[Hashable, dict[str, str]] = {}
    for name, codes in pairs:
        values = [] if codes is None else list(codes.values())
        if codes is not None and name not in numeric and all(type(each) is str for each in values):
            texts = {name_of_text(each): each for each in reversed(values)}
            found[name] = texts | {each: each for each in values}
    return found


def kinds_learned(learner: Any) -> dict[Hashable, str]:
    """Return the kinds by which a table has to be read for a learner; none if a column has two."""
    names = [name for _, name in learner._schema.features()]
    if len(set(names)) < len(names):
        return {}
    nominal = names_learned(learner)
    return {name: NOMINAL if name in nominal else NUMBER for name in names}


def as_learned(frame: Any, names: Names) -> Any:
    """Return a table of pyarrow with the values that the learner knows, in place of their texts."""
    import pyarrow

    for name, values in names.items():
        if name in frame.column_names and any(text != each for text, each in values.items()):
            column = [values.get(each, each) for each in frame.column(name).to_pylist()]
            i = frame.column_names.index(name)
            frame = frame.set_column(i, name, pyarrow.array(column, pyarrow.string()))
    return frame
