"""The naive forgetful tree reproduces the published program."""

from __future__ import annotations

import pytest

from tests.naive.forgetful import NaiveTree
from tests.tools.forgetful_runs import RUNS, read_run


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_naive_tree_repeats_a_recorded_run(name: str) -> None:
    """Every answer, and after every batch every parameter, is the recorded one.

    Of the long streams a sixth of the batches is followed; the compiled tree follows all.
    """
    run = read_run(name)
    trace = run.trace
    if len(run.X) > 10_000:
        trace = trace[: len(trace) // 6]
    tree = NaiveTree(run.n_classes, run.criterion, run.initial_rate, published=True)
    start = 0
    for line in trace:
        end = start + int(line["n"])
        answers = tree.learn(run.X[start:end], run.Y[start:end])
        assert answers == run.answers[start:end]
        parameters = tree.parameters
        assert parameters.retained == int(line["retain"])
        assert parameters.rate == float(line["iRate"])
        assert parameters.height == int(line["maxHeight"])
        assert parameters.cold == int(line["coldState"])
        assert parameters.warm_size == int(line["warmSize"])
        assert len(tree.samples) == int(line["rootsize"])
        start = end
    assert start == len(run.X) or len(trace) < len(run.trace)
