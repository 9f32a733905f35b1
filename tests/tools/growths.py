"""A growth of the default forest that stops at every node, and what naive ones say of the node."""

import random
from collections.abc import Iterable
from typing import Any

from river_extra_trees._core.forests.extra_trees import ExtraTrees
from tests import compiled
from tests.naive import extra_tree as naive
from tests.naive.cart import Rules, Sample
from tests.naive.rng import NaiveRng
from tests.tools.growing import CODES, NAMES, row_of


def stepped(samples: list[Sample], rules: Rules, n_latest: int, max_features: int) -> Any:
    """The growth of a tree on the latest samples, in a forest that has learned all of them."""
    is_regression = rules.criterion == "variance"
    forest = ExtraTrees(
        regression=is_regression,
        windows=[(n_latest, 1)],
        batch_size=2 * len(samples),
        fading=0.9,
        max_features=1,
        max_nodes=3,
        rules={
            "criterion": rules.criterion,
            "max_depth": 2**31 - 1 if rules.max_depth is None else rules.max_depth,
            "min_samples_split": rules.min_samples_split,
            "min_samples_leaf": rules.min_samples_leaf,
        },
        seed=1,
    )
    for j in range(len(samples[0].x)):  # one by one, or they would be in the order of their names
        forest.schema.learn_row({j: NAMES[CODES[0]] if j in rules.nominal else 0.0})
    for sample in samples:
        y = sample.y if is_regression else int(sample.y)
        forest.learn(row_of(sample, rules.nominal), y, sample.weight)
    return compiled.Stepped(forest, n_latest, max_features)


def naive_growth(samples: list[Sample], rules: Rules) -> naive.Growth:
    """A naive growth that weighs samples as those of a growth on these samples."""
    growth = naive.Growth(rules, rules.nominal, naive.Tree(), 1, NaiveRng(1, 0, 0, 0))
    growth.unit = 2.0 * naive.power_below(max(sample.weight for sample in samples))
    growth.is_plain = rules.criterion != "entropy" and all(
        sample.weight * growth.unit == 1.0 for sample in samples
    )
    return growth


def in_rows(samples: list[Sample], rules: Rules, numbers: Iterable[int]) -> list[int]:
    """Some samples in the order of the rows of a growth: those of a class follow each other."""
    of_class = 0.0 if rules.criterion == "variance" else 1.0
    return sorted(numbers, key=lambda i: (of_class * samples[i].y, i))


def targets(rng: random.Random, rules: Rules, n: int) -> list[float]:
    """Numbers, or codes of three classes, which come in their order first."""
    if rules.criterion == "variance":
        return [rng.gauss(0.0, 1.0) for _ in range(n)]
    return [float(i if i < 3 else rng.randrange(3)) for i in range(n)]
