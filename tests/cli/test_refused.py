"""Commands that cannot be run: each is refused in one line, and changes nothing."""

import os
from pathlib import Path

import pytest

import river_extra_trees as ret
from river_extra_trees import persistence
from tests.tools.command_line import FAST, OURS, assert_refused, run

REFUSED = {
    "race Fishing --csv old.csv --plot new.png": ["'Fishing'", "did you mean 'Phishing'?"],
    "race Quux": ["'Quux'", "river's data sets are ", "Phishing"],
    "race Phishing --csv new.parquet": ["new.parquet: the name must end in .csv, .txt"],
    f"race header.csv {FAST} --target t": ["no column 't'; there are a, y"],
    f"race header.csv {FAST} --target y --kind a=number --kind a=nominal": ["has two kinds"],
    f"race Phishing {FAST} --metric F1:pos_val=<=50K": ["with quotation marks around a text"],
    "race missing.parquet --target y": ["no file 'missing.parquet'"],
    "race empty.csv --target y": ["is empty"],
    "race header.csv --target y": ["no rows"],
    f"race header.csv {FAST}": ["--target"],
    "race Phishing --target y": ["bundled"],
    f"race header.csv {FAST} --target y --kind a": ["write it as COLUMN=KIND"],
    f"race header.csv {FAST} --target y --kind a=colour": ["--kind: ", "colour"],
    "race Phishing --task regression": ["for classification, not for regression"],
    "race Phishing StreamForest": ["no learner 'StreamForest'", "'StreamDecisionForest'?"],
    "race Phishing Quux": ["no learner 'Quux'; there are ", "ExtraTreesClassifier"],
    "race Phishing HoefdingTree": ["did you mean 'HoeffdingTree'?"],
    "race Phishing no.such.Learner": ["no learner 'no.such.Learner': No module named 'no'"],
    "race Phishing river.tree.Quux": ["has no attribute 'Quux'"],
    "race Phishing river.metrics.Accuracy": ["is not a learner for classification"],
    "race Phishing HoeffdingTreeRegressor": ["is not a learner for classification"],
    f"race Phishing {FAST}:depth=3": ["no parameter 'depth'", "max_depth"],
    f"race Phishing {FAST}:max_depth=": ["Name:key=value"],
    f"race Phishing {FAST}:3": ["Name:key=value"],
    "race Phishing StreamDecisionTreeClassifier:batch_size=0": ["batch_size"],
    "race Phishing SKL2RiverClassifier:estimator=None": ["cannot create SKL2RiverClassifier: "],
    f"race Phishing {FAST} {FAST}": ["given twice"],
    f"race Phishing {FAST} --metric Acuracy": ["no metric 'Acuracy'; did you mean 'Accuracy'?"],
    f"race Phishing {FAST} --metric Quux": ["no metric 'Quux'; there are ", "MacroF1"],
    f"race Phishing {FAST} --metric ConfusionMatrix": ["not give a single number"],
    f"race Phishing {FAST} --metric MAE": ["cannot score"],
    f"race Phishing {FAST} --csv no/such/folder.csv": ["no folder"],
    f"race Phishing {FAST} --plot picture.doc": [".png"],
    f"race header.csv {FAST} --target y --csv hard.csv": ["hard.csv is an input"],
    # Outputs are checked first.
    "race Fishing --csv .": ["cannot write .: "],
    f"race Fishing --plot {'x' * 300}.png": [f"cannot write {'x' * 300}.png: "],
    "train Fishing StreamDecisionTree --save . --resume": ["cannot write .: "],
    f"train Phishing {FAST} --save new": ["this learner cannot be saved to a model file"],
    f"train Phishing {OURS} --save no/new": ["there is no folder"],
    "predict absent header.csv": ["cannot read"],
    "info empty.csv": ["not a valid model file"],
    "info absent": ["cannot read"],
    "info .": ["cannot read"],
    "draw m.png --tree 4": ["there is no tree 4"],
    "draw m.png --output tree.txt": [".png, .svg, .pdf"],
    "draw m.png --output m.png": ["is an input"],
    "serve absent": ["cannot read"],
    "serve m.png --fixed-labels --port 0": ["--fixed-labels needs a model that has learned labels"],
    "serve m.png --host no.such.host.invalid": ["cannot listen on no.such.host.invalid:8000: "],
}


@pytest.mark.parametrize("command", REFUSED)
def test_refused(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With status 2; no file is made or touched."""
    for name, content in (("empty.csv", ""), ("header.csv", "a,y\n"), ("old.csv", "earlier")):
        (tmp_path / name).write_text(content)
    (tmp_path / "hard.csv").hardlink_to(tmp_path / "header.csv")
    persistence.save(ret.StreamDecisionTreeClassifier(), tmp_path / "m.png")
    for path in tmp_path.iterdir():
        os.utime(path, (1, 1))
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    monkeypatch.chdir(tmp_path)
    assert_refused(run(*command.split()), *REFUSED[command], stdout="")
    after = {path: path.read_bytes() for path in tmp_path.glob("[!.]*")}  # without a lock
    assert after == before
    assert {path.stat().st_mtime for path in before} == {1}


@pytest.mark.parametrize(
    "command",
    [
        *("race Phishing --task other", "race Phishing --on-bad-row other"),
        *(f"serve m.png --max-body {limit}" for limit in ("inf", "nan", "0")),
    ],
)
def test_values_of_options(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Typer, or the command itself, refuses other values, and names the option."""
    persistence.save(ret.StreamDecisionTreeClassifier(), tmp_path / "m.png")
    monkeypatch.chdir(tmp_path)
    result = run(*command.split())
    assert (result.exit_code, command.split()[2] in result.stderr) == (2, True)
