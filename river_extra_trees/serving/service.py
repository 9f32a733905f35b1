"""The service without its server: predictions, learning and snapshots, one call after the other.

A request is checked as a whole before anything is learned, so that one that is refused leaves the
model as it was. Nothing here may be called from two threads at a time.
"""

from __future__ import annotations

import copy
import functools
import logging
import time
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

from river_extra_trees import persistence
from river_extra_trees._core.safe_repr import safe_repr
from river_extra_trees._estimator.fit import Fit
from river_extra_trees.column_kinds import parted

from .checks import REFUSED, check, refused
from .description import WITH_INTERVALS, description_of, has_intervals, is_classifier, learner_of
from .monitor import Monitor, Point
from .schema import RequestError, Sample, Wanted, answer, at_line

logger = logging.getLogger("uvicorn.error")  # which the server shows

# of a snapshot
FAILURES = (OSError, persistence.ModelFileError, MemoryError)


class Service:
    """A model that answers requests, learns and saves itself.

    Parameters
    ----------
    model
        A learner of this package, or a pipeline that ends with one.
    path
        The file of the model, which snapshots replace.
    every
        Number of samples after which a snapshot is taken; None leaves it to the caller.
    fixed_labels
        Whether samples with labels new to the model are refused.
    """

    def __init__(
        self, model: Any, path: Path, every: int | None = None, fixed_labels: bool = False
    ) -> None:
        self.whole = model
        # The service reads samples by their kinds itself, before it tries and learns them.
        self.kinds, self.model = parted(model)
        self.learner = learner_of(model)
        self.fit = Fit(() if self.kinds is None else self.kinds._columns)
        self.path = path
        self.every = every
        self.fixed_labels = fixed_labels
        self.classifies = is_classifier(model)
        self.monitor = Monitor(self.classifies)
        self.n_columns = -1  # of the learner, when its nominal columns were last looked up
        self.codes: dict[Any, Any] = {}
        # Numbers of samples learned when a snapshot was last taken, and last tried.
        self.saved = self.tried = 0
        self.saved_at: float | None = None
        self.save_error: str | None = None

    # ------------------------------------------------------------------ requests

    def predict(self, samples: Sequence[Sample], wanted: Wanted) -> list[dict[str, Any]]:
        """Answer each sample."""
        self._check_wanted(wanted)
        answers = []
        for sample in self._read(samples):
            try:
                answers.append(self._answer(sample, wanted))
            except refused(self.model) as error:
                raise at_line(sample.line, error, REFUSED) from None
        for sample, each in zip(samples, answers, strict=True):
            self.monitor.note_answer(sample.x, each["y"])
        return answers

    def learn(self, samples: Sequence[Sample]) -> dict[str, Any]:
        """Learn the samples, or none of them."""
        read = self._read(samples, learned=True)
        self._check(read)
        for given, sample in zip(samples, read, strict=True):
            self._learn(given, sample)
        self._save_if_due()
        return {"learned": len(samples), "samples_seen": self.samples_seen}

    def predict_learn(self, samples: Sequence[Sample], wanted: Wanted) -> list[dict[str, Any]]:
        """Answer each sample and then learn it, before the next; or learn none of them."""
        self._check_wanted(wanted)
        read = self._read(samples, learned=True)
        self._check(read)
        answers = []
        for given, sample in zip(samples, read, strict=True):
            answers.append(self._answer(sample, wanted))
            self._learn(given, sample)
            self.monitor.note_answer(sample.x, answers[-1]["y"], sample.y)
        self._save_if_due()
        return answers

    def _read(self, samples: Sequence[Sample], learned: bool = False) -> Sequence[Sample]:
        """Read samples by the kinds of their columns; count what does not fit the model."""
        kinds = self.kinds
        if kinds is None:
            return samples
        is_new = learned and any(name not in kinds._columns for each in samples for name in each.x)
        if is_new:
            kinds = copy.deepcopy(kinds)  # the samples may still be refused
        read = []
        for sample in samples:
            try:
                if is_new:
                    kinds.learn_one(sample.x)
                read.append(sample._replace(x=kinds.transform_one(sample.x)))
            except ValueError as error:
                raise at_line(sample.line, error, REFUSED) from None
        for sample in read:
            self.monitor.note_features(*self.fit.note(sample.x), self._n_new_values(sample.x))
        return read

    def _n_new_values(self, x: dict[str, Any]) -> int:
        """Return how many nominal values of a sample the learner does not know."""
        if self.learner is not self.model:  # other steps may make new values of them
            return 0
        schema = self.learner._schema
        if len(schema.names) != self.n_columns:
            self.n_columns = len(schema.names)
            pairs = zip(schema.names, schema.codes, strict=True)
            self.codes = {name: codes for name, codes in pairs if codes is not None}
        return sum(
            x[name] is not None and x[name] not in codes
            for name, codes in self.codes.items()
            if name in x
        )

    def _check(self, samples: Sequence[Sample]) -> None:
        check(self.model, samples)
        for sample in samples if self.fixed_labels else ():
            new: set[Hashable] = set()
            self.learner._check_label(sample.y, new)
            if new:
                error = ValueError(
                    f"y is {safe_repr(sample.y)}, a label that the model has not learned"
                )
                raise at_line(sample.line, error, REFUSED)

    @property
    def has_labels(self) -> bool:
        """Whether the model has learned labels."""
        return self.classifies and bool(self.learner._labels())

    def _check_wanted(self, wanted: Wanted) -> None:
        name = type(self.learner).__name__
        if wanted.probabilities and not self.classifies:
            raise RequestError(f"{name} predicts no probabilities; use a classifier")
        if wanted.interval is not None and not self.has_intervals:
            raise RequestError(f"this {name} predicts no intervals; {WITH_INTERVALS} do")

    @functools.cached_property
    def has_intervals(self) -> bool:
        """Whether the model predicts whole distributions."""
        return has_intervals(self.model)

    def _answer(self, sample: Sample, wanted: Wanted) -> dict[str, Any]:
        model, x = self.model, sample.x
        if wanted.interval is not None:
            distribution = model.predict_one(x, with_dist=True)
            return answer(distribution.mean, interval=distribution.interval(wanted.interval))
        label = model.predict_one(x)
        return answer(label, model.predict_proba_one(x) if wanted.probabilities else None)

    def _learn(self, given: Sample, sample: Sample) -> None:
        if self.kinds is not None:
            self.kinds.learn_one(given.x)
        self.model.learn_one(sample.x, sample.y, w=sample.w)
        self.monitor.n_learned += 1

    # ------------------------------------------------------------------ snapshots

    @property
    def unsaved(self) -> int:
        """Number of samples learned since the last snapshot."""
        return self.monitor.n_learned - self.saved

    def _save_if_due(self) -> None:
        if self.every is not None and self.monitor.n_learned - self.tried >= self.every:
            self.try_save()

    def try_save(self) -> None:
        """Save what is new; a failure is logged, kept for page and metrics, and tried again."""
        self.tried = self.monitor.n_learned
        if self.unsaved:
            try:
                self.save()
            except FAILURES:
                logger.error(self.save_error)

    def save(self) -> dict[str, Any]:
        """Replace the file of the model, as a whole or not at all.

        Raises
        ------
        OSError, ModelFileError, MemoryError
            If that is impossible. The old file stays, and the service goes on.
        """
        started = time.perf_counter()
        try:
            persistence.save(self.whole, self.path)
        except FAILURES as error:
            self.monitor.n_failed_saves += 1
            self.save_error = f"cannot save to {self.path}: {error}"
            raise
        self.saved, self.saved_at, self.save_error = self.monitor.n_learned, time.time(), None
        return {
            "file": str(self.path),
            "samples_seen": self.samples_seen,
            "bytes": self.path.stat().st_size,
            "seconds": time.perf_counter() - started,
        }

    # ------------------------------------------------------------------ views

    @property
    def samples_seen(self) -> int:
        """Number of samples that the model has learned in all."""
        return int(self.learner.n_samples_seen)

    def info(self) -> dict[str, Any]:
        """Describe the model and its last snapshot."""
        return {
            **description_of(self.whole),
            "file": str(self.path),
            "unsaved_samples": self.unsaved,
            "saved_at": self.saved_at,
            "save_error": self.save_error,
        }

    def look(self) -> Point:
        """Add a point to the curves of the page."""
        return self.monitor.look(self.model, self.samples_seen)

    def status(self) -> dict[str, Any]:
        """Return all that the page shows."""
        info = self.info()
        for names in (
            "features",
            "labels",
            "columns",
        ):  # there may be thousands, and the page asks often
            info[names] = None if info[names] is None else len(info[names])
        return {"info": info, **self.monitor.view(self.model, self.samples_seen)}
