"""Which tests a quick run takes, which go to one worker, and in which order workers take them."""

from collections import Counter
from typing import Any

import pytest
from xdist.scheduler import LoadGroupScheduling

# Tests that share what takes long to make, by the beginnings of their names. The mark `xdist_group`
# does not do: with pytest 9.2, pytest-xdist 3.8 ignores it without a word.
GROUPS = {
    "ray": (
        "tests/distributed/test_ray.py",
        "tests/distributed/test_serving.py",
        "tests/test_examples.py::test_script_on_ray",
    ),
    "docs": ("tests/test_docs.py",),
    "build": ("tests/test_build.py",),
    "statistical goldens": ("tests/core/dynamic/test_statistical_goldens.py",),
}


ONE_IN = 3  # of the cases of a test in a quick run


def quick_ones(items: list[pytest.Item]) -> list[pytest.Item]:
    """No slow test, and some of the cases of each other one, the first of them included."""
    met: Counter[str] = Counter()
    found = []
    for item in items:
        if item.get_closest_marker("slow") is None:
            name = item.nodeid.partition("[")[0]
            if met[name] % ONE_IN == 0:
                found.append(item)
            met[name] += 1
    return found


def group_of(name: str) -> str:
    """The group of a test; most functions, with all their parameters, are a group of their own."""
    for group, beginnings in GROUPS.items():
        if name.startswith(beginnings):
            return group
    return name.partition("[")[0]


class ByGroup(LoadGroupScheduling):
    """A worker gets a whole group at a time, in the order of collection.

    One message for each of thousands of tests takes longer than most of these tests.
    """

    def __init__(self, config: pytest.Config, log: Any = None) -> None:
        config.option.loadscopereorder = False
        super().__init__(config, log)

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)


def put_long_tests_first(items: list[pytest.Item]) -> None:
    """So that at the end no worker waits for another one; those that wait for Ray come first."""
    items.sort(key=place)


def place(item: pytest.Item) -> int:
    group = group_of(item.nodeid)
    if group in GROUPS:
        return list(GROUPS).index(group)
    return len(GROUPS) if item.get_closest_marker("slow") else len(GROUPS) + 1
