"""Checkpoints of races, and what the command line tells of saved models."""

from __future__ import annotations

import decimal
import json
import re
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from river import compose, datasets
from typer.testing import CliRunner

import river_extra_trees
from river_extra_trees import persistence
from river_extra_trees.cli import UserError
from river_extra_trees.cli import checkpoint as checkpoints
from river_extra_trees.cli.app import app
from river_extra_trees.persistence import container
from tests.tools.command_line import FAST, OURS, assert_refused, run, run_info, scores_of, start


@pytest.mark.slow
def test_a_resumed_race_ends_as_an_uninterrupted_one(tmp_path: Path) -> None:
    """River's learners and metrics, too, go on where they were."""
    learners_of_both = (FAST, OURS, "ForgetfulRandomForestClassifier:n_models=2", "ARFClassifier")
    usual = ("ImageSegments", *learners_of_both, "--seed", 3)
    assert run(*usual, "--limit", 150, "--json", tmp_path / "whole.json").exit_code == 0
    kept = ("--checkpoint", tmp_path / "race", "--every", 40)
    assert run(*usual, "--limit", 90, *kept, "--resume").exit_code == 0
    result = run(*usual, "--limit", 150, *kept, "--resume", "--json", tmp_path / "resumed.json")
    assert result.exit_code == 0, result.output
    assert scores_of(tmp_path / "resumed.json") == scores_of(tmp_path / "whole.json")
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["race", "resumed.json", "whole.json"]


@pytest.mark.slow
def test_a_killed_race_goes_on_from_its_checkpoint(tmp_path: Path, table: Path) -> None:
    """Nothing but the items since the checkpoint is lost."""
    rows = table.read_text()
    with start(
        *("-", "--target", "class", OURS, "--task", "classification"),
        *("--checkpoint", tmp_path / "race", "--every", 25),
        stdin=subprocess.PIPE,
    ) as running:
        assert running.stdin is not None
        running.stdin.write(rows)
        running.stdin.flush()
        while not (tmp_path / "race").exists() or "75" not in run_info(tmp_path / "race"):
            assert running.poll() is None
            time.sleep(0.1)
        running.kill()
    command = ("-", "--target", "class", OURS, "--task", "classification")
    resumed, whole = tmp_path / "resumed.json", tmp_path / "whole.json"
    kept = ("--checkpoint", tmp_path / "race", "--resume")
    result = run(*command, *kept, "--json", resumed, stdin=rows)
    assert result.exit_code == 0, result.output
    run(*command, "--json", whole, stdin=rows)
    assert scores_of(resumed) == scores_of(whole)


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """A checkpoint of a short race."""
    path = tmp_path / "race"
    usual = ("ImageSegments", FAST, OURS, "--limit", 60)
    assert run(*usual, "--checkpoint", path).exit_code == 0
    return path


def test_checkpoints_of_other_races_are_refused(checkpoint: Path) -> None:
    """Nor is a checkpoint overwritten that nobody asked to resume."""
    usual = ("ImageSegments", "--checkpoint", checkpoint)
    assert_refused(run(*usual, FAST, OURS), "exists", "--resume")
    assert_refused(run(*usual, FAST, "--resume"), "another learners", OURS)
    assert_refused(run(*usual, FAST, OURS, "--seed", 9, "--resume"), "another seed", "1, not 9")
    assert_refused(run(*usual, FAST, OURS, "--limit", 50, "--resume"), "fewer rows than the 60")
    assert_refused(run("ImageSegments", FAST, "--resume"), "--checkpoint")
    assert_refused(run("ImageSegments", "--checkpoint", "no/folder/c"), "no folder")


def test_a_race_does_not_go_on_over_other_rows(tmp_path: Path) -> None:
    """A file that was replaced, or whose first rows have changed, is another stream."""
    rows = ["a,label"] + [f"{i},{'ny'[i % 2]}" for i in range(60)]
    table, kept = tmp_path / "table.csv", ("--checkpoint", tmp_path / "race")
    table.write_text("\n".join(rows[:31]))
    usual = (table, "--target", "label", OURS, *kept)
    assert run(*usual).exit_code == 0
    table.write_text("\n".join([*rows[:30], "30,n", *rows[31:]]))
    assert_refused(run(*usual, "--resume"), "first 30 rows of", "cannot be found in the checkpoint")
    table.write_text("\n".join(rows))
    result = run(*usual, "--resume")
    assert result.exit_code == 0, result.output


def test_damaged_checkpoints_are_refused(checkpoint: Path) -> None:
    """A changed byte is noticed before anything of the file is run."""
    content = bytearray(checkpoint.read_bytes())
    content[-100] ^= 1
    checkpoint.write_bytes(content)
    resumed = run("ImageSegments", FAST, OURS, "--checkpoint", checkpoint, "--resume")
    assert_refused(resumed, "not a valid checkpoint", "does not match its hash")


def hostile(document: Any, *names: str) -> bytes:
    """A checkpoint of the right hash that no race has written."""
    arrays = {name: np.zeros(8, np.uint8) for name in names}
    return container.pack(checkpoints.MAGIC, checkpoints.VERSION, document, arrays)


SOUND = {"plan": {}, "items": 1, "packages": {}, "models": ["x"]}


@pytest.mark.parametrize(
    "content",
    [
        *(hostile(document, "race") for document in ([], {}, None, 1, {**SOUND, "more": 1})),
        *(hostile({**SOUND, "plan": plan}, "race", "model 0") for plan in (1, None, [])),
        *(hostile({**SOUND, "items": items}, "race", "model 0") for items in ("1", 1.5, True)),
        *(hostile({**SOUND, "packages": each}, "race", "model 0") for each in (1, {"river": 1})),
        *(hostile({**SOUND, "models": each}, "race", "model 0") for each in ("x", [1], {"x": 1})),
        *(hostile(SOUND, *names) for names in ((), ("race",), ("race", "model 0", "model 1"))),
    ],
)
def test_forged_checkpoints_are_refused(content: bytes, tmp_path: Path) -> None:
    """Whatever is done with them, in one line."""
    path = tmp_path / "forged"
    path.write_bytes(content)
    for command in (["info"], ["info", "--learner", "x"], ["draw", "--learner", "x"]):
        result = CliRunner().invoke(app, [command[0], str(path), *command[1:]])
        assert_refused(result, "not a valid checkpoint", "not those of a race")
    resumed = run("ImageSegments", OURS, "--checkpoint", path, "--resume")
    assert_refused(resumed, "not a valid checkpoint")


def test_checkpoints_of_strange_plans_and_models_are_refused(tmp_path: Path) -> None:
    """They have the form of one: what is in them is not trusted, either."""
    path = tmp_path / "forged"
    path.write_bytes(hostile(SOUND, "race", "model 0"))
    assert "saved models" in run_info(path)
    refused = CliRunner().invoke(app, ["info", str(path), "--learner", "x"])
    assert_refused(refused, "not a valid model file")
    resumed = run("ImageSegments", OURS, "--checkpoint", path, "--resume")
    assert_refused(resumed, "belongs to a race with another", "None, not")


def test_terminals_do_not_obey_files(tmp_path: Path) -> None:
    """Names of features and labels are shown, whatever characters they have."""
    model = river_extra_trees.StreamDecisionTreeClassifier(batch_size=4, seed=1)
    for i in range(8):
        model.learn_one({"\x1b[2J\\[/x]": i % 2, "\ud800": 1.0}, f"\x07{i % 2}\x1b[31m")
    path = tmp_path / "model"
    persistence.save(model, path)
    said = run_info(path)
    drawn = CliRunner().invoke(app, ["draw", str(path)])
    assert drawn.exit_code == 0
    for text in (said, drawn.stdout):
        assert "\x1b" not in text
        assert "\\x1b[2J\\[/x]" in text
    assert "\\xd800" in said
    assert "\\x070\\x1b[31m" in drawn.stdout


def test_checkpoints_of_other_versions_are_refused(
    checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pickles are for the versions that wrote them."""
    monkeypatch.setattr(checkpoints, "versions", lambda: {"river": "0.0"})
    resumed = run("ImageSegments", FAST, OURS, "--checkpoint", checkpoint, "--resume")
    assert_refused(resumed, "was written by other versions", "0.0")


def test_checkpoints_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk is one line, and exit status 2."""

    def fail(path: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoints, "replace_file", fail)
    path = tmp_path / "results.json"
    kept = ("--checkpoint", tmp_path / "race", "--every", 5, "--json", path)
    result = run("ImageSegments", FAST, "--limit", 9, *kept)
    assert_refused(result, "cannot write", "No space left", stdout="5 of 9 samples")
    assert json.loads(path.read_text())["items"] == 5


def test_models_with_labels_that_no_model_file_holds_are_pickled(tmp_path: Path) -> None:
    """Such as those of a Parquet file with decimals."""
    path = tmp_path / "table.parquet"
    labels = [decimal.Decimal(i % 2) for i in range(60)]
    pd.DataFrame({"a": range(60), "label": labels}).to_parquet(path)
    usual = (path, "--target", "label", OURS, "--checkpoint", tmp_path / "race")
    assert run(*usual, "--limit", 30).exit_code == 0
    result = run(*usual, "--resume")
    assert result.exit_code == 0, result.output
    assert "60 of 60 samples" in result.stdout


def test_a_model_that_nothing_can_hold_replaces_no_checkpoint() -> None:
    """The error says which learner it is, and why."""
    model = river_extra_trees.StreamDecisionTreeClassifier()
    model.learn_one({"a": 1.0}, lambda: None)
    with pytest.raises(UserError, match="this StreamDecisionTreeClassifier cannot be saved"):
        checkpoints.require_pickle(model)


def test_info_and_draw_of_a_model_file(tmp_path: Path) -> None:
    """What a model is, as text; what a tree looks like, as text and as a picture."""
    model = river_extra_trees.ExtraTreesClassifier(
        n_models=3, batch_size=20, window_sizes=(50, 100), seed=1
    )
    for x, y in datasets.Phishing().take(100):
        model.learn_one(x, y)
    path = tmp_path / "phishing.model"
    persistence.save(model, path)
    said = run_info(path)
    for word in ("ExtraTreesClassifier", "n_models=3", "100", "is_popular", "trees"):
        assert word in said
    weights = [f"{size} samples {weight:.0%}" for size, weight in model.window_weights.items()]
    assert re.search(rf"window weights +{'; '.join(weights)}", said)
    result = CliRunner().invoke(app, ["draw", str(path), "--tree", "2", "--max-depth", "9"])
    assert result.stdout == model.to_text(2, 9) + "\n"
    picture = tmp_path / "tree.png"
    result = CliRunner().invoke(app, ["draw", str(path), "--output", str(picture)])
    assert result.exit_code == 0, result.output
    assert picture.stat().st_size > 1000
    persistence.save(compose.Prefixer("my ") | model, path)
    said = run_info(path)
    for word in ("Prefixer | ExtraTreesClassifier", "n_models=3"):
        assert word in said
    result = CliRunner().invoke(app, ["draw", str(path), "--tree", "2", "--max-depth", "9"])
    assert result.stdout == model.to_text(2, 9) + "\n"


def test_info_and_draw_of_a_checkpoint(checkpoint: Path) -> None:
    """The race as a whole, and the models of this package in it."""
    said = run_info(checkpoint)
    for word in ("ImageSegments", "60", FAST, OURS, "river"):
        assert word in said
    assert "StreamDecisionTreeClassifier" in run_info(checkpoint, "--learner", OURS)
    result = CliRunner().invoke(app, ["draw", str(checkpoint), "--learner", OURS])
    assert result.exit_code == 0, result.output


def test_files_that_are_no_models_are_refused(checkpoint: Path, tmp_path: Path) -> None:
    """In one line each."""
    (tmp_path / "other").write_text("something else")
    model = tmp_path / "model"
    persistence.save(river_extra_trees.StreamDecisionTreeClassifier(), model)

    def refused(*arguments: object, says: str) -> None:
        assert_refused(CliRunner().invoke(app, list(map(str, arguments))), says)

    refused("info", tmp_path / "other", says="not a valid model file")
    refused("info", tmp_path / "absent", says="cannot read")
    refused("info", tmp_path, says="cannot read")
    refused("draw", checkpoint, says="--learner")
    refused("draw", checkpoint, "--learner", FAST, says="--learner")
    refused("draw", model, "--learner", FAST, says="not a checkpoint")
    refused("draw", model, "--tree", 4, says="there is no tree 4")
    refused("draw", model, "--output", tmp_path / "tree.txt", says=".png, .svg, .pdf or .html")
