"""Ray Serve: its port, and one server for all tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import river_extra_trees as ret
from river_extra_trees.distributed import SnapshotServer
from tests.tools.ray_ready import free_port


@pytest.fixture(scope="session")
def port(ray: Any) -> Iterator[int]:
    """All servers of one Ray have the same port."""
    serve = pytest.importorskip("ray.serve", reason="ray[serve] is not installed")
    yield free_port()
    serve.shutdown()


@pytest.fixture(scope="session")
def server(port: int) -> Iterator[SnapshotServer]:
    """A server of two replicas, to which each test publishes its own snapshots."""
    snapshot = ret.ExtraTreesClassifier(seed=1).snapshot()
    with SnapshotServer(snapshot, port=port, queue=2, name="bank", route="/bank") as server:
        yield server
