"""Draw the pictures of the documentation, one of each kind.

Run it with `.venv/bin/python examples/gallery.py FOLDER`; the pictures of the documentation are in
`docs/pictures`.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib import pyplot
from matplotlib.figure import Figure
from river import datasets, drift, metrics, utils
from river.datasets import synth

import river_extra_trees as ret
from river_extra_trees import plotting


def three_concepts() -> Iterator[Any]:
    for concept in (0, 1, 2):
        yield from synth.Sine(classification_function=concept, seed=concept).take(1500)


def prequential() -> plotting.PrequentialDisplay:
    learners = {
        "forgetful tree": ret.ForgetfulDecisionTreeClassifier(seed=1),
        "stream tree that keeps all": ret.StreamDecisionTreeClassifier(leaf_memory=None, seed=1),
    }
    return plotting.PrequentialDisplay.from_stream(
        learners,
        three_concepts(),
        utils.Rolling(metrics.Accuracy, window_size=300),
        detector=drift.binary.DDM(),
        drifts=[1500, 3000],
        step=50,
    ).plot()


def window_weights() -> plotting.WindowWeightsDisplay:
    model = ret.ExtraTreesClassifier(seed=1)
    display = plotting.WindowWeightsDisplay(drifts=[1500, 3000])
    for x, y in three_concepts():
        if model.n_samples_seen % 20 == 0:
            display.update(model)
        model.learn_one(x, y)
    display.update(model)
    return display.plot()


def band() -> Figure:
    rng = random.Random(1)
    model = ret.DynamicTreeRegressor(
        n_particles=300, leaf="constant", window=25, discard="alc", forgetting_factor=1.0, seed=1
    )
    for _ in range(150):
        x = rng.uniform(-3.0, 2.0)
        model.learn_one({"x": x}, x + x * x + rng.gauss(0.0, 1.0))
    figure, ax = pyplot.subplots(figsize=(7, 4), layout="constrained")
    xs = np.linspace(-3.0, 2.0, 120)
    found = [model.predict_one({"x": x}, with_dist=True) for x in xs]
    for level, colour in ((0.9, "#c7dff0"), (0.5, "#8fbfe0")):
        low, high = zip(*(each.interval(level) for each in found), strict=True)
        ax.fill_between(xs, low, high, color=colour, label=f"{level:.0%} interval")
    ax.plot(xs, [each.mean for each in found], color="#0072B2", label="predictive mean")
    ax.plot(*zip(*((x["x"], y) for x, y in model.active_samples()), strict=True), "k.")
    ax.set(xlabel="x", ylabel="target", xlim=(-3.0, 2.0))
    ax.legend()
    return figure


def main(folder: Path) -> None:
    matplotlib.use("agg")
    samples = [({"x₁": x["1"], "x₂": x["2"]}, y) for x, y in datasets.Bananas().take(2000)]
    tree = ret.ForgetfulDecisionTreeClassifier(max_depth=5, seed=1)
    for x, y in samples:
        tree.learn_one(x, y)
    segments = ret.ExtraTreesClassifier(seed=1)
    for x, y in datasets.ImageSegments():
        segments.learn_one(x, y)
    pictures: dict[str, Any] = {
        "prequential": prequential(),
        "window_weights": window_weights(),
        "leaf_map": plotting.LeafMapDisplay.from_estimator(tree, samples[-300:]).plot(),
        "tree": plotting.TreeDisplay.from_estimator(segments, max_depth=4).plot(),
        "importances": plotting.ImportancesDisplay.from_estimator(segments, n_features=10).plot(),
    }
    figures = {name: display.figure_ for name, display in pictures.items()} | {"band": band()}
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in figures.items():
        figure.savefig(folder / f"{name}.png", dpi=110)
        print(f"wrote {folder / name}.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
