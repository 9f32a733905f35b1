"""How model files are written: kills, full disks, other writers, permissions."""

from __future__ import annotations

import multiprocessing
import os
import stat
from pathlib import Path
from typing import Any

import pytest

import river_extra_trees as ret
from river_extra_trees import persistence
from river_extra_trees.persistence import atomic

pytest.importorskip("fcntl", reason="test_writing_windows.py tests what Windows does")

from river_extra_trees.persistence import writing_posix
from tests.tools.killing import kill_often


@pytest.mark.slow
def test_killed_processes_leave_whole_files(tmp_path: Path) -> None:
    """After a kill -9 in the middle of a save the file is whole; the next save cleans up."""
    counts = kill_often(tmp_path, kills=50)
    assert counts["kills"] == 50
    assert counts["unreadable"] == counts["left_after_next_save"] == 0


def test_failed_writes_leave_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No space, an interrupt: the old file and nothing else."""
    path = tmp_path / "model"
    persistence.save(ret.StreamDecisionTreeClassifier(batch_size=7), path)
    for error in (OSError("no space"), KeyboardInterrupt()):

        def fail(file: int, content: Any, error: BaseException = error) -> int:
            raise error

        with monkeypatch.context() as patch:
            patch.setattr(os, "write", fail)
            with pytest.raises(type(error)):
                persistence.save(ret.StreamDecisionTreeClassifier(), path)
        assert os.listdir(tmp_path) == ["model"]
        assert persistence.load(path).batch_size == 7


def test_two_writers_wait_for_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A temporary file that took its final name while it was waited for is not written again."""
    path = tmp_path / "model"
    real, calls = writing_posix.is_at, []

    def is_at(file: int, temporary: Path) -> bool:
        calls.append(temporary)
        if len(calls) == 1:
            temporary.unlink()  # as the other writer's rename does
        return real(file, temporary)

    monkeypatch.setattr(writing_posix, "is_at", is_at)
    persistence.save(ret.StreamDecisionTreeClassifier(), path)
    assert len(calls) == 2
    assert os.listdir(tmp_path) == ["model"]
    monkeypatch.setattr(writing_posix, "is_at", lambda file, temporary: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        persistence.save(ret.StreamDecisionTreeClassifier(), path)


def test_a_longer_file_that_was_left_behind_leaves_nothing(tmp_path: Path) -> None:
    """What an interrupted process has written is not the end of what the next one writes."""
    model = ret.StreamDecisionTreeClassifier(batch_size=7)
    (tmp_path / ".model.saving").write_bytes(bytes(10**6))
    persistence.save(model, tmp_path / "model")
    assert (tmp_path / "model").read_bytes() == persistence.save_bytes(model)
    assert os.listdir(tmp_path) == ["model"]


def test_bytes_are_on_the_disk_before_they_replace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The temporary file is flushed, takes its name, and then the folder is flushed."""
    calls = []

    def spy(name: str) -> None:
        real = getattr(os, name)

        def call(*arguments: Any) -> Any:
            folder = name == "fsync" and stat.S_ISDIR(os.fstat(arguments[0]).st_mode)
            calls.append(f"{name} folder" if folder else name)
            return real(*arguments)

        monkeypatch.setattr(os, name, call)

    for name in ("write", "fsync", "replace"):
        spy(name)
    persistence.save(ret.StreamDecisionTreeClassifier(), tmp_path / "model")
    assert calls == ["write", "fsync", "replace", "fsync folder"]


def save_often(path: Path, content: bytes) -> None:
    for _ in range(25):
        atomic.replace_file(path, content)


def test_processes_that_save_the_same_file_take_turns(tmp_path: Path) -> None:
    """The file is always that of one of them; none fails, and nothing is left."""
    path = tmp_path / "model"
    contents = (b"a" * 2_000_000, b"b" * 1_500_000)
    path.write_bytes(contents[0])
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=save_often, args=(path, content)) for content in contents]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        assert path.read_bytes() in contents
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert os.listdir(tmp_path) == ["model"]


def test_a_link_in_the_place_of_the_temporary_file_is_not_followed(tmp_path: Path) -> None:
    """Nobody may choose what is written to."""
    (tmp_path / "other").write_text("of somebody else")
    (tmp_path / ".model.saving").symlink_to(tmp_path / "other")
    with pytest.raises(OSError, match="symbolic links"):
        persistence.save(ret.StreamDecisionTreeClassifier(), tmp_path / "model")
    assert (tmp_path / "other").read_text() == "of somebody else"
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o666], ids=oct)
def test_permissions_stay(mode: int, tmp_path: Path) -> None:
    """A file that others may not read is not opened to them; its owner may write."""
    path = tmp_path / "model"
    path.touch()
    path.chmod(mode)
    persistence.save(ret.StreamDecisionTreeClassifier(), path)
    assert stat.S_IMODE(path.stat().st_mode) == mode | 0o600


def test_what_replaces_a_closed_file_is_closed_from_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who opens the temporary file before it is written could read it later."""
    path = tmp_path / "model"
    path.touch()
    path.chmod(0o600)
    real, modes = os.ftruncate, []

    def spy(file: int, length: int) -> None:
        modes.append(stat.S_IMODE(os.fstat(file).st_mode))
        real(file, length)

    monkeypatch.setattr(os, "ftruncate", spy)
    persistence.save(ret.StreamDecisionTreeClassifier(), path)
    assert modes == [0o600]


@pytest.mark.parametrize("allowed", [True, False])
def test_a_group_that_cannot_be_given_gets_nothing(
    allowed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is given the group of the one before it, or closed to the group it has."""
    path = tmp_path / "model"
    path.touch()
    path.chmod(0o640)
    old, given = path.stat(), []

    def fchown(file: int, owner: int, group: int) -> None:
        given.append((owner, group))
        if not allowed:
            raise PermissionError

    fields = list(old)
    fields[stat.ST_GID] = old.st_gid + 1
    monkeypatch.setattr(os, "fchown", fchown)
    monkeypatch.setattr(atomic, "status_of", lambda path: os.stat_result(fields))
    persistence.save(ret.StreamDecisionTreeClassifier(), path)
    assert given == [(-1, old.st_gid + 1)]
    assert stat.S_IMODE(path.stat().st_mode) == (0o640 if allowed else 0o600)


def test_only_regular_files_are_replaced(tmp_path: Path) -> None:
    """A pipe, a device and a folder stay what they are."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/null")):
        before = path.stat().st_mode
        with pytest.raises(OSError, match="only a regular file can be replaced"):
            persistence.save(ret.StreamDecisionTreeClassifier(), path)
        assert path.stat().st_mode == before
    assert os.listdir(tmp_path) == ["pipe"]


def test_the_longest_names_can_be_saved(tmp_path: Path) -> None:
    """Though nothing can be added to them for the temporary file."""
    for name in ("n" * 255, "ü" * 127):
        persistence.save(ret.StreamDecisionTreeClassifier(), tmp_path / name)
        assert persistence.load(tmp_path / name).n_samples_seen == 0
    assert len(os.listdir(tmp_path)) == 2


def test_links_stay_links(tmp_path: Path) -> None:
    """Saving through a symbolic link replaces what it points to."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real" / "model")
    persistence.save(ret.StreamDecisionTreeClassifier(), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert persistence.load(tmp_path / "real" / "model").n_samples_seen == 0
