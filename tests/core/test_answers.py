"""The answers of a watched model: what it does with every sample is what a list would do."""

import pickle
import random
from collections import OrderedDict
from typing import Any

import pytest

from river_extra_trees._core.watch import HIGHEST_LOSSES, LOSSES, STRIDE, Answers, Evidence


def answers(regression: bool) -> Answers:
    return Answers(regression, Evidence(1e9, random.Random(0), HIGHEST_LOSSES))


def loss(regression: bool, answer: Any, y: Any) -> float:
    return abs(answer - y) if regression else float(answer != y)


@pytest.mark.parametrize("regression", [False, True])
def test_losses_of_blocks(regression: bool) -> None:
    """The evidence gets the mean of each whole block; a copy in the middle of one goes on."""
    found, rng = answers(regression), random.Random(1)
    losses: list[float] = []
    for i in range(5 * LOSSES + 7):
        answer, y = (rng.random(), rng.random()) if regression else rng.choices("ab", k=2)
        x = {"a": i}
        assert found.ask(x, answer) == (i % STRIDE == 0)
        assert found.is_next(x)
        assert not found.is_next(dict(x))
        found.judge(answer, y)
        assert not found.is_next(x)
        losses.append(loss(regression, answer, y))
        if i == 2 * LOSSES + 3:
            found = pickle.loads(pickle.dumps(found))
    assert (found.n_samples, found.n, found.evidence.n) == (len(losses), 7, 5)
    assert found.total == pytest.approx(sum(losses[-7:]))
    means = [sum(losses[i : i + LOSSES]) / LOSSES for i in range(0, 5 * LOSSES, LOSSES)]
    assert list(found.evidence.state()["waiting"]) == pytest.approx(means)


def test_a_sample_without_an_answer_has_no_loss() -> None:
    """As before the first label; and labels that come late belong to no last answer."""
    found = answers(regression=False)
    found.ask({}, None)
    assert not found.judge(None, "a")
    assert (found.n, found.total) == (0, 0.0)
    x: dict[str, Any] = {}
    found.ask(x, "a")
    found.late = OrderedDict()
    assert not found.is_next(x)


def test_losses_that_are_no_numbers_change_nothing() -> None:
    found = answers(regression=True)
    with pytest.raises(ValueError, match="could not convert"):
        found.judge(1.0, "x")
    assert (found.n, found.total) == (0, 0.0)
