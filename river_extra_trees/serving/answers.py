"""The answers of a service that wait for their labels, in bounded memory."""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from typing import Any, NamedTuple

OVERHEAD = 500  # bytes of an answer besides the sample: its id, and the objects that hold it


class Waiting(NamedTuple):
    """An answer that was sent: the sample as it was asked, and the prediction."""

    text: bytes
    y: Any
    until: float


class Answers:
    """Answers by id, the oldest first.

    An answer is forgotten after some time, or when newer ones need its memory.

    Parameters
    ----------
    hours
        How long an answer waits for its label.
    memory
        Bytes of all answers.

    Attributes
    ----------
    n_forgotten
        Number of answers whose label did not come in time.

    Examples
    --------
    >>> from river_extra_trees.serving.answers import Answers
    >>> answers = Answers(memory=1200)
    >>> first, second, third = (answers.add(b'{"x": {"a": 1}}', y) for y in "pqr")
    >>> answers.find(first), answers.find(second).y, answers.n_forgotten
    (None, 'q', 1)
    """

    def __init__(self, hours: float = 24.0, memory: int = 64_000_000) -> None:
        self.hours, self.memory = hours, memory
        self.n_forgotten = 0
        self._waiting: OrderedDict[str, Waiting] = OrderedDict()
        self._n_bytes = 0
        self._n_added = 0
        self._start = secrets.token_hex(6)  # ids of an earlier start name no other answer

    @property
    def n_waiting(self) -> int:
        """Number of answers that wait for their labels."""
        return len(self._waiting)

    def add(self, text: bytes, y: Any) -> str:
        """Keep an answer; return its id."""
        self._n_added += 1
        name = f"{self._start}-{self._n_added}"
        self._waiting[name] = Waiting(text, y, time.time() + 3600.0 * self.hours)
        self._n_bytes += len(text) + OVERHEAD
        self.forget()
        return name

    def forget(self) -> None:
        """Forget the answers that are too old or too many."""
        now = time.time()
        while self._waiting:
            name, oldest = next(iter(self._waiting.items()))
            if oldest.until > now and self._n_bytes <= self.memory:
                return
            self.take(name)
            self.n_forgotten += 1

    def find(self, name: str) -> Waiting | None:
        """Return the answer with an id, if it still waits."""
        self.forget()
        return self._waiting.get(name)

    def take(self, name: str) -> Waiting:
        """Remove an answer that waits, and return it."""
        found = self._waiting.pop(name)
        self._n_bytes -= len(found.text) + OVERHEAD
        return found
