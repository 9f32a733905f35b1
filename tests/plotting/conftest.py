"""What all tests of pictures share."""

from collections.abc import Iterator

import pytest
from matplotlib import pyplot


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    pyplot.close("all")  # those of a page that was run before
    yield
    pyplot.close("all")
