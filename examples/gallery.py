"""Draw the pictures of the documentation, one of each kind.

Run it with `.venv/bin/python -m examples.gallery docs/pictures`; names of pictures after the folder
draw these alone. The picture of the service needs Chromium.

Each picture says in its metadata what is drawn. `tests/test_examples.py` draws them again, and
compares what is drawn with what they say.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import http.client
import itertools
import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib import pyplot
from matplotlib.figure import Figure
from PIL import Image, PngImagePlugin
from river import datasets, drift, metrics, utils
from river.datasets import synth

import river_extra_trees as ret
from river_extra_trees import persistence, plotting
from river_extra_trees.cli import learners, report
from river_extra_trees.cli.race import Race, make_entrants
from river_extra_trees.cli.scoring import Scoring
from river_extra_trees.cli.streams import open_stream

DATA = "Drawn"  # name of what is drawn, in the metadata of a picture
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
LATE = 20  # samples from a question to its label, in the picture of the service


# --- Figures of matplotlib


def three_concepts() -> Iterator[Any]:
    for concept in (0, 1, 2):
        yield from synth.Sine(classification_function=concept, seed=concept).take(1500)


def prequential() -> Figure:
    learners = {
        "forgetful tree": ret.ForgetfulDecisionTreeClassifier(seed=1),
        "stream tree that keeps all": ret.StreamDecisionTreeClassifier(leaf_memory=None, seed=1),
    }
    return (
        plotting.PrequentialDisplay.from_stream(
            learners,
            three_concepts(),
            utils.Rolling(metrics.Accuracy, window_size=300),
            detector=drift.binary.DDM(),
            drifts=[1500, 3000],
            step=50,
        )
        .plot()
        .figure_
    )


def window_weights() -> Figure:
    model = ret.ExtraTreesClassifier(seed=1)
    display = plotting.WindowWeightsDisplay(drifts=[1500, 3000])
    for x, y in three_concepts():
        if model.n_samples_seen % 20 == 0:
            display.update(model)
        model.learn_one(x, y)
    display.update(model)
    return display.plot().figure_


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


def leaf_map() -> Figure:
    samples = [({"x₁": x["1"], "x₂": x["2"]}, y) for x, y in datasets.Bananas().take(2000)]
    model = ret.ForgetfulDecisionTreeClassifier(max_depth=5, seed=1)
    for x, y in samples:
        model.learn_one(x, y)
    return plotting.LeafMapDisplay.from_estimator(model, samples[-300:]).plot().figure_


def segments() -> ret.ExtraTreesClassifier:
    model = ret.ExtraTreesClassifier(seed=1)
    for x, y in datasets.ImageSegments():
        model.learn_one(x, y)
    return model


def tree() -> Figure:
    return plotting.TreeDisplay.from_estimator(segments(), max_depth=4).plot().figure_


def importances() -> Figure:
    return plotting.ImportancesDisplay.from_estimator(segments(), n_features=10).plot().figure_


FIGURES: dict[str, Callable[[], Figure]] = {
    "band": band,
    "importances": importances,
    "leaf_map": leaf_map,
    "prequential": prequential,
    "tree": tree,
    "window_weights": window_weights,
}


def drawn_by(name: str) -> str:
    """Draw a figure; return its digest."""
    figure = FIGURES[name]()
    pyplot.close(figure)
    return drawn(figure)


def drawn(figure: Figure) -> str:
    """Return a digest of the lines, areas and texts of a figure, in five digits."""

    def rounded(values: Any) -> list[str]:
        return [f"{value:.5g}" for value in np.ravel(np.ma.filled(values, np.nan))]

    found: list[Any] = []
    for ax in figure.axes:
        found += [rounded(line.get_xydata()) for line in ax.lines]
        found += [
            rounded(each.get_path().transformed(each.get_patch_transform()).vertices)
            for each in ax.patches
        ]
        found += [[rounded(path.vertices) for path in each.get_paths()] for each in ax.collections]
        found += [rounded(each.get_offsets()) for each in ax.collections]
        found += [each.get_text() for each in ax.texts]
    return hashlib.sha256(json.dumps(found).encode()).hexdigest()


# --- The race of `make demo`


def race(names: list[str]) -> tuple[Race, Any]:
    """Race learners on ImageSegments."""
    stream = open_stream("ImageSegments")
    scoring = Scoring(["Accuracy"], stream.first_labels)
    contest = Race(make_entrants(names, scoring, stream.task, seed=1))
    for _ in contest.run(stream.batches):
        pass
    contest.finish()
    return contest, stream


def our_results() -> str:
    """Return the final accuracy and memory of the learners of this package in the race."""
    names = [name for name in learners.usual_learners("classification") if hasattr(ret, name)]
    return results_of(race(names)[0])


def results_of(contest: Race) -> str:
    """Return the final accuracy and memory of the learners of this package."""
    ours = sorted(
        (each.name, each.metric[0].get(), each.memory)
        for each in contest.entrants
        if hasattr(ret, each.name)
    )
    return "; ".join(f"{name} {score:.4f} {memory}" for name, score, memory in ours)


# --- The page of the service


def ask_and_label(ask: Callable[[str, Any], Any], pause: float = 0.0) -> None:
    """Ask for each sample of ImageSegments, and send its label some samples later."""
    waiting: list[tuple[str, Any]] = []
    for x, y in itertools.chain(datasets.ImageSegments(), [(None, None)] * LATE):
        if x is not None:
            waiting.append((ask("/predict", {"x": x})["id"], y))
        if len(waiting) > LATE or x is None:
            name, label = waiting.pop(0)
            ask("/labels", {"id": name, "y": label})
        time.sleep(pause)


def page_of(status: dict[str, Any]) -> str:
    """Return a digest of what the page shows, except for times and rates."""
    now, info = status["now"], status["info"]
    latest = [[each["y"], each["target"], each["x"]] for each in status["latest"]]
    memory = f"{now['memory_bytes']:.3g}"  # the same objects are not always of one size
    shown = [info["model"], now["samples_seen"], memory, now["recent_score"]]
    found = [*shown, now["score"], info["size"], latest]
    return hashlib.sha256(json.dumps(found).encode()).hexdigest()


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[int]:
    """Serve a new model; yield the port."""
    path = folder / "segments.model"
    persistence.save(ret.ExtraTreesClassifier(seed=1), path)
    command = [sys.executable, "-m", "river_extra_trees", "serve", path.name, "--port", "0"]
    process = subprocess.Popen(
        [*command, "--snapshot-every", "10"], stdout=subprocess.PIPE, text=True, cwd=folder
    )
    try:
        assert process.stdout is not None
        port = re.search(r":(\d+) ", process.stdout.readline())
        if port is None:
            raise RuntimeError("the service did not start")
        yield int(port[1])
    finally:
        process.terminate()
        process.communicate()


def service(path: Path) -> str:
    """Photograph the page of a service that gets some hundred samples per second."""
    if CHROMIUM is None:
        raise RuntimeError("the picture of the service needs Chromium")
    with tempfile.TemporaryDirectory() as name, serving(Path(name)) as port:
        connection = http.client.HTTPConnection("127.0.0.1", port)

        def ask(target: str, body: Any = None) -> Any:
            method = "GET" if body is None else "POST"
            kind = {"Content-Type": "application/json"}
            connection.request(method, target, None if body is None else json.dumps(body), kind)
            return json.loads(connection.getresponse().read())

        ask_and_label(ask, pause=0.01)
        subprocess.run(
            [
                *(CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
                *(f"--user-data-dir={name}/browser", "--window-size=1100,1500"),
                *("--virtual-time-budget=3000", f"--screenshot={path.resolve()}"),
                f"http://127.0.0.1:{port}/",
            ],
            check=True,
            capture_output=True,
        )
        connection.close()  # the service has closed it after some idle seconds
        return page_of(ask("/status"))


# --- All


def add_data(path: Path, data: str) -> None:
    """Write into a picture what is drawn."""
    with Image.open(path) as picture:
        info = PngImagePlugin.PngInfo()
        info.add_text(DATA, data)
        picture.save(path, pnginfo=info)


def draw(name: str, path: Path) -> None:
    """Draw a picture."""
    if name == "race":
        contest, stream = race(learners.usual_learners("classification"))
        report.draw(path, contest, stream)
        data = results_of(contest)
    elif name == "service":
        data = service(path)
    else:
        figure = FIGURES[name]()
        data = drawn(figure)
        figure.savefig(path, dpi=110)
    add_data(path, data)


def main() -> None:
    matplotlib.use("agg")
    names = [*FIGURES, "race", "service"]
    parser = argparse.ArgumentParser(description="Draw the pictures of the documentation.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", choices=[*names, []], default=names)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for name in options.names:
        path = options.folder / f"{name}.png"
        draw(name, path)
        print(f"wrote {path}")


if __name__ == "__main__":
    main()
