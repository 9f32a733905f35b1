"""The service without its server: predictions, learning and snapshots, one call at a time.

A request is checked as a whole before anything is learned, so that an invalid one leaves the model
as it was. Only one thread at a time may call the methods.
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
from river_extra_trees._estimator.kinds import name_of
from river_extra_trees._estimator.learned_names import Names, names_learned
from river_extra_trees.column_kinds import parted
from river_extra_trees.watch import Watch, learner_of, unwatched

from .answers import Answers
from .description import (
    WITH_INTERVALS,
    before_learner,
    description_of,
    explained,
    has_intervals,
    input_errors,
    is_classifier,
)
from .monitor import Monitor, Point
from .schema import (
    RequestError,
    Sample,
    ToPredict,
    Wanted,
    answer,
    at_line,
    explanation_of,
    read_samples,
)

logger = logging.getLogger("uvicorn.error")  # which the server shows

REJECTED = 422  # status of a sample with a value that the model rejects
SHOWN = 10  # contributions on the page
FAILURES = (OSError, persistence.ModelFileError, MemoryError)  # of a snapshot


class Service:
    """A model that predicts, learns and saves itself.

    Answers have ids under which their labels may come later, if the model learns.

    Parameters
    ----------
    model
        A learner of this package, or a pipeline that ends with one.
    path
        The file of the model, which snapshots replace.
    fixed_labels
        Whether samples with labels new to the model are rejected.
    answers
        Where answers wait for their labels.

    The service watches the model: with the watch of its file, which is saved with it, or with a new
    one, which is not.
    """

    learns = True

    def __init__(
        self,
        model: Any,
        path: Path,
        fixed_labels: bool = False,
        answers: Answers | None = None,
    ) -> None:
        self.whole = model
        # The service reads samples by their kinds itself, before it checks and learns them.
        watch, bare = unwatched(model)
        self.kinds, self.model = parted(bare)
        self.learner = learner_of(model)
        kinds = self.kinds
        self.fit = Fit(()) if kinds is None else Fit(kinds._columns, kinds._roles)
        self.n_new_values = 0
        self.path = path
        self.fixed_labels = fixed_labels
        self.answers = Answers() if answers is None else answers
        self.classifies = is_classifier(model)
        self.monitor = Monitor(self.classifies, Watch(self.model) if watch is None else watch)
        self.version = -1  # of the columns, when the nominal ones were last looked up
        self.nominal: Names = {}
        self.saved = 0  # number of samples learned when a snapshot was last taken
        self.saved_at: float | None = None
        self.save_error: str | None = None

    # ------------------------------------------------------------------ requests

    def predict(self, samples: Sequence[Sample], wanted: Wanted) -> list[dict[str, Any]]:
        """Predict each sample; keep the answers until their labels come."""
        self._check_wanted(wanted)
        answers, read = [], self._read(samples)
        for given, sample in zip(samples, read, strict=True):
            try:
                answers.append(self._answer(given, sample, wanted))
            except input_errors(self.model) as error:
                raise at_line(sample.line, error, REJECTED) from None
        self._note_features(samples, read)
        for given, sample, each in zip(samples, read, answers, strict=True):
            if self.learns:
                each["id"] = self.answers.add(given.text, each["y"])
            self.monitor.note_prediction(given.x, sample.x, each["y"], each.get("id", ""))
        return answers

    def labels(self, labels: Sequence[Sample]) -> dict[str, Any]:
        """Score the answers that were sent, and learn their samples with the labels; or none."""
        samples = [label._replace(x=self._asked(label)) for label in labels]
        known: set[str] = set()
        for label in labels:
            if label.id in known:
                raise RequestError(f"line {label.line}: the id {label.id!r} came before", REJECTED)
            known.add(label.id)
        checked = self._checked(samples)
        for given, sample in zip(samples, checked, strict=True):
            y = self.answers.take(sample.id).y
            self.monitor.note_target(given.x, y, sample.y, sample.id)
            self._learn(given, sample)
        return {"learned": len(labels), "samples_seen": self.samples_seen}

    def _asked(self, label: Sample) -> dict[str, Any]:
        """Return the features that were sent for an answer."""
        found = self.answers.find(label.id)
        if found is None:
            raise RequestError(
                f"line {label.line}: no answer waits under the id {safe_repr(label.id)}: its label "
                "has come already, or the answer was forgotten; send the sample to /learn",
                REJECTED,
            )
        return read_samples(found.text, ToPredict)[0].x

    def learn(self, samples: Sequence[Sample]) -> dict[str, Any]:
        """Learn the samples, or none of them."""
        for given, sample in zip(samples, self._checked(samples), strict=True):
            self._learn(given, sample)
        return {"learned": len(samples), "samples_seen": self.samples_seen}

    def predict_learn(self, samples: Sequence[Sample], wanted: Wanted) -> list[dict[str, Any]]:
        """Predict each sample and then learn it, before the next; or learn none of them."""
        self._check_wanted(wanted)
        answers = []
        for given, sample in zip(samples, self._checked(samples), strict=True):
            answers.append(self._answer(given, sample, wanted))
            y = answers[-1]["y"]
            self._learn(given, sample)
            self.monitor.note_prediction(given.x, sample.x, y)
            self.monitor.note_target(given.x, y, sample.y)
        return answers

    def _read(self, samples: Sequence[Sample], learned: bool = False) -> Sequence[Sample]:
        """Read samples by the kinds of their columns."""
        kinds = self.kinds
        if kinds is None:
            return [each._replace(x=self._named(each.x)) for each in samples]
        is_new = learned and any(kinds._is_new(each.x) for each in samples)
        if is_new:
            kinds = copy.deepcopy(kinds)  # the samples may still be refused
        read = []
        for sample in samples:
            try:
                if is_new:
                    kinds.learn_one(sample.x)
                read.append(sample._replace(x=kinds.transform_one(sample.x)))
                if learned:
                    read[-1] = read[-1]._replace(y=kinds._read_target(sample.y))
            except ValueError as error:
                raise at_line(sample.line, error, REJECTED) from None
        return read

    def _note_features(self, samples: Sequence[Sample], read: Sequence[Sample]) -> None:
        """Count what does not fit the model in samples that it has accepted."""
        if self.kinds is not None:
            for given, each in zip(samples, read, strict=True):  # parts of dates are not given
                self.fit.note(given.x)
                self.n_new_values += self._n_new_values(each.x)

    def _n_new_values(self, x: dict[str, Any]) -> int:
        """Return how many nominal values of a sample the learner does not remember."""
        if self.learner is not self.model:  # other steps may make new values of them
            return 0
        is_new = self.learner._schema.is_new
        return sum(is_new(name, value) for name, value in x.items())

    def _named(self, x: dict[str, Any]) -> dict[str, Any]:
        """Return a sample with names in place of numbers in the nominal columns of a learner."""
        if self.learner is not self.model:
            return x
        schema = self.learner._schema
        if schema.version != self.version:
            self.version, self.nominal = schema.version, names_learned(self.learner)
        numbers = [
            n for n, each in x.items() if n in self.nominal and isinstance(each, int | float)
        ]
        return x | {name: name_of(x[name]) for name in numbers} if numbers else x

    def _checked(self, samples: Sequence[Sample]) -> Sequence[Sample]:
        """Read samples to learn; raise RequestError, with the line, if the model rejects one."""
        read = self._read(samples, learned=True)
        new_labels: set[Hashable] = set()
        for sample in read:
            try:
                x = before_learner(self.model, sample.x)
                self.learner._check_next(x, sample.y, sample.w, new_labels)
                if self.fixed_labels and self.classifies:
                    self._check_label(sample.y)
            except input_errors(self.model) as error:
                raise at_line(sample.line, error, REJECTED) from None
        self._note_features(samples, read)
        return read

    def _check_label(self, label: Any) -> None:
        if label not in self.learner._labels():
            raise ValueError(f"y is {safe_repr(label)}, a label that the model has not learned")

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
        """Whether the model predicts distributions."""
        return has_intervals(self.model)

    def _answer(self, given: Sample, sample: Sample, wanted: Wanted) -> dict[str, Any]:
        model, x = self.model, sample.x
        more: dict[str, Any] = {}
        if wanted.explain:
            more["explanation"] = explanation_of(explained(model, x), given.x, wanted.explain)
        if wanted.interval is not None:
            distribution = model.predict_one(x, with_dist=True)
            return answer(
                distribution.mean, interval=distribution.interval(wanted.interval), **more
            )
        label = model.predict_one(x)
        return answer(label, model.predict_proba_one(x) if wanted.probabilities else None, **more)

    def explain_latest(self, time: float) -> dict[str, Any]:
        """Explain the prediction that the page shows with this time, as the model predicts now."""
        found = next((each for each in self.monitor.latest if each["time"] == time), None)
        if found is None:
            raise RequestError("this prediction is no longer among the latest", 404)
        (sample,) = self._read([Sample(1, found["x"])])
        try:
            explanation = explained(self.model, sample.x)
        except input_errors(self.model) as error:
            raise RequestError(str(error), REJECTED) from None
        return explanation_of(explanation, found["x"], SHOWN)

    def _learn(self, given: Sample, sample: Sample) -> None:
        if self.kinds is not None:
            self.kinds.learn_one(given.x)
        self.model.learn_one(sample.x, sample.y, w=sample.w)
        self.monitor.note_learned(sample.x)

    # ------------------------------------------------------------------ snapshots

    @property
    def unsaved(self) -> int:
        """Number of samples learned since the last snapshot."""
        return self.monitor.n_learned - self.saved

    def try_save(self) -> None:
        """Save the model if it has changed; log a failure and keep it for page and metrics."""
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
            If that fails. The old file remains, and the service continues.
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

    # ------------------------------------------------------------------ descriptions

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
        self.answers.forget()
        return self.monitor.add_point(self.model, self.samples_seen)

    def status(self) -> dict[str, Any]:
        """Return all that the page shows."""
        info = self.info()
        for name in ("features", "labels", "columns"):  # thousands, and the page asks often
            info[name] = None if info[name] is None else len(info[name])
        return {"info": info, **self.monitor.status(self.model, self.samples_seen)}


class SnapshotService(Service):
    """A snapshot that predicts and describes itself, and learns nothing.

    Parameters
    ----------
    snapshot
        A snapshot of a learner.
    monitor
        The counts of the previous snapshot, which continue.
    """

    learns = False

    def __init__(self, snapshot: Any, monitor: Monitor | None = None) -> None:
        self.snapshot = snapshot
        super().__init__(snapshot._model, Path())
        self.saved_at = time.time()
        if monitor is not None:
            self.monitor = monitor
            monitor.watch.model = self.model

    def learn(self, samples: Sequence[Sample]) -> Any:
        """Reject the request."""
        raise RequestError("a snapshot does not learn; train the model that publishes it", 403)

    def labels(self, labels: Sequence[Sample]) -> Any:
        """Reject the request."""
        return self.learn(labels)

    def predict_learn(self, samples: Sequence[Sample], wanted: Wanted) -> Any:
        """Reject the request."""
        return self.learn(samples)

    def save(self) -> dict[str, Any]:
        """Reject the request."""
        raise RequestError("a snapshot is not saved; save the model where you train it", 403)

    def info(self) -> dict[str, Any]:
        """Describe the snapshot."""
        return super().info() | {"file": None, "samples_seen": self.samples_seen}

    @property
    def samples_seen(self) -> int:
        """Number of samples that the model had learned when the snapshot was taken."""
        return int(self.snapshot.n_samples_seen)  # its copy of the model does not know
