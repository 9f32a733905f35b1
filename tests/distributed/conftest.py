"""The port of Ray Serve."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.tools.ray_ready import free_port


@pytest.fixture(scope="session")
def port(ray: Any) -> Iterator[int]:
    """All servers of one Ray have the same port."""
    serve = pytest.importorskip("ray.serve", reason="ray[serve] is not installed")
    yield free_port()
    serve.shutdown()
