"""The picture of the weights of a forest's window sizes."""

from typing import Any

import pytest
from matplotlib.colors import to_rgb
from river import datasets

import river_extra_trees as ret
from river_extra_trees import plotting


def forest(**parameters: Any) -> Any:
    return ret.ExtraTreesClassifier(
        **{"n_models": 12, "window_sizes": (20, 400), "seed": 1, **parameters}
    )


def test_weights_are_recorded() -> None:
    """They are those of the model, in words, too; a line tells when the stream changed."""
    model, display, expected = forest(), plotting.WindowWeightsDisplay(drifts=[90]), []
    for n, (x, y) in enumerate(datasets.Phishing().take(200), start=1):
        model.learn_one(x, y)
        if n % 20 == 0:
            display.update(model)
            expected.append(model.window_weights)
    display.update(model)  # nothing was learned
    assert display.items == list(range(20, 201, 20))
    assert display.weights == {size: [each[size] for each in expected] for size in (20, 400)}
    ax = display.plot().ax_
    (line,) = ax.lines
    assert set(line.get_xdata()) == {90}
    assert ax.get_legend().get_texts()[-1].get_text() == "the stream changes"
    short, long = expected[-1].values()
    text = f"20 samples {short:.0%}; 400 samples {long:.0%}"
    assert model.summary["window_weights"] == text
    assert f"<p>window weights: {text}</p>" in model._repr_html_()
    for other in (forest(window_sizes=(5, 10)), forest()):
        with pytest.raises(ValueError, match="another model than before: create a new display"):
            display.update(other)
    assert len(display.items) == 10


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
