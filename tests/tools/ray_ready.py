"""What a test needs that starts Ray on this machine."""

import contextlib
import importlib.util
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import pytest

ATTEMPTS = 6


def prepare_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip where Ray is not installed; elsewhere let it take its time on a busy machine."""
    if importlib.util.find_spec("ray") is None:
        pytest.skip("the extra `ray` is not installed")
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
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


# This begins Ray as the package does if the user has not called `ray.init`. It ends with its input.
OURS = """
import sys
from river_extra_trees.distributed.keyed import connected

print(connected().get_runtime_context().gcs_address, flush=True)
sys.stdin.read()
"""


def begun() -> tuple[subprocess.Popen[str], str]:
    """Begin Ray in a process; return the process and the address of Ray, or raise its error."""
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            [sys.executable, "-c", OURS],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        if not address:
            process.wait()
            errors.seek(0)
            raise RuntimeError(errors.read())
    return process, address


@contextlib.contextmanager
def running_ray() -> Iterator[tuple[Any, int]]:
    """Ray on this machine: the module, connected, and the process that began it."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        prepare_ray(monkeypatch)
        process, address = started(begun)
        monkeypatch.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
        import ray

        ray.init(address, log_to_driver=False, _node_ip_address="127.0.0.1")
        yield ray, process.pid
        ray.shutdown()
        process.communicate(timeout=60)
