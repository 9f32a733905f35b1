"""The streams of the benchmarks: where they come from, and what is made of their files."""

import hashlib
import tomllib
from pathlib import Path

import pytest

from examples.benchmarks.common import downloads, generated, results, streams
from examples.benchmarks.common.raw_tables import Layout
from river_extra_trees.cli import UserError
from river_extra_trees.cli.streams import bundled_names

SOURCES = tomllib.loads(downloads.SOURCES.read_text(encoding="utf-8"))

TABLE = "tau1,p1,target\n1.5,3.0,0.1\n2.5,,0.2\n"
RAW = "id,tau1,stab,p1\n7,1.5,0.1,3.0\n8,2.5,0.2,?\n"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A site with one file, from which the stream `made` is made."""
    folder = tmp_path / "someone" / "tables" / "abc"
    folder.mkdir(parents=True)
    (folder / "raw.csv").write_text(RAW)
    sources = tmp_path / "sources.toml"
    sources.write_text(
        '[commits]\n"someone/tables" = "abc"\n[elsewhere]\ngone_ = "a shelf"\n'
        '[streams.made]\nfrom = "someone/tables"\nfiles = ["raw.csv"]\n'
        f'drop = [0]\ntarget = 1\nheader = "names"\nsha256 = "{digest(TABLE)}"\n'
    )
    monkeypatch.setattr(downloads, "SITE", tmp_path.as_uri())
    monkeypatch.setattr(downloads, "SOURCES", sources)
    monkeypatch.setenv("RIVER_EXTRA_TREES_DATA", str(tmp_path / "kept"))
    return folder


def digest(table: str) -> str:
    return hashlib.sha256(table.encode()).hexdigest()


def test_download(site: Path) -> None:
    """What was downloaded is kept, and is not downloaded again."""
    rows = [({"tau1": 1.5, "p1": 3.0}, 0.1), ({"tau1": 2.5}, 0.2)]
    assert streams.load("made", "regression", 9) == rows
    (site / "raw.csv").unlink()
    assert streams.load("made", "regression", 9) == rows


def test_other_table(site: Path) -> None:
    """A table that is not the measured one is refused, and not kept."""
    (site / "raw.csv").write_text(RAW.replace("7,1.5", "7,1.6"))
    with pytest.raises(UserError, match=f"not {digest(TABLE)}"):
        downloads.download("made")
    assert not (downloads.folder() / "made.csv.gz").exists()


@pytest.mark.usefixtures("site")
def test_unknown_stream() -> None:
    """A stream that cannot be downloaded is named with its source, as far as it is known."""
    with pytest.raises(UserError, match=r"'gone_1'.*RIVER_EXTRA_TREES_DATA.*a shelf"):
        downloads.download("gone_1")


def test_streams_that_are_left_out(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One that cannot be downloaded is named, and the others follow; one at least must be there."""
    (site / "raw.csv").unlink()

    def load(name: str) -> streams.Rows:
        return streams.load(name, "classification", 20)

    found = [(name, len(rows)) for name, rows in streams.loaded(["made", "Phishing"], load)]
    assert found == [("Phishing", 20)]
    assert capsys.readouterr().err.startswith("note: made is left out: cannot download ")
    with pytest.raises(UserError, match="none of the streams"):
        list(streams.loaded(["made"], load))


def test_every_stream_has_a_source() -> None:
    """Every stream of the README's tables is generated, comes with river, or has a source."""
    known = {*generated.MAKERS, *bundled_names(), *SOURCES["streams"]}
    for names in streams.UNSEEN.values():
        assert set(names) <= known
    assert {source["from"] for source in SOURCES["streams"].values()} == set(SOURCES["commits"])


@pytest.mark.parametrize(
    ("layout", "raw", "table"),
    [
        ({}, "@relation r\n@attribute 'a b' {'x y', z}\n@attribute c real\n@data\n% no row\n\n"
             "'x y', ?\nz,2.,\n", "a b,target\nx y,\nz,2\n"),
        ({}, "@ATTRIBUTE a real\n@ATTRIBUTE b real\n@DATA\n1 2\n", "a,target\n1,2\n"),
        ({"header": "skip"}, "A1, A2,Class\n1,2,3\n", "a0,a1,target\n1,2,3\n"),
        ({"target": 0}, "p;1;2\n", "a1,a2,target\n1,2,p\n"),
        ({"names": ["u", "v"]}, " 0.5  1 \n", "u,target\n0.5,1\n"),
    ],
)  # fmt: skip
def test_layouts(layout: dict[str, object], raw: str, table: str) -> None:
    """Tables of any form become CSV with the target last; values stay as they are written."""
    assert Layout(**layout).read([raw]) == table  # type: ignore[arg-type]


def test_runs_leave_the_recorded_results_alone() -> None:
    """By default, runs write into a folder that git ignores."""
    assert results.OWN.parts[0] == "build"
    recorded, own = {"key": "1", "score": "2"}, {"key": "1", "score": "3"}
    assert results.in_place_of([recorded, {**recorded, "key": "2"}], [own], ["key"]) == [
        own,
        {**recorded, "key": "2"},
    ]
