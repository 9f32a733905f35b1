"""Docstrings describe every parameter."""

import inspect
import re
from pathlib import Path
from typing import Any

import griffe
import pytest

import river_extra_trees
from river_extra_trees import distributed, evaluate, keyed, persistence, plotting

ROOT = Path(__file__).parents[1]
MODULES = [river_extra_trees, distributed, evaluate, keyed, persistence, plotting]


def is_error(thing: Any) -> bool:
    return inspect.isclass(thing) and issubclass(thing, Exception)


PUBLIC = sorted(
    {
        (f"{module.__name__}.{name}", thing)
        for module in MODULES
        for name in module.__all__
        if callable(thing := getattr(module, name)) and not is_error(thing)
    },
    key=lambda each: each[0],
)


def described(docstring: str) -> list[str]:
    """Return the names in the section of parameters, or of the attributes of a tuple."""
    found = re.search(
        r"^(?:Parameters|Attributes)\n-+\n(.*?)(?:^\w[\w ]*\n-+$|\Z)", docstring, re.M | re.S
    )
    lines = (
        re.findall(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: : .*)?$", found[1], re.M) if found else []
    )
    return [name.strip("* ") for line in lines for name in line.split(",")]


@pytest.mark.parametrize(("name", "thing"), PUBLIC, ids=[name for name, _ in PUBLIC])
def test_every_parameter_is_described(name: str, thing: Any) -> None:
    """The docstring describes the parameters of the signature, all of them, in their order."""
    assert described(inspect.getdoc(thing) or "") == list(inspect.signature(thing).parameters)


def test_pages_show_inherited_docstrings() -> None:
    """The pages of the API read sources, and leave out methods without a docstring."""
    extensions = griffe.load_extensions("griffe_inherited_docstrings")
    package: Any = griffe.load(
        "river_extra_trees", search_paths=[ROOT], extensions=extensions, resolve_aliases=True
    )
    for name in river_extra_trees.__all__:
        if name in ("Alarm", "Explanation"):
            continue
        method = package[name].final_target.all_members["learn_one"]
        assert method.docstring.value.startswith("Learn a sample."), name
    assert "extensions: [griffe_inherited_docstrings]" in (ROOT / "mkdocs.yml").read_text()
