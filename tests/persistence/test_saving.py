"""How files are replaced: kills, full disks, other writers, permissions."""

import os
import random
import signal
import stat
import sys
import time
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from river import datasets

import river_extra_trees as ret
from river_extra_trees import persistence
from river_extra_trees.persistence import atomic
from tests.tools.estimators import learn
from tests.tools.systems import needs_links, needs_pipes, needs_signals

needs_modes = pytest.mark.skipif(sys.platform == "win32", reason="files have no modes")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The file of a model."""
    persistence.save(ret.StreamDecisionTreeClassifier(batch_size=7), tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.slow
@needs_signals
def test_killed_processes_leave_whole_files(path: Path) -> None:
    """After a kill -9 in the middle of a save the file is whole."""
    rows = list(datasets.Phishing().take(600))
    models = [learn(ret.ExtraTreesClassifier(seed=1), rows[:n]) for n in (600, 20)]
    contents = tuple(map(persistence.save_bytes, models))
    persistence.save(models[0], path)
    rng = random.Random(0)
    for _ in range(int(os.environ.get("RIVER_EXTRA_TREES_KILLS", "50"))):
        writer = os.fork()
        while writer == 0:
            for content in contents:
                atomic.replace_file(path, content)
        time.sleep(0.02 * rng.random())  # some saves
        os.kill(writer, signal.SIGKILL)
        os.waitpid(writer, 0)
        assert path.read_bytes() in contents
        left = list(path.parent.glob(".*.saving"))
        assert len(left) <= 1
        for temporary in left:
            temporary.unlink()


@pytest.mark.parametrize("error", [OSError("no space"), KeyboardInterrupt()], ids=repr)
def test_failed_writes_leave_the_old_file(
    path: Path, error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No space, an interrupt: the old file and nothing else."""
    monkeypatch.setattr(os, "fsync", mock.Mock(side_effect=error))
    with pytest.raises(type(error)):
        persistence.save(ret.StreamDecisionTreeClassifier(), path)
    assert os.listdir(path.parent) == ["model"]
    assert persistence.load(path).batch_size == 7


def test_what_killed_saves_have_left_goes_after_an_hour(path: Path) -> None:
    """Temporary files of saves that may go on stay, and so does all else."""
    names = [f".{'0' * 16}.saving", f".{'1' * 16}.saving", ".mine.saving", "old"]
    for name in names:
        path.with_name(name).touch()
        if name != names[0]:
            os.utime(path.with_name(name), (1, 1))
    persistence.save(ret.StreamDecisionTreeClassifier(), path)
    assert {*os.listdir(path.parent)} == {"model", *names} - {names[1]}


@needs_modes
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o666], ids=oct)
def test_permissions_stay(mode: int, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its owner may write; nobody else can open the temporary file before it has its mode.

    The temporary file is flushed to the disk, takes its name, and then the folder is flushed.
    """
    path.chmod(mode)
    calls: list[str] = []
    real = os.replace

    def replace(*paths: Any) -> None:
        calls.append("replace")
        real(*paths)

    def fsync(file: int) -> None:
        calls.append(stat.filemode(os.fstat(file).st_mode))

    monkeypatch.setattr(os, "replace", replace)
    monkeypatch.setattr(os, "fsync", fsync)
    persistence.save(ret.StreamDecisionTreeClassifier(), path)
    assert stat.S_IMODE(path.stat().st_mode) == mode | 0o600
    assert calls == ["-rw-------", "replace", stat.filemode(path.parent.stat().st_mode)]


@needs_modes
@pytest.mark.parametrize("allowed", [True, False])
def test_a_group_that_cannot_be_given_gets_nothing(
    allowed: bool, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is given the group of the one before it, or closed to the group it has."""
    path.chmod(0o640)
    fields = list(path.stat())
    fields[stat.ST_GID] += 1
    given = []

    def chown(temporary: Path, owner: int, group: int) -> None:
        given.append((owner, group))
        if not allowed:
            raise PermissionError

    monkeypatch.setattr(os, "chown", chown)
    monkeypatch.setattr(atomic, "_status_of", lambda path, purpose: os.stat_result(fields))
    persistence.save(ret.StreamDecisionTreeClassifier(), path)
    assert given == [(-1, fields[stat.ST_GID])]
    assert stat.S_IMODE(path.stat().st_mode) == (0o640 if allowed else 0o600)


@needs_pipes
@pytest.mark.timeout(60)
def test_only_regular_files_are_replaced_and_read(tmp_path: Path) -> None:
    """A pipe, a device and a folder stay what they are, and are not waited for."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/zero")):
        before = path.stat().st_mode
        with pytest.raises(OSError, match="only a regular file can be replaced"):
            persistence.save(ret.StreamDecisionTreeClassifier(), path)
        with pytest.raises(OSError, match="only a regular file can be read"):
            persistence.load(path)
        assert path.stat().st_mode == before
    assert os.listdir(tmp_path) == ["pipe"]


def test_asking_leaves_nothing(path: Path) -> None:
    """Whether a file can be written is found out, and nothing is left of it."""
    atomic.require_replaceable(path)
    for impossible in (path.parent / "nowhere" / "model", path.with_name("n" * 256)):
        with pytest.raises(OSError, match=r"No such file|too long"):
            atomic.require_replaceable(impossible)
    assert os.listdir(path.parent) == ["model"]


@needs_links
def test_links_stay_links_and_names_may_be_long(tmp_path: Path) -> None:
    """Saving through a symbolic link replaces what it points to."""
    real = tmp_path / "real" / ("ü" * 127)
    real.parent.mkdir()
    (tmp_path / "link").symlink_to(real)
    persistence.save(ret.StreamDecisionTreeClassifier(), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert persistence.load(real).n_samples_seen == 0
