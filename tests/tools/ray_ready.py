"""What a test needs that starts Ray on this machine."""

from __future__ import annotations

import contextlib
import importlib.util
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest

ATTEMPTS = 6


def prepare_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip where Ray is not installed; elsewhere let it take its time on a busy machine."""
    if importlib.util.find_spec("ray") is None:
        pytest.skip("the extra `ray` is not installed")
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")  # else it asks to decide on that
    monkeypatch.setenv("RAY_gcs_server_port_wait_time_s", "300")  # in place of 30
    monkeypatch.setenv("RAY_raylet_start_wait_time_s", "60")
    monkeypatch.setenv("RAY_worker_niceness", "0")  # else whatever runs beside it comes first


def started(start: Callable[[], Any]) -> Any:
    """Call what starts Ray, again if it was too slow, and return the result.

    However long it is told to wait, one of Ray's processes ends if another one, which it begins,
    takes more than 15 seconds to answer, as it does on a busy machine.
    """
    for _ in range(ATTEMPTS - 1):
        try:
            return start()
        except Exception as error:
            if "startup" not in str(error):
                raise
    return start()


@contextlib.contextmanager
def running_ray() -> Iterator[tuple[Any, Any]]:
    """Ray on this machine: the module, connected, and the cluster, to which nodes can be added."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        prepare_ray(monkeypatch)
        import ray
        from ray.cluster_utils import Cluster

        node = {"num_cpus": 4, "include_dashboard": False}
        cluster = started(lambda: Cluster(initialize_head=True, head_node_args=node))
        ray.init(cluster.address, log_to_driver=False)
        yield ray, cluster
        ray.shutdown()
        cluster.shutdown()


def free_port() -> int:
    """A port on loopback that is free now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
