"""The candidates of columns that are visited one by one: each is scored as from scratch."""

import math
import random

import numpy as np
import pytest

import river_extra_trees as ret
from tests.naive.cart import Rules, Sample, sides
from tests.tools.crowded import crowded
from tests.tools.growing import CODES
from tests.tools.growths import naive_growth, stepped, targets

MISSING = math.nan
N_COLUMNS = 5
TWO_VALUES, ONE_AND_MISSING = 3, 4  # nominal


def sample_of(rng: random.Random, y: float) -> Sample:
    """Numbers of which one depends on the target, as does whether the second is missing."""
    x = (
        y + rng.choice([0.0, 0.25, 1.5]),
        rng.choice([1.0, 2.0]) if rng.random() < (0.3 if y > 0.5 else 0.8) else MISSING,
        float(rng.randrange(4)) if rng.random() < 0.9 else MISSING,
        rng.choice(CODES[:2]),
        rng.choice([CODES[2], MISSING]),
    )
    return Sample(x, y, rng.choice([0.25, 1.0, 2.0]))


@pytest.mark.parametrize("min_samples_leaf", [1, 4])
@pytest.mark.parametrize("criterion", ["gini", "entropy", "variance"])
def test_each_visited_column_offers_its_best(criterion: str, min_samples_leaf: int) -> None:
    """Of both sides for the missing values that with the higher score; none if a side is small."""
    nominal = frozenset({TWO_VALUES, ONE_AND_MISSING})
    rules, met = Rules(criterion, nominal, None, 2, min_samples_leaf), set()
    for seed in range(12):
        rng, n = random.Random(seed), 40
        ys = [round(4.0 * y) / 4.0 for y in targets(rng, rules, n)]  # as exact as floats
        samples = [sample_of(rng, y) for y in ys]
        growth, naive = stepped(samples, rules, n, N_COLUMNS), naive_growth(samples, rules)
        while growth.node():
            own = [samples[i] for i in growth.samples()]
            naive.prepare(own)
            for column, (threshold, is_nominal, missing_left, score) in growth.visited().items():
                values = [sample.x[column] for sample in own]
                if is_nominal:
                    splits = naive.nominal_splits(column, values, own)
                    assert is_nominal == 1  # there are two values, or one and missing ones
                else:
                    present = [value for value in values if value == value]
                    assert min(present) <= threshold <= max(present)
                    splits = naive.numeric_splits(column, values, own, threshold)
                wanted = naive.best_of(splits)
                assert wanted is not None
                assert score == pytest.approx(wanted[0], rel=1e-6)
                assert (threshold, missing_left) == (wanted[1].threshold, wanted[1].missing_left)
                assert min(map(len, sides(own, wanted[1]))) >= min_samples_leaf
                met.add((column, bool(missing_left)))
    assert {column for column, _ in met} == set(range(N_COLUMNS))
    assert {left for _, left in met} == {True, False}


def test_equal_scores_keep_missing_values_on_the_right() -> None:
    """Missing values go left only if that is better."""
    rows = [((0.0,), 0.0), ((1.0,), 1.0), ((MISSING,), 0.0), ((MISSING,), 1.0)]
    samples = [Sample(x, y, w) for w in (1.0, 2.0) for x, y in rows]
    growth = stepped(samples, Rules("gini"), len(samples), 1)
    assert growth.node()
    (_, is_nominal, missing_left, score) = growth.visited()[0]
    assert (is_nominal, missing_left) == (0, False)
    naive = naive_growth(samples, Rules("gini"))
    for left in naive.numeric_splits(0, [s.x[0] for s in samples], samples, 0.0):
        assert score == np.float32(naive.score(left[1], left[2]))


@pytest.mark.filterwarnings("ignore:the model holds")
def test_a_column_that_takes_a_place_has_no_evidence() -> None:
    """What the former column of that number told is not said of the new one."""
    model = crowded(
        ret.ExtraTreesClassifier(n_models=2, window_sizes=(600,), batch_size=5, seed=1), 2
    )
    rng = random.Random(1)
    for i in range(3600):
        x = {"a": rng.random()} | ({"b": rng.choice("uvwxyz")} if i < 1500 else {})
        model.learn_one(x, int(x["a"] > 0.5))
    assert model._core.state()["evidence"].shape == (1, 2)
    model.learn_one({"a": 0.3, "c": "u"}, 0)
    assert model._core.schema.names == ["a", "c"]
    assert model._core.state()["evidence"].size == 0
