"""The service of a snapshot: it predicts and describes itself, and learns nothing."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .monitor import Monitor
from .schema import RequestError, Sample, Wanted
from .service import Service

REFUSAL = "this server predicts with a snapshot, which cannot learn; send samples to the process"


class SnapshotService(Service):
    """A snapshot that answers requests.

    Parameters
    ----------
    snapshot
        A snapshot of a learner.
    monitor
        The counts of the snapshot before it, which go on.
    """

    def __init__(self, snapshot: Any, monitor: Monitor | None = None) -> None:
        self.snapshot = snapshot
        super().__init__(snapshot._model, Path())
        self.saved_at = time.time()
        if monitor is not None:
            self.monitor = monitor

    def learn(self, samples: Sequence[Sample]) -> dict[str, Any]:
        """Refuse to learn."""
        raise RequestError(f"{REFUSAL} that trains the model", 403)

    def predict_learn(self, samples: Sequence[Sample], wanted: Wanted) -> list[dict[str, Any]]:
        """Refuse to learn."""
        raise RequestError(f"{REFUSAL} that trains the model", 403)

    def save(self) -> dict[str, Any]:
        """Refuse to save."""
        raise RequestError("a snapshot is not saved; save the model where it is trained", 403)

    def info(self) -> dict[str, Any]:
        """Describe the snapshot."""
        return super().info() | {"file": None, "samples_seen": self.samples_seen}

    @property
    def samples_seen(self) -> int:
        """Number of samples that the model had learned when the snapshot was taken."""
        return int(self.snapshot.n_samples_seen)  # the copy that it holds may have forgotten
