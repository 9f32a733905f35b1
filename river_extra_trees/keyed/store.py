"""The models of keys in a file: an SQLite database with one open transaction."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import os
import pickle
import sqlite3
import typing
import weakref
from pathlib import Path

from .keys import Key, name_of

__all__ = ["Entry", "Store"]

FORMAT = 1  # of the tables below
CACHE = 4096  # kB of pages in memory
PAGE = 8192  # bytes of a page
LOG = 256  # pages of the log above which a commit moves them into the file
PATIENCE = 10.0  # seconds to wait for another process to close the file

SETTINGS = (
    f"page_size = {PAGE}",
    f"cache_size = -{CACHE}",
    "locking_mode = EXCLUSIVE",  # also keeps the index of the log in memory
    "journal_mode = WAL",
    "synchronous = FULL",  # commits survive a power failure
    "journal_size_limit = 0",  # truncate an empty log
)
TABLES = (
    "CREATE TABLE models"
    " (last INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE, model BLOB NOT NULL)",
    "CREATE TABLE state (one INTEGER PRIMARY KEY CHECK (one = 1), state BLOB NOT NULL)",
)


@dataclasses.dataclass(slots=True)
class Entry:
    """The model of a key.

    Parameters
    ----------
    model
        The model.
    record
        The record of the key in the pooled model (`PooledModel`); `None` if there is none.
    last
        Number of the last sample of the key.
    stored
        Value of `last` when the model was written to the store; 0 if it never was.
    """

    model: typing.Any
    record: typing.Any = None
    last: int = 0
    stored: int = 0


class Store:
    """The models of keys, and a state, in an SQLite file[^1].

    All changes until `commit` belong to one transaction. If the process dies, the file is in the
    state of the last commit. The file is locked while the store is open, so that no two processes
    write to it. A forked process inherits the open file past that lock, and SQLite would damage it:
    only the process that opened the store can use it.

    The number of a row is that of the last sample of its key, which is unique. Rows are written in
    the order of these numbers (see `ModelCache`): the table grows at its end, and expired keys are
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
                self.path, timeout=PATIENCE, isolation_level=None, check_same_thread=False
            )
        except sqlite3.Error as error:
            raise type(error)(f"{self.path}: {error}") from None
        self._process = os.getpid()
        STORES.add(self)
        try:
            self._open()
        except sqlite3.Error as error:
            self.close()
            is_locked = "locked" in str(error)
            reason = "another process has this file open" if is_locked else str(error)
            raise type(error)(f"{self.path}: {reason}") from None
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        for setting in SETTINGS:
            self._run(f"PRAGMA {setting}")
        self._run(f"PRAGMA wal_autocheckpoint = {LOG}")
        self._run("BEGIN IMMEDIATE")
        (found,) = self._run("PRAGMA user_version").fetchone()
        if found == 0 and not self._run("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
            for table in TABLES:
                self._run(table)
            self._run(f"PRAGMA user_version = {FORMAT}")
        elif found != FORMAT:
            raise ValueError(f"{self.path} is a database, but none of KeyedModels")

    def _run(self, statement: str, *values: typing.Any) -> sqlite3.Cursor:
        """Execute a statement; RuntimeError in a process that has inherited the connection."""
        if os.getpid() != self._process:
            raise RuntimeError(
                f"{self.path} was opened before this process was forked; only process "
                f"{self._process} can use these models: open a file of its own in each process"
            )
        return self._connection.execute(statement, values)

    def _change(self, statement: str, *values: typing.Any) -> sqlite3.Cursor:
        """Execute a statement in the transaction, which SQLite ends if the disk is full."""
        if not self._connection.in_transaction:
            raise RuntimeError(
                f"{self.path}: an earlier change failed, and all since the last commit are lost; "
                "open the models again and continue from their note"
            )
        return self._run(statement, *values)

    # ------------------------------------------------------------------ models

    def __len__(self) -> int:
        return int(self._run("SELECT count(*) FROM models").fetchone()[0])

    def read(self, key: Key) -> Entry | None:
        """Return the entry of a key; `None` if it has none."""
        statement = "SELECT last, model FROM models WHERE name = ?"
        row = self._run(statement, name_of(key)).fetchone()
        if row is None:
            return None
        last, content = row
        model, record = pickle.loads(content)
        return Entry(model, record, last, stored=last)

    def write(self, key: Key, entry: Entry) -> None:
        """Write an entry unless the file holds it already; replace an earlier one of the key."""
        if entry.stored != entry.last:
            content = pickle.dumps((entry.model, entry.record), protocol=5)
            statement = "INSERT OR REPLACE INTO models VALUES (?, ?, ?)"
            self._change(statement, entry.last, name_of(key), content)
            entry.stored = entry.last

    def delete(self, key: Key) -> None:
        """Delete the entry of a key, if there is one."""
        self._change("DELETE FROM models WHERE name = ?", name_of(key))

    def delete_before(self, last: int) -> None:
        """Delete the entries whose last sample is before a number."""
        self._change("DELETE FROM models WHERE last < ?", last)

    # ------------------------------------------------------------------ transactions

    def state(self) -> typing.Any:
        """Return the state of the last commit; `None` if there was none."""
        found = self._run("SELECT state FROM state").fetchone()
        return None if found is None else pickle.loads(found[0])

    def commit(self, state: typing.Any) -> None:
        """Commit all changes, together with a state, which can be anything that can be pickled."""
        self._change("INSERT OR REPLACE INTO state VALUES (1, ?)", pickle.dumps(state))
        self._run("COMMIT")
        self._run("BEGIN IMMEDIATE")

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
