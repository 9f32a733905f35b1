"""The commands `info` and `draw` for saved models, and resumed training."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import pytest
from river import compose, datasets

import river_extra_trees as ret
from river_extra_trees import persistence
from tests.tools.command_line import OURS, assert_refused, done, learner_in, run


def train(*arguments: object, stdin: str | None = None) -> Any:
    return run("train", *arguments, stdin=stdin)


ROWS = "a,label\n" + "".join(f"{i % 13},{'ny'[i % 13 > 6]}\n" for i in range(300))
USUAL = ("-", OURS, "--target", "label")


def test_a_resumed_training_ends_as_an_uninterrupted_one(tmp_path: Path) -> None:
    """The model files are equal; training without new rows is an error."""
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
    """`--resume` skips only samples of the present data, not those of the model to continue."""
    first, second, whole = (tmp_path / f"{name}.model" for name in ("first", "second", "whole"))
    assert train(*USUAL, "--save", first, stdin=ROWS).exit_code == 0
    on = ("-", first, "--target", "label")
    assert train(*on, "--save", second, "--limit", 100, stdin=ROWS).exit_code == 0
    assert train(*on, "--save", second, "--resume", stdin=ROWS).exit_code == 0
    assert train(*on, "--save", whole, stdin=ROWS).exit_code == 0
    assert second.read_bytes() == whole.read_bytes()


def test_files_of_other_trainings_are_not_resumed(tmp_path: Path) -> None:
    """A file of another learner, or with fewer samples than the model to continue, is an error."""
    path, older = tmp_path / "m.model", tmp_path / "older.model"
    assert train(*USUAL, "--save", path, stdin=ROWS).exit_code == 0
    assert train(*USUAL, "--save", older, "--limit", 9, stdin=ROWS).exit_code == 0
    other = ("-", f"{OURS},max_depth=3", "--target", "label", "--save", path, "--resume")
    assert_refused(train(*other, stdin=ROWS), "holds another learner", "another file")
    on = ("-", path, "--target", "label", "--save", older, "--resume")
    assert_refused(train(*on, stdin=ROWS), "fewer samples than the model to continue")


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

    def fail(model: Any, path: Path) -> None:
        raise error

    monkeypatch.setattr(persistence, "save", fail)
    path = tmp_path / "m.model"
    result = train(*USUAL, "--save", path, "--every", 50, stdin=ROWS)
    reason = getattr(error, "strerror", str(error))
    assert_refused(result, f"error: cannot write {path}: {reason}\n", stdout="50 samples")


def test_a_killed_training_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the samples since the last save are lost."""

    class KilledError(BaseException):
        """The end of the process after three saves."""

    save, saves = persistence.save, itertools.count(1)

    def save_or_die(model: Any, path: Path) -> None:
        if next(saves) > 3:
            raise KilledError
        save(model, path)

    usual = (*USUAL, "--task", "classification", "--save")  # no row is read before the resumption
    path, whole = tmp_path / "m.model", tmp_path / "whole.model"
    monkeypatch.setattr(persistence, "save", save_or_die)
    with pytest.raises(KilledError):
        train(*usual, path, "--every", 25, stdin=ROWS)
    monkeypatch.undo()
    assert learner_in(path).n_samples_seen == 75
    assert train(*usual, path, "--resume", stdin=ROWS).exit_code == 0
    assert train(*usual, whole, stdin=ROWS).exit_code == 0
    assert path.read_bytes() == whole.read_bytes()


def test_terminals_do_not_obey_files(tmp_path: Path) -> None:
    """Control characters in names of features and labels are escaped."""
    model = ret.StreamDecisionTreeClassifier(batch_size=4, seed=1)
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
    """`info` describes a model; `draw` shows a tree as text and as a picture."""
    model = ret.ExtraTreesClassifier(n_models=3, batch_size=20, window_sizes=(50, 100), seed=1)
    for x, y in datasets.Phishing().take(100):
        model.learn_one(x, y)
    path = tmp_path / "phishing.model"
    persistence.save(model, path)
    said = done("info", path).stdout
    for word in ("classification", "n_models=3", "100", "True, False", ret.__version__):
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
    """Each error is one line."""
    (tmp_path / "other").write_text("something else")
    model = tmp_path / "model"
    persistence.save(ret.StreamDecisionTreeClassifier(), model)

    def refused(*arguments: object, says: str) -> None:
        assert_refused(run(*arguments), says)

    refused("info", tmp_path / "other", says="not a valid model file")
    refused("info", tmp_path / "absent", says="cannot read")
    refused("info", tmp_path, says="cannot read")
    refused("draw", model, "--tree", 4, says="there is no tree 4")
    refused("draw", model, "--output", tmp_path / "tree.txt", says=".png, .svg, .pdf")
