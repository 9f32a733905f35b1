"""The example scripts and all Python in the documentation run."""

import doctest
import functools
import importlib.util
import inspect
import json
import re
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import pandas as pd
import pytest
from matplotlib import pyplot
from PIL import Image
from river import checks, datasets

import river_extra_trees as ret
from examples import gallery, rolling_forest
from examples.benchmarks.common import results, streams
from examples.benchmarks.peers.standings import Standings
from river_extra_trees import distributed
from river_extra_trees.serving import schema
from river_extra_trees.serving.service import Service
from tests.tools.pages import ROOT, blocks, name_of, pages_with
from tests.tools.ray_in_process import ServedHere, take_the_place_of_ray
from tests.tools.scripts import Done, done

EXAMPLES = ROOT / "examples"
SHOWN = re.compile(r"```python\n(.*?)```\n\n```text\n(.*?)```", re.DOTALL)  # what a block prints
NUMBER = re.compile(r"[+-]?\d[\d.]*(?:e[+-]\d+)?")
matplotlib.use("agg")


def run(script: Path, *arguments: object) -> Done:
    return done(lambda: runpy.run_path(str(script), run_name="__main__"), *arguments)


def said(result: Done) -> str:
    """What an example has printed: something, and no warning."""
    assert result.returncode == 0, result.stderr
    assert result.stdout
    assert result.stderr == ""
    return result.stdout


@pytest.mark.slow
def test_tuning(monkeypatch: pytest.MonkeyPatch) -> None:
    """The example runs; of a stream it takes 200 samples at most."""
    take = datasets.base.Dataset.take
    monkeypatch.setattr(datasets.base.Dataset, "take", lambda self, n: take(self, min(n, 200)))
    said(run(EXAMPLES / "tuning.py"))


@pytest.mark.slow
def test_script_on_ray(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example runs on the Ray that is there. The models equal those of one process."""
    pytest.importorskip("confluent_kafka")
    ray = request.getfixturevalue("ray")
    init = ray.init
    monkeypatch.setattr(ray, "init", lambda **options: inspect.signature(init).bind(**options))
    options = ["--events", 5_000, "--sensors", 100]
    printed = said(run(EXAMPLES / "kafka_partitions.py", *options))
    assert "5000 events, 5000 learned" in printed
    assert "100 of 100 models are equal" in printed


@pytest.mark.parametrize(
    "parameters", [{}, {"n_models": 2, "batch_size": 60}, {"n_models": 3, "batch_size": 50}]
)
def test_added_learner(parameters: dict[str, int]) -> None:
    """The learner of CONTRIBUTING passes river's checks, and learns frames as single samples."""
    model = rolling_forest.RollingForestClassifier(seed=1, **parameters)
    for check in checks.yield_checks(model):
        check(model.clone())
    rows, by_samples, answers = list(datasets.Phishing()), model.clone(), []
    for x, y in rows:
        answers.append(by_samples.predict_one(x))
        by_samples.learn_one(x, y)
    X, labels = pd.DataFrame([x for x, _ in rows]), [y for _, y in rows]
    assert model.clone().predict_learn_many(X, labels).tolist() == answers
    assert sum(a == y for a, y in zip(answers, labels, strict=True)) > 0.8 * len(rows)


def test_doctest_of_the_added_learner() -> None:
    """The example in its docstring is right."""
    assert doctest.testmod(rolling_forest).failed == 0


def in_process(service: Service) -> Callable[[str, Any], Any]:
    """Ask a service without a network."""

    def ask(path: str, body: Any) -> Any:
        form = schema.ToPredict if path == "/predict" else schema.ToLabel
        samples = schema.read_samples(json.dumps(body).encode(), form)
        if path == "/labels":
            return service.labels(samples)
        return service.predict(samples, schema.read_wanted({}))[0]

    return ask


def page_of_a_service() -> str:
    """What the page shows after the requests for which the gallery photographs it."""
    service = Service(ret.ExtraTreesClassifier(seed=1), Path("segments.model"))
    gallery.ask_and_label(in_process(service))
    return gallery.page_of(json.loads(schema.write(service.status())))


PICTURES: dict[str, Callable[[], str]] = {
    **{name: functools.partial(gallery.drawn_by, name) for name in gallery.FIGURES},
    "race": gallery.our_results,
    "service": page_of_a_service,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_up_to_date(name: str, tmp_path: Path) -> None:
    """What would be drawn today is what the picture says that it shows; see `examples/gallery.py`.

    If this fails because the learners have changed, draw the picture again.
    """
    path = ROOT / "docs" / "pictures" / f"{name}.png"
    with Image.open(path) as picture:
        assert picture.text[gallery.DATA] == PICTURES[name]()


def test_all_pictures_can_be_drawn() -> None:
    """Every picture of the pages has a name in the gallery."""
    found = {path.stem for path in (ROOT / "docs" / "pictures").iterdir()}
    assert found == PICTURES.keys()


def test_other_figures_have_other_data() -> None:
    """A bar, a point or a text more or less is noticed."""
    figure, ax = pyplot.subplots()
    seen = {gallery.drawn(figure)}
    for change in (
        lambda: ax.plot([1, 2], [3, 4]),
        lambda: ax.barh([0], [0.25]),
        lambda: ax.text(0, 0, "12 %"),
        lambda: ax.fill_between([0, 1], [0, 0], [1, 2]),
        lambda: ax.scatter([0.5], [0.5]),
    ):
        change()
        assert gallery.drawn(figure) not in seen
        seen.add(gallery.drawn(figure))
    pyplot.close(figure)


def absent(code: str) -> list[str]:
    """The optional libraries that some code imports, and that are not installed."""
    return [
        name
        for name in ("mlflow", "shap")
        if f"import {name}\n" in code and importlib.util.find_spec(name) is None
    ]


@pytest.mark.parametrize("page", pages_with("python"), ids=name_of)
@pytest.mark.slow
def test_page(
    page: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The Python blocks of a page run one after the other, as a reader would run them.

    What a block of text shows below one is what it prints, but for the last digits of numbers. A
    recipe for a library that is not installed is left out.
    """
    shown = dict(SHOWN.findall(page.read_text(encoding="utf-8")))
    names: dict[str, Any] = {}
    codes = [code for code in blocks(page, "python") if not absent(code)]
    if any("river_extra_trees.distributed" in code for code in codes):
        take_the_place_of_ray(monkeypatch)
        monkeypatch.setattr(distributed, "SnapshotServer", ServedHere)
    for code in codes:
        capsys.readouterr()
        exec(compile(code, str(page), "exec"), names)
        if code in shown:
            printed, text = capsys.readouterr().out, shown[code]
            assert NUMBER.sub("", printed) == NUMBER.sub("", text)
            numbers = [[float(each) for each in NUMBER.findall(one)] for one in (printed, text)]
            assert numbers[0] == pytest.approx(numbers[1], rel=0.01, abs=0.01)


def test_readme_shows_what_it_prints(capsys: pytest.CaptureFixture[str]) -> None:
    """The output of its example, and the speed. River's numbers depend on Python's version."""
    page = ROOT / "README.md"
    (code,), (shown,) = blocks(page, "python"), blocks(page, "text")
    exec(code, {})
    number = re.compile(r"[\d.]+(?=%)")
    printed = capsys.readouterr().out
    assert number.sub("", printed) == number.sub("", shown)
    numbers = (list(map(float, number.findall(each))) for each in (printed, shown))
    assert next(numbers) == pytest.approx(next(numbers), abs=1.0)
    recorded = results.read(results.RECORDED / "peers.csv")
    names = streams.UNSEEN["classification"]
    head, lines = Standings("classification", recorded, names).summary()
    line_of = {line[0]: dict(zip(head, line, strict=True)) for line in lines}
    speed = [
        float(line_of[name]["samples/s"].replace(",", ""))
        for name in ("ExtraTreesClassifier", "river ARFClassifier")
    ]
    text = page.read_text()
    assert f"{speed[0] / speed[1]:.0f} times as fast" in " ".join(text.split())
    places = "mean rank, accuracy"
    ranked = {name: float(line[places]) for name, line in line_of.items() if line[places] != "-"}
    assert min(ranked, key=ranked.__getitem__) == "ExtraTreesClassifier"
    assert f"comparison of {len(ranked)} learners" in " ".join(text.split())
