"""The example scripts and all Python in the documentation run."""

import doctest
import inspect
import runpy
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from river import checks, datasets

from examples import rolling_forest
from river_extra_trees import distributed
from tests.tools.pages import ROOT, blocks, name_of, pages_with
from tests.tools.ray_in_process import ServedHere, take_the_place_of_ray
from tests.tools.scripts import Done, done

EXAMPLES = ROOT / "examples"


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


@pytest.mark.slow
def test_gallery(tmp_path: Path) -> None:
    """The pictures of the documentation can be drawn again, all of them."""
    result = run(EXAMPLES / "gallery.py", tmp_path)
    assert result.returncode == 0, result.stderr
    made = {path.name for path in tmp_path.iterdir()}
    assert made == {path.name for path in (ROOT / "docs" / "pictures").iterdir()}


@pytest.mark.parametrize("page", pages_with("python"), ids=name_of)
@pytest.mark.slow
def test_page(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Python blocks of a page run one after the other, as a reader would run them."""
    names: dict[str, Any] = {}
    codes = blocks(page, "python")
    if any("river_extra_trees.distributed" in code for code in codes):
        take_the_place_of_ray(monkeypatch)
        monkeypatch.setattr(distributed, "SnapshotServer", ServedHere)
    for code in codes:
        exec(compile(code, str(page), "exec"), names)
