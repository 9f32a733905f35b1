"""The groups of tests name tests that exist, so that none is lost when a test gets another name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools.scheduling import GROUPS, group_of

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("group", GROUPS)
def test_names_of_a_group(group: str) -> None:
    """Each is a file, or a test function in a file."""
    for name in GROUPS[group]:
        path, _, function = name.partition("::")
        text = (ROOT / path).read_text(encoding="utf-8")
        assert f"def {function.partition('[')[0]}" in text, name
        assert group_of(name) == group


def test_tests_that_start_ray_are_in_its_group() -> None:
    """There is one Ray for all of them."""
    for path in {*(ROOT / "tests").rglob("test_*.py")} - {Path(__file__)}:
        text = path.read_text(encoding="utf-8")
        if "(ray: Any" in text or "cluster: Any" in text or 'getfixturevalue("ray")' in text:
            name = path.relative_to(ROOT).as_posix()
            assert any(each.startswith(name) for each in GROUPS["ray"]), name
