"""The commands `info` and `draw` for saved models, and resumed training."""

import itertools
import re
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from river import compose, datasets

import river_extra_trees as ret
from river_extra_trees import persistence
from tests.tools.command_line import OURS, assert_refused, done, learner_in, run
from tests.tools.estimators import learn
from tests.tools.systems import Alarm

ROWS = "a,label\n" + "".join(f"{i % 13},{'ny'[i % 13 > 6]}\n" for i in range(300))
USUAL = ("-", OURS, "--target", "label")


def train(*arguments: object) -> Any:
    return run("train", *arguments, stdin=ROWS)


def test_a_resumed_training_ends_as_an_uninterrupted_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A killed one has lost the samples since the last save only; nothing new is an error."""
    saves = itertools.chain([mock.DEFAULT] * 3, itertools.repeat(Alarm))
    save = mock.Mock(wraps=persistence.save, side_effect=saves)
    usual = (*USUAL, "--task", "classification", "--save")  # no row is read before the resumption
    path, whole = tmp_path / "m.model", tmp_path / "whole.model"
    monkeypatch.setattr(persistence, "save", save)
    with pytest.raises(Alarm):
        train(*usual, path, "--every", 25)
    monkeypatch.undo()
    assert learner_in(path).n_samples_seen == 75
    for options in (("--limit", 200), ()):
        assert train(*usual, path, "--resume", *options).exit_code == 0
    assert train(*usual, whole).exit_code == 0
    assert path.read_bytes() == whole.read_bytes()
    refused = train(*usual, path, "--resume")
    assert_refused(refused, "no rows beyond those that the model has learned")


def test_a_model_goes_on_and_is_resumed(tmp_path: Path) -> None:
    """`--resume` skips only samples of the present data, not those of the model to continue.

    A file of another learner, or with fewer samples than the model to continue, is refused.
    """
    first, second, whole, older = (tmp_path / f"{name}.model" for name in "1234")
    on = ("-", first, "--target", "label", "--save")
    assert train(*USUAL, "--save", first).exit_code == 0
    for arguments in ((second, "--limit", 100), (second, "--resume"), (whole,)):
        assert train(*on, *arguments).exit_code == 0
    assert second.read_bytes() == whole.read_bytes()
    assert train(*USUAL, "--save", older, "--limit", 9).exit_code == 0
    assert_refused(train(*on, older, "--resume"), "fewer samples than the model to continue")
    other = ("-", f"{OURS},max_depth=3", "--target", "label", "--save", first, "--resume")
    assert_refused(train(*other), "holds another learner", "another file")


@pytest.mark.parametrize(
    "error",
    [
        OSError(28, "No space left on device"),
        persistence.ModelFileError("this tree cannot be saved: a label is a Decimal"),
    ],
)
def test_a_model_that_cannot_be_saved_ends_the_training(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error is one line."""
    monkeypatch.setattr(persistence, "save", mock.Mock(side_effect=error))
    path = tmp_path / "m.model"
    result = train(*USUAL, "--save", path, "--every", 50)
    reason = getattr(error, "strerror", str(error))
    assert_refused(result, f"error: cannot write {path}: {reason}\n", stdout="50 samples")


def test_terminals_do_not_obey_names_in_errors(tmp_path: Path) -> None:
    """Nor those of a header."""
    path = tmp_path / "t.csv"
    path.write_text("\x1b[2J,y\n1,0\n2,1\n")
    for target in ("t", "y"):
        result = run("race", path, "NoChangeClassifier", "--target", target)
        assert "\x1b" not in result.stderr
        assert "[2J" in result.stderr


def test_terminals_do_not_obey_files(tmp_path: Path) -> None:
    """Control characters in names of features and labels are escaped."""
    model = ret.StreamDecisionTreeClassifier(batch_size=4, seed=1)
    for i in range(8):
        model.learn_one({"\x1b[2J\\[/x]": i % 2, "\ud800": 1.0}, f"\x07{i % 2}\x1b[31m")
    path = tmp_path / "model"
    persistence.save(model, path)
    said = done("info", path).stdout
    drawn = done("draw", path).stdout
    for text in (said, drawn):
        assert "\x1b" not in text
        assert "\\x1b[2J\\[/x]" in text
    assert "\\xd800" in said
    assert "\\x070\\x1b[31m" in drawn


def test_info_and_draw_of_a_model_file(tmp_path: Path) -> None:
    """`info` describes a model; `draw` shows a tree as text and as a picture."""
    model = ret.ExtraTreesClassifier(n_models=3, batch_size=20, window_sizes=(50, 100), seed=1)
    learn(model, datasets.Phishing().take(100))
    path = tmp_path / "phishing.model"
    persistence.save(model, path)
    said = done("info", path).stdout
    for word in ("classification", "n_models=3", "100", "True, False", ret.__version__):
        assert word in said
    weights = [f"{memory} samples {weight:.0%}" for memory, weight in model.window_weights.items()]
    assert re.search(rf"window weights +{'; '.join(weights)}", said)
    picture = tmp_path / "tree.png"
    done("draw", path, "--output", picture)
    assert picture.stat().st_size > 1000
    drawn = ("draw", path, "--tree", 2, "--max-depth", 9)
    assert done(*drawn).stdout == model.to_text(2, 9) + "\n"
    persistence.save(compose.Prefixer("my ") | model, path)
    said = done("info", path).stdout
    assert "Prefixer | ExtraTreesClassifier" in said
    assert "n_models=3" in said
    assert done(*drawn).stdout == model.to_text(2, 9) + "\n"
