"""An alarm when a model in use goes wrong: its losses, its window weights, or its inputs change."""

from __future__ import annotations

from .watch import KINDS, Alarm, Watch, learner_of, name_of, unwatched

__all__ = ["KINDS", "Alarm", "Watch", "learner_of", "name_of", "unwatched"]
