"""Docstrings say what there is."""

from __future__ import annotations

import inspect
import re

import pytest

import river_extra_trees as ret
from river_extra_trees import distributed, keyed


@pytest.mark.parametrize("module", [ret, distributed, keyed], ids=lambda module: module.__name__)
def test_all_parameters_are_described(module: object) -> None:
    """The section on parameters names those of the signature, in their order."""
    for name in module.__all__:  # type: ignore[attr-defined]
        thing = getattr(module, name)
        section = re.search(
            r"\nParameters\n-+\n(.*?)(?=\n\S[^\n]*\n-+\n|\Z)",
            inspect.getdoc(thing) or "",
            re.DOTALL,
        )
        if section is None:
            continue
        described = re.findall(r"^(\w+)$", section.group(1), re.MULTILINE)
        assert described == list(inspect.signature(thing).parameters), name
