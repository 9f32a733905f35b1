"""What every estimator answers, from the first sample on; and what it explains."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from river_extra_trees import StreamDecisionTreeClassifier
from river_extra_trees._estimator.inspection import path
from tests.tools.contract import ENDS, Case
from tests.tools.estimators import (
    CASES,
    CLASSIFIERS,
    is_classifier,
    make,
    stream,
)


@pytest.mark.parametrize("case", CLASSIFIERS, ids=str)
def test_every_label_from_the_first_sample_on(case: Case) -> None:
    """Probabilities sum to one and name every label ever learned, at every moment."""
    model = make(case)
    assert model.predict_one({"a": 1.0}) is None
    assert model.predict_proba_one({"a": 1.0}) == {}
    labels = set()
    for x, y in stream(case, 250):
        model.learn_one(x, y)
        labels.add(y)
        probabilities = model.predict_proba_one(x)
        assert set(probabilities) == labels
        assert math.isclose(sum(probabilities.values()), 1.0)
        assert probabilities[model.predict_one(x)] == max(probabilities.values())


@pytest.mark.parametrize("case", ENDS, ids=str)
def test_one_target_only(case: Case) -> None:
    """A model that has met one label is sure of it; with one number, it answers that."""
    model = make(case)
    for x, _ in stream(case, 250):
        if is_classifier(case):
            model.learn_one(x, "only")
            assert model.predict_proba_one(x) == {"only": 1.0}
            assert model.predict_one(x) == "only"
        else:
            model.learn_one(x, 2.5)
            assert model.predict_one(x) == pytest.approx(2.5)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_something_is_learned(case: Case) -> None:
    """On a stream with a rule the second half is answered better than without looking at it."""
    model = make(case)
    right = error = spread = 0.0
    rows = list(stream(case, 1500))
    targets = [y for _, y in rows]
    for i, (x, y) in enumerate(rows):
        if i >= 750:
            answer = model.predict_one(x)
            if is_classifier(case):
                right += answer == y
            else:
                error += abs(answer - y)
                spread += abs(sum(targets) / len(targets) - y)
        model.learn_one(x, y)
    if is_classifier(case):
        usual = max(targets[750:].count(label) for label in set(targets))
        assert right > usual
    else:
        assert error < spread


@pytest.mark.parametrize("splitter", ["best", "random"])
def test_explained_path_is_the_path_taken(splitter: str) -> None:
    """Values beyond the remembered ones, and missing ones, are explained as they are answered."""
    generator = random.Random(1)
    model = StreamDecisionTreeClassifier(batch_size=50, splitter=splitter, seed=1)
    samples = []
    for _ in range(1500):
        name = generator.randrange(3000)
        x: dict[str, Any] = {"name": f"v{name}", "b": generator.choice([1.0, "one", None])}
        samples.append(x)
        model.learn_one(x, name % 3 == 0)
    nodes = model._core.nodes(0)
    for x in samples[-300:]:
        *_, leaf = path(nodes, model._core.row_of(x))
        shares = [value / leaf["weight"] for value in leaf["values"]]
        assert shares == pytest.approx(list(model.predict_proba_one(x).values()), rel=1e-12)
