"""Docstrings say what there is."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

import river_extra_trees as ret
from river_extra_trees import active, distributed, evaluate, keyed, persistence, plotting, streams

MODULES = [ret, active, distributed, evaluate, keyed, persistence, plotting, streams]
SECTION = re.compile(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-+\n|\Z)", re.DOTALL | re.MULTILINE)


def public(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """The classes and functions of a module, and the methods of its classes."""
    for name in module.__all__:
        thing = getattr(module, name)
        if callable(thing):
            yield name, thing
        for part in dir(thing) if inspect.isclass(thing) else ():
            method = getattr(thing, part)
            if not part.startswith("_") and inspect.isroutine(method):
                yield f"{name}.{part}", method


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_all_parameters_are_described(module: ModuleType) -> None:
    """The section on parameters names those of the signature, in their order."""
    n_sections = 0
    for name, thing in public(module):
        section = SECTION.search(inspect.getdoc(thing) or "")
        if section is None or not getattr(thing, "__module__", "").startswith("river_extra_trees"):
            continue
        n_sections += 1
        lines = re.findall(r"^\w[\w, *]*$", section.group(1), re.MULTILINE)
        described = [each.strip("*") for line in lines for each in line.split(", ")]
        names = [each for each in inspect.signature(thing).parameters if each != "self"]
        assert described == names, name
    assert n_sections > 0
