"""The models of keys in a file: an SQLite database with one open transaction."""

from __future__ import annotations

import contextlib
import ctypes
import os
import pickle
import sqlite3
import typing
import weakref
from collections.abc import Iterable, Iterator
from pathlib import Path

__all__ = ["Row", "Store"]

FORMAT = 1  # of the tables below
CACHE = 4096  # kB of pages in memory
PAGE = 8192  # bytes of a page
LOG = 256  # a commit moves the pages of the log into the file when there are so many

Row = tuple[int, bytes, bytes]  # number of the last sample of the key, name of the key, its model

TABLES = """
CREATE TABLE models (last INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE, model BLOB NOT NULL);
CREATE TABLE state (one INTEGER PRIMARY KEY CHECK (one = 1), state BLOB NOT NULL);
"""


class Store:
    """The models of keys, and a state, in an SQLite file[^1].

    All changes until `commit` belong to one transaction. If the process dies, the file is in the
    state of the last commit. The file is locked while the store is open, so that no two processes
    write to it. A forked process inherits the open file past that lock, and SQLite would damage it:
    only the process that opened the store can use it.

    The number of a row is that of the last sample of its key, which is unique. Rows are written in
    the order of these numbers (see `Keeper`): the table grows at its end, and expired keys are
    deleted at its beginning.

    Parameters
    ----------
    path
        The file. It is created if it does not exist. It contains pickles: make sure that only you
        can write to it.

    References
    ----------
    [^1]: Write-Ahead Logging, sqlite.org/wal.html, sections 3.2 and 8.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).absolute()
        # isolation_level=None: this class begins and ends transactions, not the sqlite3 module.
        try:
            self._connection = sqlite3.connect(
                self.path, timeout=0.0, isolation_level=None, check_same_thread=False
            )
        except sqlite3.Error as error:
            raise type(error)(f"{self.path}: {error}") from None
        self._process = os.getpid()
        STORES.add(self)
        try:
            self._open()
        except sqlite3.Error as error:
            self.close()
            raise type(error)(f"{self.path}: {refused(error)}") from None
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        run = self._database.execute
        run(f"PRAGMA page_size = {PAGE}")
        run(f"PRAGMA cache_size = -{CACHE}")
        run("PRAGMA locking_mode = EXCLUSIVE")  # also keeps the index of the log in memory
        run("PRAGMA journal_mode = WAL")
        run("PRAGMA synchronous = FULL")  # commits survive a power failure
        run(f"PRAGMA wal_autocheckpoint = {LOG}")
        run("PRAGMA journal_size_limit = 0")  # truncate an empty log
        run("BEGIN IMMEDIATE")
        (found,) = run("PRAGMA user_version").fetchone()
        if found == 0 and not run("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
            for statement in TABLES.split(";"):
                run(statement)
            run(f"PRAGMA user_version = {FORMAT}")
        elif found != FORMAT:
            raise ValueError(f"{self.path} is a database, but none of KeyedModels")

    @property
    def _database(self) -> sqlite3.Connection:
        """The connection; RuntimeError in a process that has inherited it."""
        if os.getpid() != self._process:
            raise RuntimeError(
                f"{self.path} was opened before this process was forked; only process "
                f"{self._process} can use these models: open a file of its own in each process"
            )
        return self._connection

    # ------------------------------------------------------------------ models

    def __len__(self) -> int:
        (n,) = self._database.execute("SELECT count(*) FROM models").fetchone()
        return int(n)

    def last_of(self, name: bytes) -> int | None:
        """Return the number of the last sample of a key; `None` if it has no model here."""
        found = self._database.execute("SELECT last FROM models WHERE name = ?", (name,)).fetchone()
        return None if found is None else int(found[0])

    def read(self, name: bytes) -> tuple[int, bytes] | None:
        """Return the number of the last sample of a key, and its model; `None` if it has none."""
        found: tuple[int, bytes] | None = self._database.execute(
            "SELECT last, model FROM models WHERE name = ?", (name,)
        ).fetchone()
        return found

    def rows(self) -> Iterator[Row]:
        """All rows, ordered by the number of the last sample."""
        yield from self._database.execute("SELECT last, name, model FROM models ORDER BY last")

    def write(self, rows: Iterable[Row]) -> None:
        """Write models; earlier models of the same keys are replaced."""
        self._check()
        self._database.executemany("INSERT OR REPLACE INTO models VALUES (?, ?, ?)", rows)

    def delete(self, name: bytes) -> bool:
        """Delete the model of a key; return whether there was one."""
        self._check()
        found = self._database.execute("DELETE FROM models WHERE name = ?", (name,))
        return found.rowcount > 0

    def delete_before(self, last: int) -> list[bytes]:
        """Delete the models of the keys whose last sample is before a number; return the names."""
        self._check()
        run = self._database.execute
        names = [name for (name,) in run("SELECT name FROM models WHERE last < ?", (last,))]
        run("DELETE FROM models WHERE last < ?", (last,))
        return names

    # ------------------------------------------------------------------ transactions

    def state(self) -> typing.Any:
        """Return the state of the last commit; `None` if there was none."""
        found = self._database.execute("SELECT state FROM state").fetchone()
        return None if found is None else pickle.loads(found[0])

    def commit(self, state: typing.Any) -> None:
        """Commit all changes, together with a state.

        Parameters
        ----------
        state
            Any value that can be pickled.
        """
        self._check()
        run = self._database.execute
        run("INSERT OR REPLACE INTO state VALUES (1, ?)", (pickle.dumps(state),))
        run("COMMIT")
        run("BEGIN IMMEDIATE")

    def _check(self) -> None:
        """Raise if there is no transaction: SQLite ends it when the disk is full."""
        if not self._database.in_transaction:
            raise RuntimeError(
                f"{self.path}: an earlier change failed, and all since the last commit are lost; "
                "open the models again and continue from their note"
            )

    @property
    def memory(self) -> int:
        """Largest number of bytes of its pages in memory."""
        return CACHE * 1024

    def close(self) -> None:
        """Close the file. Changes after the last commit are lost."""
        if os.getpid() != self._process:
            return  # the file stays that of the process that has opened it
        with contextlib.suppress(sqlite3.Error):
            self._connection.rollback()
        self._connection.close()

    def __reduce__(self) -> typing.NoReturn:
        raise TypeError(
            f"models that keep a file ({self.path}) cannot be copied or pickled: commit, close and "
            "copy the file"
        )


STORES: weakref.WeakSet[Store] = weakref.WeakSet()


def keep_inherited() -> None:
    """Keep connections open in a forked process until its end.

    Closing one, which its deallocation would do, removes the log in which the other process writes.
    """
    for store in STORES:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(store._connection))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=keep_inherited)


def refused(error: sqlite3.Error) -> str:
    """Say why a file could not be opened."""
    if "locked" in str(error):
        return "another process has this file open"
    return str(error)
