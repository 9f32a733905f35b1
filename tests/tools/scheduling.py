"""In which order, and by which worker, the tests run: the long ones first, few messages."""

from __future__ import annotations

from typing import Any

import pytest
from xdist.scheduler import LoadGroupScheduling


class ByFunction(LoadGroupScheduling):
    """A worker gets all parameters of a test function, or a group, in the order of collection.

    One message for each of thousands of tests takes longer than most of these tests.
    """

    def __init__(self, config: pytest.Config, log: Any = None) -> None:
        config.option.loadscopereorder = False
        super().__init__(config, log)

    def _split_scope(self, nodeid: str) -> str:
        return super()._split_scope(nodeid).partition("[")[0]


def put_long_tests_first(items: list[pytest.Item]) -> None:
    """So that at the end no worker waits for another one; those that wait for Ray come first."""
    items.sort(key=place)


def place(item: pytest.Item) -> int:
    groups = [mark.args[0] for mark in item.iter_markers("xdist_group")]
    if groups:
        return 0 if "ray" in groups else 1
    return 2 if item.get_closest_marker("slow") else 3
