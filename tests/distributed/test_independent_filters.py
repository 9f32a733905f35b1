"""Independent filters side by side, averaged by their evidence."""

from __future__ import annotations

import math
import pickle
from typing import Any

import pytest

import river_extra_trees as ret
from river_extra_trees.distributed import Block, coordinator, learn_together, merge, split
from river_extra_trees.distributed.independent_filters import FORGETTING_FACTOR
from tests.tools.estimators import answers, is_classifier, learn, make, stream

Case = tuple[str, int]
CASES = [("DynamicTreeRegressor", 0), ("DynamicTreeRegressor", 3), ("DynamicTreeClassifier", 1)]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_first_continues_as_the_model(case: Case) -> None:
    """The first part is the model, the others go apart; all come out of pickles the same."""
    model = learn(make(case), stream(case, 60))
    filters = split(model, 3)
    rows, targets = zip(*stream(case, 80, seed=1), strict=True)
    learn_together(filters, Block(rows, targets))
    learn(model, zip(rows, targets, strict=True))
    asked = list(stream(case, 20, seed=2))
    said = [answers(part._model, asked) for part in filters]
    assert said[0] == answers(model, asked)
    assert said[0] != said[1] != said[2]
    again = pickle.loads(pickle.dumps(filters, 5))
    assert [answers(part._model, asked) for part in again] == said
    assert all(part.n_samples_seen == model.n_samples_seen == 140 for part in again)
    for part in filters:
        part._model._core.check()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_average(case: Case) -> None:
    """Answers are averaged by evidence, which fades; weights of zero leave it as it is."""
    model = make(case)
    rows, targets = zip(*stream(case, 50), strict=True)
    filters = split(model, 2)
    small = coordinator(model)
    learn_together([small, *filters], Block(rows, targets, [0.0, *[1.0] * 49]))
    evidences = []
    for part in split(model, 2):
        evidences.append(0.0)
        for x, y in zip(rows[1:], targets[1:], strict=True):
            part._model.learn_one(x, y)
            evidences[-1] = FORGETTING_FACTOR * evidences[-1] + part._model.log_predictive
    share = 1.0 / (1.0 + math.exp(evidences[1] - evidences[0]))
    x = rows[0]
    votes = [part.votes(Block([x])) for part in filters]
    a, b = (part._model for part in filters)
    if is_classifier(case):
        one, other = a.predict_proba_one(x), b.predict_proba_one(x)
        expected = {label: share * one[label] + (1 - share) * other[label] for label in one}
        assert small.predict_probabilities(votes) == [pytest.approx(expected)]
        assert small.predict_labels(votes) == [max(expected, key=expected.__getitem__)]
    else:
        expected = share * a.predict_one(x) + (1 - share) * b.predict_one(x)
        assert small.predict_numbers(votes) == [pytest.approx(expected)]


def test_small_knows_labels_and_counts() -> None:
    """The coordinator of a part that has learned knows its labels in their order."""
    case = ("DynamicTreeClassifier", 0)
    model = learn(make(case), stream(case, 60))
    small = coordinator(model)
    assert small.n_samples_seen == 60
    x = next(stream(case, 1, seed=2))[0]
    (said,) = small.predict_probabilities([split(model, 1)[0].votes(Block([x]))])
    assert said == pytest.approx(model.predict_proba_one(x))
    empty = make(case)
    assert coordinator(empty).predict_labels([split(empty, 1)[0].votes(Block([x]))]) == [None]


def test_they_stay_apart() -> None:
    """They are not merged, and there is at least one."""
    model: Any = ret.DynamicTreeRegressor(n_particles=5, seed=1)
    with pytest.raises(TypeError, match="filters stay apart"):
        merge(split(model, 2))
    with pytest.raises(ValueError, match="n must be"):
        split(model, 0)
