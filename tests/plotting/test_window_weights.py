"""The picture of the weights of a forest's window sizes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_rgb

import river_extra_trees as ret
from river_extra_trees import plotting
from tests.tools.estimators import learn

SIZES = (20, 400)


def forest(regression: bool, **parameters: Any) -> Any:
    kind = ret.ExtraTreesRegressor if regression else ret.ExtraTreesClassifier
    return kind(**{"n_models": 12, "window_sizes": SIZES, "seed": 1, **parameters})


def changing(regression: bool, n: int = 1200, change: int = 900) -> Iterator[Any]:
    """A stream whose target is turned round by a change."""
    rng = random.Random(1)
    for i in range(n):
        x = {name: rng.random() for name in "abc"}
        y = (x["a"] + x["b"] - 1.0) * (-1.0 if i >= change else 1.0) + rng.gauss(0.0, 0.1)
        yield x, y if regression else y > 0.0


def recorded(model: Any, rows: Iterator[Any], step: int = 20) -> plotting.WindowWeightsDisplay:
    """The weights of a forest that learns a stream, where it changes marked."""
    display = plotting.WindowWeightsDisplay(drifts=[900])
    for n, (x, y) in enumerate(rows, start=1):
        model.learn_one(x, y)
        if n % step == 0:
            display.update(model)
    return display


@pytest.mark.parametrize("regression", [False, True])
def test_a_change_moves_the_weight_to_the_small_window(regression: bool) -> None:
    """What the picture is for; a line tells when the stream changed."""
    model = forest(regression)
    display = recorded(model, changing(regression))
    assert {size: weights[-1] for size, weights in display.weights.items()} == model.window_weights
    assert np.sum(list(display.weights.values()), axis=0) == pytest.approx(1.0)
    items, short = np.array(display.items), np.array(display.weights[SIZES[0]])
    before = short[(items > 500) & (items <= 900)].mean()
    after = short[(items > 920) & (items <= 1000)].mean()
    assert before < 0.5 < 0.8 < after
    ax = display.plot().ax_
    (line,) = ax.lines
    assert set(line.get_xdata()) == {900}
    assert ax.get_legend().get_texts()[-1].get_text() == "the stream changes"


def test_areas() -> None:
    """The smallest window lies lowest, whatever the order was; areas fill the picture, and differ.

    The legend has the order of the areas.
    """
    items, weights = [0, 50, 100], {400: [0.5, 0.4, 0.3], 9: [0.3, 0.4, 0.5], 20: [0.2, 0.2, 0.2]}
    ax = plotting.WindowWeightsDisplay(items, weights).plot().ax_
    ends = [area.get_paths()[0].vertices[:, 1] for area in ax.collections]
    assert [(low.min(), low.max()) for low in ends] == [
        (0.0, 0.5),
        (pytest.approx(0.3), pytest.approx(0.7)),
        (pytest.approx(0.5), pytest.approx(1.0)),
    ]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        *("400 samples", "20 samples", "9 samples")
    ]
    looks = {(to_rgb(area.get_facecolor()[0][:3]), area.get_hatch()) for area in ax.collections}
    assert len({colour for colour, _ in looks}) == len({hatch for _, hatch in looks}) == 3
    keys = ax.get_legend().legend_handles
    assert [key.get_hatch() for key in keys] == [area.get_hatch() for area in ax.collections[::-1]]


def test_what_has_no_weights() -> None:
    """Other models, and another model in place of the first, are refused; no point is added."""
    with pytest.raises(ValueError, match="a DynamicTreeRegressor has no window_weights"):
        plotting.WindowWeightsDisplay().update(ret.DynamicTreeRegressor())
    with pytest.raises(ValueError, match="nothing to draw"):
        plotting.WindowWeightsDisplay().plot()
    model = forest(False)
    display = recorded(model, changing(False, 40))
    display.update(model)  # nothing was learned
    for other in (forest(False, window_sizes=(5, 10)), forest(False)):
        with pytest.raises(ValueError, match="another model than before: create a new display"):
            display.update(other)
    assert display.items == [20, 40]


@pytest.mark.parametrize("regression", [False, True])
def test_summary_tells_the_weights(regression: bool) -> None:
    """In words, as the notebook's view of the model does."""
    model = learn(forest(regression), changing(regression, 300))
    short, long = model.window_weights.values()
    text = f"20 samples {short:.0%}; 400 samples {long:.0%}"
    assert model.summary["window_weights"] == text
    assert f"<p>window weights: {text}</p>" in model._repr_html_()
