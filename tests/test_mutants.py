"""The faults of tools/mutants.toml can be planted, and the tests that notice them exist."""

import runpy
import tomllib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
MUTANTS = tomllib.loads((ROOT / "tools" / "mutants.toml").read_text(encoding="utf-8"))


def test_texts_occur_once() -> None:
    """What a mutant replaces is at one place in the package; no two have the same name."""
    tool = runpy.run_path(str(ROOT / "tools" / "mutants.py"))
    texts = {path: path.read_text(encoding="utf-8") for path in tool["sources"](ROOT)}
    places = {each["name"]: tool["place_of"](each, texts) for each in MUTANTS["mutant"]}
    assert {name: why for name, (place, why) in places.items() if place is None} == {}
    names = Counter(each["name"] for each in MUTANTS["mutant"])
    assert [name for name, n in names.items() if n > 1] == []


def test_tests_exist() -> None:
    """Each mutant names test files, or a family that does."""
    for each in MUTANTS["mutant"]:
        for name in each.get("tests") or MUTANTS["tests"][each["family"]]:
            assert list((ROOT / "tests").rglob(name)), each["name"]
