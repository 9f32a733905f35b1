"""Equal columns are found again only when the window or the history has changed."""

import pickle
import random
from typing import Any

import river_extra_trees as ret
from tests import compiled


def texts(n: int, n_wide: int) -> list[tuple[dict[str, Any], Any]]:
    """Samples of two columns; the first one has many texts beside them."""
    rng = random.Random(1)
    samples = [({"a": rng.random(), "c": rng.choice("rgb")}, rng.random() < 0.5) for _ in range(n)]
    samples[0][0].update({f"w{k}": f"v{k % 7}" for k in range(n_wide)})
    return samples


def test_a_wide_sample_of_texts_is_compared_seldom_while_it_is_in_the_window() -> None:
    """A window that knows only one of its columns knows all again when they are compared."""
    model = ret.ShrubEnsembleClassifier(seed=1, window_size=100)
    n_compared = 0
    for x, y in texts(100, 200):
        compiled.narrow(model._core.window)
        model.learn_one(x, y)
        n_compared += model._core.window.n_distinct > 1
    assert 5 < n_compared < 20


def test_columns_that_the_history_forgets_are_compared_again() -> None:
    """A copy, which compares all columns, knows as many of them."""
    n, rng = 16_400, random.Random(1)
    samples: list[tuple[dict[str, Any], Any]] = [
        ({"new": f"v{i}", "a": rng.random()}, rng.random() < 0.5) for i in range(n + 10)
    ]
    for i in (5, n - 5):
        samples[i][0].update({"p": "one", "q": "one"})
    model = ret.ShrubEnsembleClassifier(seed=1, n_models=4, window_size=20, step_size=2.0)
    for x, y in samples[: n - 4]:
        model.learn_one(x, y)
    numbers = set()
    for x, y in samples[n - 4 :]:
        copied = pickle.loads(pickle.dumps(model))
        for each in (model, copied):
            each.learn_one(x, y)
        if copied._core.window.n_distinct > 0:  # a tree grew
            numbers.add((model._core.window.n_distinct, copied._core.window.n_distinct))
    assert numbers == {(4, 4), (3, 3)}
