"""The lists of a sparse growth: in every node they are those that one would make anew."""

import math
import random

import pytest

import river_extra_trees as ret
from tests import compiled
from tests.naive.cart import Rules, Sample
from tests.tools.growing import CODES
from tests.tools.growths import in_rows, stepped, targets

MISSING = math.nan
NOMINAL = frozenset({1, *range(55, 65)})


def rows_of_words(rng: random.Random, n: int, rules: Rules) -> list[Sample]:
    """A dense number, a nominal feature, some words at random, and columns at the borders.

    The last ten words are nominal.

    Exactly half of the samples have the third column, one more the fourth, and one the fifth.
    """
    samples = []
    for i, y in enumerate(targets(rng, rules, n)):
        words = [MISSING] * 60
        for _ in range(rng.randrange(5)):
            words[rng.randrange(40 if y > 0.5 else 60)] = float(rng.randrange(1, 4))
        words[50:] = [value if value != value else CODES[int(value)] for value in words[50:]]
        half = 1.0 if i % 2 else MISSING
        more = 1.0 if i % 2 or i == 0 else MISSING
        once = 7.0 if i == n // 3 else MISSING
        weight = rng.choice([1.0, 2.0]) if rules.criterion == "entropy" else 1.0
        x = (rng.random(), rng.choice(CODES[:3]), half, more, once, *words)
        samples.append(Sample(x, y, weight))
    return samples


@pytest.mark.parametrize("min_samples_leaf", [1, 5])
@pytest.mark.parametrize("criterion", ["gini", "entropy", "variance"])
def test_lists_of_every_node(criterion: str, min_samples_leaf: int) -> None:
    """The entries of a column are the samples of the node that have a value, in their order.

    A column that is not listed any more is constant there, and so are those that are not active.
    """
    rules, n_nodes = Rules(criterion, NOMINAL, None, 2, min_samples_leaf), 0
    for seed in range(4):
        samples = rows_of_words(random.Random(seed), 90, rules)
        growth = stepped(samples, rules, 90, 4)
        while growth.node():
            n_nodes += 1
            own, lists = growth.samples(), growth.lists()
            assert own == in_rows(samples, rules, own)
            assert not set(lists) & {0, 1, 3}
            for column in range(len(samples[0].x)):
                values = [(i, samples[i].x[column]) for i in own]
                present = [(i, value) for i, value in values if value == value]
                if column in lists:
                    assert lists[column] == present
                    continue
                if column not in growth.active():
                    assert len({str(value) for _, value in values}) == 1
    assert n_nodes > 40


def test_a_column_is_listed_if_at_most_half_of_the_samples_have_it() -> None:
    samples = rows_of_words(random.Random(1), 90, Rules("gini"))
    growth = stepped(samples, Rules("gini", NOMINAL), 90, 10_000)
    assert growth.node()
    assert {2, 4} <= set(growth.lists())
    assert {0, 1, 3} == set(growth.active())


def test_few_cells_without_a_value_list_nothing() -> None:
    """A growth lists columns if less than a quarter of its cells have a value."""
    for n_present, is_listed in ((24, True), (25, False)):
        samples = [
            Sample(tuple(1.0 + i if (i + j) % 100 < n_present else MISSING for j in range(100)), y)
            for i, y in enumerate(targets(random.Random(1), Rules("gini"), 100))
        ]
        growth = stepped(samples, Rules("gini"), 100, 2)
        assert growth.node()
        assert bool(growth.lists()) == is_listed


def test_samples_are_not_asked_for_columns_that_are_newer() -> None:
    """Those before the samples of 2,000 new names do not list what they have."""
    rng, model = random.Random(1), ret.ExtraTreesClassifier(seed=1, n_models=1, window_sizes=(9,))
    for i in range(400):
        x = {name: rng.random() for name in "abc"}
        if i in (200, 201):
            x |= {f"w{column}": 1.0 for column in range(2_000)}
        model.learn_one(x, x["a"] > 0.5)
    growth = compiled.Stepped(model._core, 400, 12)
    asked = growth.asked()
    assert (asked.count(3), asked.count(2_003)) == (len(asked) - 3, 2)  # one is linked already
    assert len(asked) > 200
    assert growth.node()
    assert {len(entries) for entries in growth.lists().values()} == {2}
    assert len(growth.lists()) == 2_000
