"""Pictures: what they show, that nothing overlaps, and what is refused."""

import copy
import importlib
import itertools
import math
import random
import sys
import types
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
import pytest
from matplotlib import pyplot
from river import datasets, drift, dummy, evaluate, metrics, tree, utils

import river_extra_trees as ret
from river_extra_trees import plotting
from river_extra_trees._estimator.inspection import path
from tests.tools import estimators

BANANAS = list(datasets.Bananas().take(400))
SEGMENTS = list(datasets.ImageSegments())
NEW = ret.StreamDecisionTreeClassifier(seed=1)


@pytest.fixture(scope="module")
def model() -> Any:
    """A tree that tells seven classes by many nodes."""
    return estimators.learn(NEW.clone(), SEGMENTS)


@pytest.fixture(scope="module")
def forest() -> Any:
    """Some trees, none of which can split on one of the features."""
    rows = [({**x, "constant": 1}, y) for x, y in SEGMENTS[:500]]
    return estimators.learn(ret.ExtraTreesClassifier(n_models=8, seed=1), rows)


def test_scores_are_those_of_river() -> None:
    """A sum of metrics gives a panel each; learners of one class are numbered; all are copies.

    The last point of a curve is what river's own evaluation says.
    """
    metric = metrics.Accuracy() + metrics.MacroF1()
    display = plotting.PrequentialDisplay.from_stream(
        [tree.HoeffdingTreeClassifier(), tree.HoeffdingTreeClassifier()],
        datasets.Phishing(),
        metric,
        step=1000,
    ).plot()
    expected = evaluate.progressive_val_score(
        datasets.Phishing(), tree.HoeffdingTreeClassifier(), copy.deepcopy(metric)
    )
    for i, curve in enumerate(display.curves, start=1):
        assert (curve.name, curve.items) == (f"HoeffdingTreeClassifier {i}", [1000, 1250])
        assert [scores[-1] for scores in curve.scores.values()] == expected.get()
        assert all(size > 0 for size in curve.memory)
    assert (len(display.curves), len(display.axes_)) == (2, 3)
    assert metric[0].get() == 0.0


def test_learners_run_in_step() -> None:
    """However many learners read it, a stream is read once, and hardly further than the slowest."""
    behind: list[int] = []

    class Watch(dummy.NoChangeClassifier):
        def learn_one(self, x: Any, y: Any) -> None:
            behind.append(read - x["i"])

    read = 0

    def stream() -> Iterator[Any]:
        nonlocal read
        for read in range(1, 101):
            yield {"i": read}, read % 2

    models = {"first": Watch(), "second": Watch()}
    plotting.PrequentialDisplay.from_stream(models, stream(), metrics.Accuracy(), step=10)
    assert len(behind) == 200
    assert max(behind) <= 10


def test_drift_is_detected() -> None:
    """Where labels swap, the detector fires for the learner that the swap hurts, and only then."""
    rows = [({"a": i % 2}, (i % 2) ^ (i >= 1000)) for i in range(2000)]
    display = plotting.PrequentialDisplay.from_stream(
        {"tree": ret.StreamDecisionTreeClassifier(leaf_memory=None, seed=1)},
        rows,
        utils.Rolling(metrics.Accuracy, window_size=200),
        detector=drift.ADWIN(),
        drifts=[1000],
    )
    (curve,) = display.curves
    assert not any(500 < item <= 1000 for item in curve.detections)
    assert any(1000 < item < 1200 for item in curve.detections)
    display.plot()
    labels = [text.get_text() for text in display.figure_.legends[0].get_texts()]
    assert labels == ["tree", "the stream changes", "drift detected"]


def test_alarms_are_marked() -> None:
    """Those of a watched model, alone or at the end of a pipeline, on its curve."""
    rng = random.Random(0)
    rows = [({"a": rng.random()}, rng.random() > 0.1 + 0.4 * (i >= 3_000)) for i in range(4_000)]
    tree = ret.StreamDecisionTreeClassifier(batch_size=5_000, seed=1)
    models = {"alone": ret.Watch(tree), "last": ret.ColumnKinds() | ret.Watch(tree.clone())}
    metric = metrics.Accuracy()
    display = plotting.PrequentialDisplay.from_stream(models, rows, metric, step=500)
    for curve in display.curves:
        assert curve.alarms
        assert all(3_000 < item <= 4_000 for item in curve.alarms)
    (legend,) = display.plot().figure_.legends
    assert [text.get_text() for text in legend.get_texts()][-1] == "alarm"
    unnamed = plotting.PrequentialDisplay.from_stream(list(models.values()), rows[:10], metric)
    assert {curve.name for curve in unnamed.curves} == {
        "Watch(StreamDecisionTreeClassifier)",
        "ColumnKinds | Watch(StreamDecisionTreeClassifier)",
    }


def test_best_learner_comes_first() -> None:
    """The legend ranks, by the way of the metric; R2 is cut, and far errors get a log axis.

    Any number gets a panel, known to river or not; the picture can be part of another one.
    """
    rows = [
        {"learner": name, "items": 10, "MAE": mae, "R2": r2, "height": 7, "memory_bytes": 1000}
        for name, mae, r2 in (("poor", "900", -50), ("good", "1", 0.9), ("none", math.nan, 0))
    ]
    figure, axes = pyplot.subplots(4, 1)
    display = plotting.PrequentialDisplay.from_records(rows, muted=["poor"]).plot(axes)
    assert (display.figure_, display.axes_) == (figure, list(axes))
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["good", "poor", "none"]
    mae, r2, height, memory = axes
    assert mae.get_yscale() == "log"
    assert r2.get_ylim() == (-1, 1)
    assert [ax.get_ylabel() for ax in (height, memory)] == ["height", "memory"]


def records(*rows: dict[str, Any]) -> Callable[[], object]:
    return lambda: plotting.PrequentialDisplay.from_records(rows).plot()


ROW = {"learner": "a", "items": 1}
STREAM = partial(plotting.PrequentialDisplay.from_stream, dummy.NoChangeClassifier(), BANANAS)
MAP = partial(plotting.LeafMapDisplay.from_estimator, NEW)


@pytest.mark.parametrize(
    ("says", "draw"),
    [
        ("record 0 has no 'learner'", records({"items": 1})),
        ("record 0 has no 'items'", records({"learner": "a"})),
        ("'x'", records({**ROW, "MAE": "x"})),
        ("record 1 has a", records(ROW, {**ROW, "MAE": 2})),
        ("no score was recorded", records()),
        ("step must be at least 1", partial(STREAM, metrics.Accuracy(), step=0)),
        ("MAE cannot score NoChangeClassifier", partial(STREAM, metrics.MAE())),
        ("no figure to show", plotting.Live().show),
        ("two features", partial(MAP, [])),
        ("numbers for both 'a' and 'b'", partial(MAP, [({"a": "x"}, 1)], features=("a", "b"))),
        ("update has recorded no weights", plotting.WindowWeightsDisplay().plot),
        ("has no window_weights", partial(plotting.WindowWeightsDisplay().update, NEW)),
    ],
)
def test_what_cannot_be_shown_is_named(says: str, draw: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match=says):
        draw()


def test_late_labels() -> None:
    """The curve has river's scores with delayed labels."""
    rows = list(datasets.Phishing().take(200))
    model = ret.StreamDecisionTreeClassifier(seed=1)
    display = plotting.PrequentialDisplay.from_stream(
        model.clone(), rows, metrics.Accuracy(), step=50, delay=40
    )
    late = evaluate.progressive_val_score(rows, model.clone(), metrics.Accuracy(), delay=40)
    (curve,) = display.curves
    assert (curve.items[-1], curve.scores["Accuracy"][-1]) == (200, late.get())
    assert late.get() != evaluate.progressive_val_score(rows, model, metrics.Accuracy()).get()


def test_live_in_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a notebook one picture is shown, and then replaced in its place."""
    pyplot.close(pyplot.figure())  # matplotlib looks for a real IPython as it makes the first one
    notebook = mock.Mock(get_ipython=lambda: types.SimpleNamespace(kernel=None))
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    monkeypatch.setitem(sys.modules, "IPython.display", notebook.display)
    monkeypatch.setattr(plotting.Live.__init__, "__defaults__", (None, 0.0))
    plotting.PrequentialDisplay.from_stream(
        dummy.NoChangeClassifier(), BANANAS, metrics.Accuracy(), live=True
    )
    shown = notebook.display.display
    shown.assert_called_once_with(mock.ANY, display_id=True)
    assert shown.return_value.update.call_count == 4
    assert not pyplot.get_fignums()


def test_a_display_is_drawn_again_in_its_figure(model: Any) -> None:
    """A live figure shows the last display only, with its title and in the size that it needs.

    While matplotlib is interactive, its window is drawn anew.
    """
    tree = plotting.TreeDisplay.from_estimator(model)
    live = plotting.Live(seconds=60)
    assert live.due
    with pyplot.ion():
        for n in (300, 600):
            live.draw(tree, f"after {n}")
            live.draw(plotting.LeafMapDisplay.from_estimator(model, SEGMENTS[:n]), f"map {n}")
    assert not live.due
    assert pyplot.get_fignums() == [live.figure.number]
    assert len(live.figure.axes) == len(live.figure.legends) == 1
    assert live.figure.get_suptitle() == "map 600"
    live.draw(tree)
    assert tuple(live.figure.get_size_inches()) == tree._size()
    assert not live.figure.legends


def test_curves_keep_their_looks_while_ranks_change() -> None:
    """A learner that falls behind keeps its colour and its marker; no two share both."""

    def looks(sign: int) -> dict[str, Any]:
        rows = [{"learner": f"{k}", "items": i, "F1": sign * k} for k in range(10) for i in (1, 2)]
        ax = plotting.PrequentialDisplay.from_records(rows).plot().axes_[0]
        return {line.get_label(): (line.get_color(), line.get_marker()) for line in ax.lines}

    assert looks(1) == looks(-1)
    assert len(set(looks(1).values())) == 10


@pytest.mark.parametrize("case", estimators.TIGHTEST)
def test_every_learner_can_be_drawn(case: tuple[str, int]) -> None:
    """Trees of all families, with all kinds of features, can be drawn and mapped."""
    model = estimators.make(case)
    rows = list(estimators.stream(case, 250))
    plotting.TreeDisplay.from_estimator(model).plot()
    estimators.learn(model, rows)
    display = plotting.TreeDisplay.from_estimator(model, max_depth=None).plot()
    assert len(display.boxes) == len(model._nodes(0))
    plotting.LeafMapDisplay.from_estimator(model, rows, features=("a", 7), at=rows[0][0]).plot()
    plotting.ImportancesDisplay.from_estimator(model).plot()
    pyplot.close("all")


def test_boxes_do_not_overlap(model: Any) -> None:
    """However many leaves a tree has, and however small the axes, its boxes stay apart."""
    for ax in (None, pyplot.subplots(figsize=(4, 3))[1]):
        display = plotting.TreeDisplay.from_estimator(model, max_depth=5).plot(ax)
        display.figure_.canvas.draw()
        boxes = [text.get_bbox_patch().get_window_extent() for text in display.texts_]
        boxes += [text.get_window_extent() for text in display.conditions_]
        for first, second in itertools.combinations(boxes, 2):
            assert not first.overlaps(second)


def test_left_means_that_the_rule_holds() -> None:
    """The box of a left child is drawn to the left, with what it predicts."""
    rows = [({"a": i}, "low" if i < 10 else "high") for i in range(20)]
    model = estimators.learn(ret.StreamDecisionTreeClassifier(batch_size=20, seed=1), rows)
    root, left, right = plotting.TreeDisplay.from_estimator(model).boxes
    assert root.text.startswith("a\n")
    assert [box.condition for box in (root, left, right)] == ["", "≤ 9.5\nor missing", "> 9.5"]
    assert left.column < root.column < right.column
    assert left.text.startswith("low (100%)")
    assert right.text.startswith("high (100%)")


@pytest.mark.parametrize("regression", [False, True])
def test_inner_nodes_are_their_leaves_together(regression: bool) -> None:
    """What a split node held before fades; the picture tells what its leaves say now."""
    kind = ret.StreamDecisionTreeRegressor if regression else ret.StreamDecisionTreeClassifier
    model = kind(max_depth=3, leaf_memory=None, seed=1)
    rows = [(x, x["hue-mean"] if regression else y) for x, y in SEGMENTS[:500]]
    estimators.learn(model, rows)
    leaves = [node for node in model._nodes(0) if node["column"] < 0]
    weights = np.array([leaf["weight"] for leaf in leaves])
    values = np.array([leaf["values"] for leaf in leaves])
    root, *others = plotting.TreeDisplay.from_estimator(model).boxes
    if regression:
        mean = np.average(values[:, 0], weights=weights)
        squares = (values[:, 1] + weights * (values[:, 0] - mean) ** 2).sum()
        expected = f"{mean:.6g} (sd {(squares / weights.sum()) ** 0.5:.3g})"
    else:
        sums = values.sum(axis=0)
        expected = f"{model._core.labels.labels[sums.argmax()]} ({sums.max() / sums.sum():.0%})"
    assert root.text.splitlines()[1:] == [expected, f"weight {weights.sum():,.0f}"]
    assert sum(box.share for box in others if box.parent == 0) == pytest.approx(1.0)


def test_draw_is_the_display(forest: Any) -> None:
    """`draw` makes the picture of `TreeDisplay`, which says what it leaves out."""
    drawn = forest.draw(tree=1, max_depth=2)
    assert drawn.boxes == plotting.TreeDisplay.from_estimator(forest, tree=1, max_depth=2).boxes
    n, shown = len(forest._nodes(1)), len(drawn.boxes)
    assert shown < n
    assert drawn.ax_.get_title() == f"tree 1 of 8: {shown} of {n} nodes; below “…” there are more"
    assert forest.draw(max_depth=None).note == "tree 0 of 8"


def test_names_are_written_as_they_are() -> None:
    """Neither a dollar sign nor an underscore at its start changes or hides a name or a label."""
    rows = [({"a$b$": i, "n" * 300: -i}, "_$x$" if i < 10 else "$\\bad" * 9) for i in range(20)]
    model = estimators.learn(ret.StreamDecisionTreeClassifier(batch_size=20, seed=1), rows)
    texts = [text.get_text() for text in model.draw().texts_[1:]]
    assert any(text.startswith(r"_\$x\$ (100%)") for text in texts)
    assert any("… (100%)" in text for text in texts)
    display = plotting.LeafMapDisplay.from_estimator(model, rows, features=("a$b$", "n" * 300))
    display.plot()
    (legend,) = display.figure_.legends
    assert [key.get_text() for key in legend.get_texts()] == [
        r"_\$x\$",
        (r"\$\bad" * 9)[: 27 + 6] + "…",
    ]
    assert display.ax_.get_ylabel() == "n" * 27 + "…"
    display.figure_.canvas.draw()


def test_seven_classes_look_different(model: Any) -> None:
    """Each has a colour, a marker and a hatch that no other has, in the map and in the legend."""
    display = plotting.LeafMapDisplay.from_estimator(model, SEGMENTS[-300:]).plot()
    assert len(display.colours.labels or []) == 7
    (legend,) = display.figure_.legends
    for look in ("get_facecolor", "get_hatch"):
        assert len({getattr(leaf, look)() for leaf in legend.get_patches()}) == 7
    markers = [marks.get_paths()[0].vertices for marks in display.ax_.collections]
    assert len({vertices.tobytes() for vertices in markers}) == 7
    colours = {tuple(marks.get_facecolor()[0]) for marks in display.ax_.collections}
    assert len(colours) == 7
    assert "other features of the tree: " in display.ax_.get_title(loc="left")
    assert len(legend.get_texts()) == 7


@pytest.mark.parametrize("regression", [False, True])
def test_map_agrees_with_the_tree(regression: bool) -> None:
    """The regions tile the map, and each belongs to the leaf that its middle falls into."""
    kind = ret.StreamDecisionTreeRegressor if regression else ret.StreamDecisionTreeClassifier
    rows = [(x, float(y) + x["1"] if regression else y) for x, y in BANANAS]
    model = estimators.learn(kind(seed=1), rows)
    display = plotting.LeafMapDisplay.from_estimator(model, rows, features=("1", "2"))
    areas = 0.0
    for region in display.regions:
        (left, right), (bottom, top) = region.limits
        areas += (right - left) * (top - bottom)
        middle = {"1": (left + right) / 2, "2": (bottom + top) / 2}
        *_, leaf = path(model._nodes(0), model._schema.row_of(middle))
        assert leaf["node"] == region.node["node"]
    ax = display.plot().ax_
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    assert areas == pytest.approx((right - left) * (top - bottom))


def test_the_most_important_features_are_shown(forest: Any) -> None:
    """A map shows two. Of the bars, the last one stands for all features that have none."""
    shares = forest.feature_importances_
    best = sorted(shares, key=shares.__getitem__, reverse=True)
    assert list(plotting.LeafMapDisplay.from_estimator(forest, SEGMENTS[:9]).features) == best[:2]
    display = plotting.ImportancesDisplay.from_estimator(forest, n_features=4).plot()
    names = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert names == [*best[:4], "15 other features"]
    assert sum(bar.get_width() for bar in display.ax_.patches) == pytest.approx(1.0)


def test_no_number_of_importances_crosses_an_axis() -> None:
    """Long names leave little room for the bars; the number of the longest one still fits."""
    display = plotting.ImportancesDisplay({"a feature with a long name": 0.58, "b": 0.4}).plot()
    display.figure_.set_size_inches(4.5, 1.5)
    display.figure_.canvas.draw()
    number = display.ax_.texts[0].get_window_extent()
    assert number.x1 <= display.figure_.bbox.x1
    for spine in display.ax_.spines.values():
        assert not spine.get_visible() or not spine.get_window_extent().overlaps(number)


def test_the_bars_of_an_explanation() -> None:
    """Those of one prediction lead from the base value to it; the last one stands for the rest."""
    names = tuple("abcdef")
    found = ret.Explanation(1.0, np.array([0.5, -2.0, 0.25, 0.0, 0.0, 3.0]), np.arange(6.0), names)
    ax = plotting.ExplanationDisplay(found, n_features=3).plot().ax_
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        *("f = 5", "b = 1", "a = 0", "3 other features")
    ]
    bars = ax.patches
    assert [bar.get_width() for bar in bars] == [3.0, -2.0, 0.5, 0.25]
    ends = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in bars]
    assert ends[-1][0] == found.base_value
    assert ends[0][1] == found.output
    assert all(above[0] == below[1] for above, below in itertools.pairwise(ends))
    assert len({bar.get_facecolor() for bar in bars}) == 3


def test_numbers_beside_bars_cover_no_names() -> None:
    """Also that of a bar which goes down to the smallest value."""
    found = ret.Explanation(1.0, np.array([6.0, -2.5]), np.arange(2.0), ("a", "b"))
    display = plotting.ExplanationDisplay(found).plot()
    display.figure_.canvas.draw()
    left = display.ax_.get_window_extent().x0
    assert min(text.get_window_extent().x0 for text in display.ax_.texts) > left


def test_the_bars_of_several_explanations() -> None:
    """Each is the mean size of the contributions, whatever their signs."""
    values = np.array([[1.0, -2.0, 0.0], [-1.0, 4.0, 0.0]])
    found = ret.Explanation(np.zeros(2), values, values, ("a", "b", "c"), ["x", "y"])
    ax = plotting.ExplanationDisplay(found).plot().ax_
    assert [bar.get_width() for bar in ax.patches] == [3.0, 1.0, 0.0]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["b", "a", "c"]
    curves = plotting.ContributionsDisplay(drifts=[15], n_features=2)
    with pytest.raises(ValueError, match="nothing to draw"):
        curves.plot()
    curves.update(10, found)
    curves.update(20, found[0])
    lines = {line.get_label(): list(line.get_ydata()) for line in curves.plot().ax_.lines}
    assert (lines["b"], lines["a"], "c" in lines) == ([3.0, 2.0], [1.0, 1.0], False)


def test_missing_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what to install."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"\(extra 'plot'\): pip install matplotlib"):
        importlib.reload(plotting)
