"""Settings of the whole test suite."""

import gc
import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from xdist.plugin import pytest_xdist_auto_num_workers as usual_number_of_workers

from tests.tools.ray_ready import running_ray
from tests.tools.scheduling import ByGroup, put_long_tests_first, quick_ones

# Fuzzing needs atheris, which only `make fuzz` installs; there is no test in that folder.
collect_ignore = ["fuzz"]

# Pictures are drawn in memory, without a window, here and in every process the tests start.
os.environ["MPLBACKEND"] = "agg"

# A loaded machine must not fail a test, and a red test must stay red when it is run again.
settings.register_profile(
    "suite", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("suite")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Use a worker more than there are cores, because Ray and servers make tests wait."""
    return usual_number_of_workers(config) + 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByGroup | None:
    """Take our order in place of that of `--dist loadgroup`."""
    return ByGroup(config, log) if config.getvalue("dist") == "loadgroup" else None


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of `make test-quick`."""
    parser.addoption("--quick", action="store_true", help="no slow tests, few cases of others")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let workers begin with the long tests; a single process goes file by file."""
    if config.getoption("quick"):
        items[:] = quick_ones(items)
    if hasattr(config, "workerinput"):
        put_long_tests_first(items)


@pytest.fixture(scope="module", autouse=True)
def _short_garbage_collections() -> None:
    """Leave what a file finds out of garbage collections: with it, one takes 0.3 seconds."""
    gc.freeze()


@pytest.fixture(scope="session")
def begun_ray() -> Iterator[tuple[Any, int]]:
    """`ray`, connected, and the process that began it.

    `tools/scheduling.py` lists who uses it, so that there is one only.
    """
    with running_ray() as both:
        yield both


@pytest.fixture(scope="session")
def ray(begun_ray: tuple[Any, int]) -> Any:
    """The module `ray`, connected."""
    return begun_ray[0]
