"""Scores, counts, curves and the latest predictions of a service, in bounded memory."""

from __future__ import annotations

import logging
import math
import time
from collections import deque
from dataclasses import asdict, dataclass
from typing import Any

from river_extra_trees._core.safe_repr import brief, safe_repr
from river_extra_trees.watch import KINDS, Alarm, Watch, learner_of

from .description import learned_by, memory_of

logger = logging.getLogger("uvicorn.error")  # which the server shows

RECENT = 1000  # scored samples in the recent score
LATEST = 10  # predictions on the page
MOST_ALARMS = 50  # on the page
MOST_POINTS = 360  # of a curve; then every second point goes
MOST_IMPORTANCES = 12
MOST_FEATURES = 4  # of a sample on the page
LONGEST = 40  # characters of a value on the page
SHARE_FOR_LEARNED = 0.01  # largest share of time for `learned_by`, which is slow for large forests


@dataclass
class Point:
    """The state of a service at a moment."""

    time: float
    samples_seen: int
    learned: int
    predicted: int
    recent_score: float | None
    score: float | None
    memory_bytes: int
    effective_memory: float | None  # of extra trees


class Monitor:
    """Counts and scores.

    The score is the accuracy for labels and the mean absolute error for numbers, of the predictions
    that were sent and whose targets came later.

    Parameters
    ----------
    classifies
        Whether the predictions are labels.
    watch
        Raises the alarms. It gets the samples and the targets from the monitor.
    """

    def __init__(self, classifies: bool, watch: Watch) -> None:
        self.classifies = classifies
        self.watch = watch
        watch.on_alarm = self.note_alarm
        self.alarms: deque[tuple[float, Alarm]] = deque(maxlen=MOST_ALARMS)  # with their times
        self.n_alarms = dict.fromkeys(KINDS, 0)
        self.started = time.time()
        self.n_learned = self.n_predicted = self.n_failed_saves = 0
        self.n_scored = 0
        self.total = 0.0
        self.recent: deque[float] = deque(maxlen=RECENT)
        self.latest: deque[dict[str, Any]] = deque(maxlen=LATEST)
        self.curve: list[Point] = []
        self.spacing = 1  # calls of `add_point` between two points of the curve
        self.n_looks = 0
        self.learned: dict[str, Any] = {}
        self.next_learned = 0.0

    def note_prediction(
        self, given: dict[str, Any], x: dict[str, Any], y: Any, name: str = ""
    ) -> None:
        """Count a prediction for a sample, which the page shows as it was given."""
        self.n_predicted += 1
        self._show(given, y, name)
        self.watch._see(x)

    def note_learned(self, x: dict[str, Any]) -> None:
        """Count a sample that was learned."""
        self.n_learned += 1
        if not self.n_predicted:  # otherwise, it may have been seen
            self.watch._see(x)

    def note_alarm(self, alarm: Alarm) -> None:
        """Log an alarm, and keep it for the page."""
        logger.warning("alarm: %s", alarm)
        self.n_alarms[alarm.kind] += 1
        self.alarms.append((time.time(), alarm))

    def _show(self, x: dict[str, Any], y: Any, name: str) -> dict[str, Any]:
        shown = {"x": x, "y": y, "target": None, "time": time.time(), "id": name}
        self.latest.append(shown)
        return shown

    def note_target(self, x: dict[str, Any], y: Any, target: Any, name: str = "") -> None:
        """Score a prediction, and show its target beside it."""
        found = (each for each in reversed(self.latest) if each["id"] == name)
        shown = next(found, None) or self._show(x, y, name)
        shown["target"] = target
        if y is None:  # as in river: a missing prediction is not scored
            return
        result = float(y == target) if self.classifies else abs(y - target)
        self.n_scored += 1
        self.total += result
        self.recent.append(result)
        self.watch._judge(y, target)

    @property
    def score(self) -> float | None:
        """The score of all samples so far."""
        return self.total / self.n_scored if self.n_scored else None

    @property
    def recent_score(self) -> float | None:
        """The score of the latest samples."""
        return math.fsum(self.recent) / len(self.recent) if self.recent else None

    def present(self, model: Any, samples_seen: int) -> Point:
        """Return the present state."""
        return Point(
            time=time.time(),
            samples_seen=samples_seen,
            learned=self.n_learned,
            predicted=self.n_predicted,
            recent_score=self.recent_score,
            score=self.score,
            memory_bytes=memory_of(model),
            effective_memory=getattr(learner_of(model), "effective_memory", None),
        )

    def add_point(self, model: Any, samples_seen: int) -> Point:
        """Add the present state to the curve; thin the curve out when it becomes long."""
        point = self.present(model, samples_seen)
        if self.n_looks % self.spacing == 0:
            self.curve.append(point)
        self.n_looks += 1
        if len(self.curve) >= MOST_POINTS:
            self.curve = self.curve[::2]
            self.spacing *= 2
        return point

    def status(self, model: Any, samples_seen: int) -> dict[str, Any]:
        """Return what the page shows, besides the description of the model."""
        now = time.perf_counter()
        if now >= self.next_learned:
            self.learned = learned_by(model, MOST_IMPORTANCES)
            cost = time.perf_counter() - now
            self.next_learned = now + cost / SHARE_FOR_LEARNED
        return {
            "score_name": "accuracy" if self.classifies else "mean absolute error",
            "recent": RECENT,
            "n_scored": self.n_scored,
            "started": self.started,
            "now": asdict(self.present(model, samples_seen)),
            "curve": [asdict(point) for point in self.curve],
            "alarms": [
                {"time": time, "samples": alarm.n_samples, "kind": alarm.kind, "text": alarm.text}
                for time, alarm in reversed(self.alarms)
            ],
            "latest": [as_text(each) for each in reversed(self.latest)],
            "learned": self.learned,
        }


def as_text(prediction: dict[str, Any]) -> dict[str, Any]:
    """Return a prediction as the page shows it: the first features, and everything as text."""
    x, target = prediction["x"], prediction["target"]
    names = list(x)[:MOST_FEATURES]
    shown = [f"{safe_repr(name, str)} {brief(x[name], LONGEST)}" for name in names]
    more = len(x) - len(shown)
    return {
        "time": prediction["time"],
        "x": ", ".join(shown) + (f", {more} more" if more else ""),
        "y": brief(prediction["y"], LONGEST),
        "target": None if target is None else brief(target, LONGEST),
        "right": None if target is None else bool(prediction["y"] == target),
    }
