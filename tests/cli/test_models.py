"""What the commands `info` and `draw` tell of saved models, and trainings that go on."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from river import compose, datasets

import river_extra_trees
from river_extra_trees import persistence
from tests.tools.command_line import OURS, assert_refused, done, learner_in, run


def train(*arguments: object, stdin: str | None = None) -> Any:
    return run("train", *arguments, stdin=stdin)


ROWS = "a,label\n" + "".join(f"{i % 13},{'ny'[i % 13 > 6]}\n" for i in range(300))
USUAL = ("-", OURS, "--target", "label")


def test_a_resumed_training_ends_as_an_uninterrupted_one(tmp_path: Path) -> None:
    """To the byte; and it says when nothing is left to learn."""
    whole, parts = tmp_path / "whole.model", tmp_path / "parts.model"
    usual = (*USUAL, "--save")
    assert train(*usual, whole, stdin=ROWS).exit_code == 0
    for limit in (90, 200, 300):
        result = train(*usual, parts, "--resume", "--limit", limit, stdin=ROWS)
        assert result.exit_code == 0, result.output
    assert parts.read_bytes() == whole.read_bytes()
    refused = train(*usual, parts, "--resume", stdin=ROWS)
    assert_refused(refused, "no rows beyond those that the model has learned")


def test_a_model_goes_on_and_is_resumed(tmp_path: Path) -> None:
    """The samples of the model to continue are not those of the data."""
    first, second, whole = (tmp_path / f"{name}.model" for name in ("first", "second", "whole"))
    assert train(*USUAL, "--save", first, stdin=ROWS).exit_code == 0
    on = ("-", first, "--target", "label")
    assert train(*on, "--save", second, "--limit", 100, stdin=ROWS).exit_code == 0
    assert train(*on, "--save", second, "--resume", stdin=ROWS).exit_code == 0
    assert train(*on, "--save", whole, stdin=ROWS).exit_code == 0
    assert second.read_bytes() == whole.read_bytes()


def test_files_of_other_trainings_are_not_resumed(tmp_path: Path) -> None:
    """Of another learner, or of less than is to be continued."""
    path, older = tmp_path / "m.model", tmp_path / "older.model"
    assert train(*USUAL, "--save", path, stdin=ROWS).exit_code == 0
    assert train(*USUAL, "--save", older, "--limit", 9, stdin=ROWS).exit_code == 0
    other = ("-", f"{OURS},max_depth=3", "--target", "label", "--save", path, "--resume")
    assert_refused(train(*other, stdin=ROWS), "holds another learner", "another file")
    on = ("-", path, "--target", "label", "--save", older, "--resume")
    assert_refused(train(*on, stdin=ROWS), "fewer samples than the model to continue")


def test_a_full_disk_ends_the_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one line."""

    def fail(model: Any, path: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(persistence, "save", fail)
    result = train(*USUAL, "--save", tmp_path / "m.model", "--every", 50, stdin=ROWS)
    assert_refused(result, "cannot write", "No space left", stdout="50 samples")


@pytest.mark.slow
def test_a_killed_training_goes_on(tmp_path: Path) -> None:
    """Nothing but the samples since the last save is lost."""
    path, whole = tmp_path / "m.model", tmp_path / "whole.model"
    usual = (*USUAL, "--task", "classification", "--save")
    command = [sys.executable, "-m", "river_extra_trees", "train", *usual, path, "--every", "25"]
    with subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, text=True) as running:
        assert running.stdin is not None
        running.stdin.write("".join(ROWS.splitlines(keepends=True)[:-20]))
        running.stdin.flush()
        while not path.exists() or learner_in(path).n_samples_seen < 75:
            assert running.poll() is None
            time.sleep(0.1)
        running.kill()
    resumed = train(*usual, path, "--resume", stdin=ROWS)
    assert resumed.exit_code == 0, resumed.output
    assert train(*usual, whole, stdin=ROWS).exit_code == 0
    assert path.read_bytes() == whole.read_bytes()


def test_terminals_do_not_obey_files(tmp_path: Path) -> None:
    """Names of features and labels are shown, whatever characters they have."""
    model = river_extra_trees.StreamDecisionTreeClassifier(batch_size=4, seed=1)
    for i in range(8):
        model.learn_one({"\x1b[2J\\[/x]": i % 2, "\ud800": 1.0}, f"\x07{i % 2}\x1b[31m")
    path = tmp_path / "model"
    persistence.save(model, path)
    said = done("info", path).stdout
    drawn = run("draw", path)
    assert drawn.exit_code == 0
    for text in (said, drawn.stdout):
        assert "\x1b" not in text
        assert "\\x1b[2J\\[/x]" in text
    assert "\\xd800" in said
    assert "\\x070\\x1b[31m" in drawn.stdout


def test_info_and_draw_of_a_model_file(tmp_path: Path) -> None:
    """What a model is, as text; what a tree looks like, as text and as a picture."""
    model = river_extra_trees.ExtraTreesClassifier(
        n_models=3, batch_size=20, window_sizes=(50, 100), seed=1
    )
    for x, y in datasets.Phishing().take(100):
        model.learn_one(x, y)
    path = tmp_path / "phishing.model"
    persistence.save(model, path)
    said = done("info", path).stdout
    for word in ("ExtraTreesClassifier", "n_models=3", "100", "is_popular", "trees"):
        assert word in said
    weights = [f"{memory} samples {weight:.0%}" for memory, weight in model.window_weights.items()]
    assert re.search(rf"window weights +{'; '.join(weights)}", said)
    result = run("draw", path, "--tree", 2, "--max-depth", 9)
    assert result.stdout == model.to_text(2, 9) + "\n"
    picture = tmp_path / "tree.png"
    result = run("draw", path, "--output", picture)
    assert result.exit_code == 0, result.output
    assert picture.stat().st_size > 1000
    persistence.save(compose.Prefixer("my ") | model, path)
    said = done("info", path).stdout
    for word in ("Prefixer | ExtraTreesClassifier", "n_models=3"):
        assert word in said
    result = run("draw", path, "--tree", 2, "--max-depth", 9)
    assert result.stdout == model.to_text(2, 9) + "\n"


def test_files_that_are_no_models_are_refused(tmp_path: Path) -> None:
    """In one line each."""
    (tmp_path / "other").write_text("something else")
    model = tmp_path / "model"
    persistence.save(river_extra_trees.StreamDecisionTreeClassifier(), model)

    def refused(*arguments: object, says: str) -> None:
        assert_refused(run(*arguments), says)

    refused("info", tmp_path / "other", says="not a valid model file")
    refused("info", tmp_path / "absent", says="cannot read")
    refused("info", tmp_path, says="cannot read")
    refused("draw", model, "--tree", 4, says="there is no tree 4")
    refused("draw", model, "--output", tmp_path / "tree.txt", says=".png, .svg, .pdf")
