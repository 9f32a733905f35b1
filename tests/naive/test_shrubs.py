"""The naive shrub ensembles against the recorded runs."""

from __future__ import annotations

import pytest

from tests.naive.shrubs import NaiveShrubs
from tests.tools.shrub_runs import CASES, Run


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_recorded_run(name: str) -> None:
    """Weights and predictions are the recorded ones at each of the first 120 steps."""
    run = Run(name)
    model = NaiveShrubs(run.n_classes, step_size=run.step_size, **run.parameters, l2=run.l2)
    for t, (x, y) in enumerate(run.rows[:120]):
        assert model.predict(x) == pytest.approx(run.predictions[t], abs=1e-9)
        model.learn(x, y)
        if run.has_ties:
            continue
        assert model.births == [birth for birth, _ in run.weights[t]]
        assert model.weights == pytest.approx([weight for _, weight in run.weights[t]], abs=1e-9)
