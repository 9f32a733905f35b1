"""How files are replaced on Windows; the same code works on all systems."""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path

import pytest

from river_extra_trees.persistence.writing_windows import require_writable, write_in_turn

OLD, NEW = b"old", b"new" * 1000


def write(path: Path, content: bytes) -> None:
    write_in_turn(path, path.with_name(f".{path.name}.saving"), content, None)


def visible(folder: Path) -> list[str]:
    """All files but those of locks, which are removed on Windows only."""
    return [path.name for path in folder.iterdir() if path.suffix != ".lock"]


def test_the_new_file_replaces_the_old_one(tmp_path: Path) -> None:
    """Also where a killed process has left a longer temporary file."""
    (tmp_path / ".model.saving").write_bytes(bytes(10**6))
    for content in (OLD, NEW):
        write(tmp_path / "model", content)
        assert (tmp_path / "model").read_bytes() == content
    assert visible(tmp_path) == ["model"]


def test_failed_writes_leave_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No space, or a reader that Windows does not take the file from: the old file stays."""
    write(tmp_path / "model", OLD)
    for place, name in ((os, "fsync"), (Path, "replace")):

        def fail(*_: object) -> None:
            raise PermissionError

        with monkeypatch.context() as patch:
            patch.setattr(place, name, fail)
            with pytest.raises(PermissionError):
                write(tmp_path / "model", NEW)
        assert visible(tmp_path) == ["model"]
        assert (tmp_path / "model").read_bytes() == OLD


def test_asking_leaves_nothing(tmp_path: Path) -> None:
    """Whether a file can be written is found out, and nothing is left of it."""
    require_writable(tmp_path / ".model.saving")
    assert visible(tmp_path) == []
    with pytest.raises(OSError, match="nowhere"):
        require_writable(tmp_path / "nowhere" / ".model.saving")


def write_often(path: Path, content: bytes) -> None:
    for _ in range(25):
        write(path, content)


@pytest.mark.slow
def test_processes_that_save_the_same_file_take_turns(tmp_path: Path) -> None:
    """The file is that of one of them; none fails, and nothing is left."""
    path = tmp_path / "model"
    contents = (b"a" * 2_000_000, b"b" * 1_500_000)
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=write_often, args=(path, content)) for content in contents]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert path.read_bytes() in contents
    assert visible(tmp_path) == ["model"]
