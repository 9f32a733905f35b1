"""Scores, drifts and memory of learners over a stream."""

from __future__ import annotations

import copy
import itertools
import math
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, NullFormatter
from river import base, evaluate, metrics, utils

from river_extra_trees.evaluate import ranking

from ..watch import name_of, unwatched
from ._axes import CLASS_COLOURS, CLASS_MARKERS, MUTED, Display, figure_of, mark_drifts, new_axes
from .live import Live

__all__ = ["Curve", "PrequentialDisplay"]

# A larger ratio of the largest to the smallest score gives a logarithmic axis.
WIDEST_LINEAR_RANGE = 100.0
# Columns of a record that are not scores.
OTHER_COLUMNS = ("learner", "items", "seconds", "memory_bytes")
N_MARKERS = 8  # on a curve
DRIFT, ALARM = "v", "^"  # markers
DETECTION: dict[str, typing.Any] = {"markersize": 8, "markeredgecolor": "black", "zorder": 3}
DASHES: tuple[typing.Any, ...] = ("--", "-.", ":", (0, (1, 3)), (0, (6, 3)))


@dataclass
class Curve:
    """The curves of one learner: lists as long as `items`, and the samples of drifts and alarms."""

    name: str
    items: list[int] = field(default_factory=list)
    scores: dict[str, list[float]] = field(default_factory=dict)
    memory: list[float] = field(default_factory=list)
    detections: list[int] = field(default_factory=list)
    alarms: list[int] = field(default_factory=list)


class PrequentialDisplay(Display):
    """Scores, drifts and memory of learners in progressive validation.

    Each sample is predicted and scored before it is learned. `from_stream` runs learners on a
    stream; `from_records` takes recorded scores.

    Parameters
    ----------
    curves
        The curves of each learner.
    drifts
        Numbers of samples at which the stream is known to change.
    muted
        Names of learners to draw in grey, for comparison.

    Attributes
    ----------
    axes_
        The panels: one per score, then the memory.
    figure_
        The figure that holds them.

    Examples
    --------
    >>> import river_extra_trees as ret
    >>> from river import datasets, drift, metrics, utils
    >>> from river_extra_trees import plotting

    >>> display = plotting.PrequentialDisplay.from_stream(
    ...     [ret.ForgetfulDecisionTreeClassifier(seed=1), ret.StreamDecisionTreeClassifier(seed=1)],
    ...     datasets.Phishing(),
    ...     utils.Rolling(metrics.Accuracy, window_size=300),
    ...     detector=drift.ADWIN(),
    ...     step=250,
    ... )
    >>> for curve in display.curves:
    ...     print(curve.name, *(f"{score:.3f}" for score in curve.scores["Accuracy, last 300"]))
    ForgetfulDecisionTreeClassifier 0.815 0.880 0.920 0.903 0.907
    StreamDecisionTreeClassifier 0.807 0.880 0.927 0.907 0.907
    >>> [ax.get_ylabel().splitlines()[0] for ax in display.plot().axes_]
    ['Accuracy, last 300', 'memory']
    """

    axes_: list[Axes]

    def __init__(
        self, curves: Sequence[Curve], drifts: Sequence[int] = (), muted: Sequence[str] = ()
    ) -> None:
        self.curves = list(curves)
        self.drifts = list(drifts)
        self.muted = list(muted)

    @classmethod
    def from_stream(
        cls,
        models: base.Estimator | Sequence[base.Estimator] | Mapping[str, base.Estimator],
        dataset: Iterable[typing.Any],
        metric: typing.Any,
        *,
        step: int = 100,
        delay: typing.Any = None,
        detector: base.DriftDetector | None = None,
        drifts: Sequence[int] = (),
        muted: Sequence[str] = (),
        memory: bool = True,
        live: bool = False,
    ) -> PrequentialDisplay:
        """Run several learners over a stream, with river's progressive validation.

        Parameters
        ----------
        models
            One learner or several; a dict gives them names. The learners are trained, not copied.
        dataset
            Pairs of features and target, read once.
        metric
            A metric of river, a sum of metrics, or a `utils.Rolling` metric, which shows a drift
            earlier. Each learner has its own copy.
        step
            Number of samples between two points of the curves.
        delay
            The time to wait before the target of a sample is learned and scored, as in
            `river.evaluate.progressive_val_score`: a number of samples, for example.
        detector
            A drift detector. Each learner has its own copy, which gets its errors: 0 or 1 for
            labels, the absolute difference for numbers. Most detectors fire on any change, also
            when the errors decrease. The alarms of a `Watch` are shown without a detector.
        drifts, muted
            As for the class.
        memory
            Measure the memory, too. This is slow for large models made of Python objects.
        live
            Draw while the stream runs: in a notebook, or in a window of matplotlib.

        Raises
        ------
        ValueError
            If the metric cannot score one of the learners, or `step` is not positive.
        """
        learners = _named(models)
        scorers = [_Scorer(metric, detector) for _ in learners]
        steps = _steps(learners, scorers, dataset, step, delay, memory)
        display, shown = cls([Curve(name) for name in learners], drifts, muted), Live()
        for states in steps:
            models_of = zip(display.curves, scorers, states, learners.values(), strict=True)
            for curve, scorer, state, model in models_of:
                scorer.add_to(curve, state)
                watch, _ = unwatched(model)
                curve.alarms = [alarm.n_samples for alarm in watch.alarms] if watch else []
            if live and shown.due:
                shown.draw(display)
        if live:
            shown.draw(display)
        return display

    @classmethod
    def from_records(
        cls,
        records: Iterable[Mapping[str, typing.Any]],
        *,
        drifts: Sequence[int] = (),
        muted: Sequence[str] = (),
    ) -> PrequentialDisplay:
        """Show recorded scores, such as those of the CSV file that `race --csv` writes.

        Parameters
        ----------
        records
            One dict per learner and point in time with the keys `learner` and `items` (the number
            of learned samples), and optionally `memory_bytes` and `seconds`. Every other key is a
            score with a panel of its own.
        drifts, muted
            As for the class.

        Raises
        ------
        ValueError
            If a record has no learner or no items, if its keys differ from those of the first
            record, or if a score is not a number.

        Examples
        --------
        >>> from river_extra_trees import plotting
        >>> rows = [
        ...     {"learner": "tree", "items": 100, "Accuracy": 0.7, "height": 3},
        ...     {"learner": "tree", "items": 200, "Accuracy": 0.8, "height": 5},
        ... ]
        >>> display = plotting.PrequentialDisplay.from_records(rows, drifts=[120])
        >>> [ax.get_ylabel().splitlines() for ax in display.plot().axes_]
        [['Accuracy so far', 'higher is better'], ['height']]
        """
        curves: dict[str, Curve] = {}
        columns: set[str] = set()
        for i, record in enumerate(records):
            columns = columns or {*record, *OTHER_COLUMNS[:2]}
            if wrong := columns ^ record.keys():
                key = min(wrong)
                raise ValueError(f"record {i} has {'no' if key in columns else 'a column'} {key!r}")
            name = str(record["learner"])
            curve = curves.setdefault(name, Curve(name))
            curve.items.append(int(record["items"]))
            if "memory_bytes" in record:
                curve.memory.append(float(record["memory_bytes"]))
            for key, value in record.items():
                if key not in OTHER_COLUMNS:
                    curve.scores.setdefault(key, []).append(float(value))
        return cls(list(curves.values()), drifts, muted)

    def plot(self, axes: Sequence[Axes] | None = None) -> PrequentialDisplay:
        """Draw the curves, the best learner first in the legend.

        Scores of different magnitudes get a logarithmic axis. R2 has no lower bound; its axis ends
        at -1, and the label says so.

        Parameters
        ----------
        axes
            One per score, and one more for the memory. None creates new axes.

        Returns
        -------
        This display.

        Raises
        ------
        ValueError
            If no score was recorded.
        """
        names = self._names()
        if axes is None:
            self._draw_in(None)
            return self
        self.axes_ = list(axes)
        self.figure_ = figure_of(self.axes_[0])
        ranking = self._ranking(names[0])
        # By the given order, not by rank: a curve keeps its colour while a stream runs.
        styles = _styles(self.curves, self.muted)
        for curve in ranking:
            style = styles[curve.name]
            for ax, name in zip(self.axes_, names, strict=False):
                scores = curve.scores[name]
                ax.plot(curve.items, scores, label=curve.name, **style)
                for places, marker in ((curve.detections, DRIFT), (curve.alarms, ALARM)):
                    if places:
                        at = np.interp(places, curve.items, scores)
                        ax.plot(places, at, marker, color=style["color"], **DETECTION)
            if len(self.axes_) > len(names):
                self.axes_[-1].plot(curve.items, curve.memory, **style)
        for ax, name in zip(self.axes_, names, strict=False):
            _scale(ax, name, [score for curve in ranking for score in curve.scores[name]])
        if len(self.axes_) > len(names):
            _scale_memory(self.axes_[-1], [size for curve in ranking for size in curve.memory])
        self._finish()
        return self

    def _names(self) -> list[str]:
        """Return the names of the scores, which all curves share."""
        names = list(self.curves[0].scores) if self.curves else []
        if not names:
            raise ValueError("there is nothing to draw: no score was recorded")
        return names

    def _draw_in(self, figure: Figure | None) -> None:
        has_memory = any(any(curve.memory) for curve in self.curves)
        heights = [2.8] * len(self._names()) + [1.8] * has_memory
        self.plot(new_axes(8.0, heights, 0.25 + 0.12 * len(self.curves), figure))

    def _ranking(self, score: str) -> list[Curve]:
        """Return the learners, the best by their last score first."""
        sign = -1.0 if _higher_is_better(score) is not False else 1.0

        def rank(curve: Curve) -> float:
            last = curve.scores[score][-1] if curve.scores.get(score) else math.nan
            return math.inf if math.isnan(last) else sign * last

        return sorted(self.curves, key=rank)

    def _finish(self) -> None:
        """Add to all panels: known drifts, grid, legend and the axis of samples."""
        handles, labels = self.axes_[0].get_legend_handles_labels()
        for ax in self.axes_:
            lines, texts = mark_drifts(ax, self.drifts)
            ax.set_xlim(left=0)
            ax.grid(alpha=0.3)
            ax.xaxis.set_major_formatter("{x:,.0f}")
        handles, labels = handles + lines, labels + texts
        for name, marker, text in (
            ("detections", DRIFT, "drift detected"),
            ("alarms", ALARM, "alarm"),
        ):
            if any(getattr(curve, name) for curve in self.curves):
                handles += self.axes_[0].plot([], [], marker, color="black", linestyle="none")
                labels.append(text)
        self.axes_[-1].set_xlabel("samples")
        for legend in list(self.figure_.legends):
            legend.remove()
        if len(labels) > 1:
            self.figure_.legend(handles, labels, loc="outside lower center", ncols=2)
        elif labels:
            self.axes_[0].set_title(labels[0])


class _Scorer:
    """A metric for river's evaluation that also passes the errors to a drift detector."""

    def __init__(self, metric: typing.Any, detector: base.DriftDetector | None) -> None:
        self.metric = copy.deepcopy(metric)
        self.detector = None if detector is None else detector.clone()
        self.items = 0
        self.detections: list[int] = []

    def __getattr__(self, name: str) -> typing.Any:
        return getattr(self.metric, name)

    def update(self, y_true: typing.Any, y_pred: typing.Any) -> None:
        self.metric.update(y_true, y_pred)
        self.items += 1
        if self.detector is not None:
            self.detector.update(_error(y_true, y_pred))
            if self.detector.drift_detected:
                self.detections.append(self.items)

    def add_to(self, curve: Curve, state: Mapping[str, typing.Any]) -> None:
        """Add the present scores to a curve."""
        several = isinstance(self.metric, metrics.base.Metrics)
        for metric in self.metric if several else [self.metric]:
            curve.scores.setdefault(_name_of(metric), []).append(float(metric.get()))
        curve.items.append(state["Step"])
        curve.memory.append(state.get("Memory", 0))
        curve.detections = self.detections


def _steps(
    learners: Mapping[str, base.Estimator],
    scorers: Sequence[_Scorer],
    dataset: Iterable[typing.Any],
    step: int,
    delay: typing.Any,
    memory: bool,
) -> Iterator[tuple[Mapping[str, typing.Any], ...]]:
    """Run the learners side by side on one stream; yield their states after each step."""
    if step < 1:
        raise ValueError(f"step must be at least 1, not {step!r}")
    for model, scorer in zip(learners.values(), scorers, strict=True):
        if not scorer.works_with(model):
            raise ValueError(f"{_name_of(scorer.metric)} cannot score {type(model).__name__}")
    streams = itertools.tee(dataset, len(learners))
    return zip(
        *(
            evaluate.iter_progressive_val_score(
                rows,
                model,
                typing.cast(metrics.base.Metric, scorer),
                delay=delay,
                step=step,
                measure_memory=memory,
            )
            for rows, model, scorer in zip(streams, learners.values(), scorers, strict=True)
        ),
        strict=True,
    )


def _named(models: typing.Any) -> dict[str, base.Estimator]:
    """Return the learners by name; several learners of one class are numbered."""
    if isinstance(models, Mapping):
        return dict(models)
    models = [models] if isinstance(models, base.Base) else list(models)
    kinds = [name_of(model) for model in models]
    return {
        kind if kinds.count(kind) == 1 else f"{kind} {1 + kinds[:i].count(kind)}": model
        for i, (kind, model) in enumerate(zip(kinds, models, strict=True))
    }


def _name_of(metric: typing.Any) -> str:
    if isinstance(metric, utils.Rolling):
        return f"{type(metric.obj).__name__}, last {metric.window_size:,}"
    return type(metric).__name__


def _error(y_true: typing.Any, y_pred: typing.Any) -> float:
    """Return 0 or 1 for labels and probabilities, and the absolute difference for numbers."""
    if isinstance(y_pred, dict):
        y_pred = max(y_pred, key=y_pred.__getitem__)
    if isinstance(y_true, bool) or not isinstance(y_true, float):
        return float(y_true != y_pred)
    return abs(y_true - y_pred)


def _higher_is_better(score: str) -> bool | None:
    """Return whether river's metric of this name increases with quality; None if unknown."""
    name = score.split(",")[0].split(":")[0]
    kind = getattr(metrics, name, None) or getattr(ranking, name, None)
    try:
        return bool(kind().bigger_is_better) if kind is not None else None
    except (AttributeError, TypeError):
        return None


def _styles(curves: Sequence[Curve], muted: Sequence[str]) -> dict[str, dict[str, typing.Any]]:
    """Return the colour, the dashes and the markers of each curve; muted curves are grey."""
    greys = itertools.cycle((MUTED, dash) for dash in DASHES)
    colours = itertools.cycle((colour, dash) for dash in ("-", "--") for colour in CLASS_COLOURS)
    markers = [marker for marker in CLASS_MARKERS if marker not in "v^<>"]  # see `DRIFT`
    styles: dict[str, dict[str, typing.Any]] = {}
    for i, curve in enumerate(curves):
        colour, dash = next(greys if curve.name in muted else colours)
        style = {"color": colour, "linestyle": dash, "linewidth": 1.5, "markersize": 5}
        if len(curves) > 1 or len(curve.items) == 1:
            # The first markers of two curves stand apart, so that neither hides the other.
            every = max(1, len(curve.items) // N_MARKERS)
            first = every * i // len(curves)
            style |= {"marker": markers[i % len(markers)], "markevery": (first, every)}
        styles[curve.name] = style
    return styles


def _scale(ax: Axes, name: str, scores: Sequence[float]) -> None:
    """Set label and limits of a panel of scores."""
    better = {True: "\nhigher is better", False: "\nlower is better", None: ""}
    better_when_high = _higher_is_better(name)
    label = name if better_when_high is None or "," in name else f"{name} so far"
    finite = [score for score in scores if math.isfinite(score)]
    if name.split(",")[0] == "R2":
        ax.set_ylim(-1, 1)
        label += " (cut at -1)"
    elif finite and min(finite) > 0 and max(finite) > WIDEST_LINEAR_RANGE * min(finite):
        ax.set_yscale("log")
    ax.set_ylabel(label + better[better_when_high])


def _scale_memory(ax: Axes, sizes: Sequence[float]) -> None:
    """Set a logarithmic axis that begins and ends at labelled powers of ten."""
    ax.set_yscale("log")
    powers = [math.log10(size) for size in sizes if size > 0]
    ax.set_ylim(10.0 ** math.floor(min(powers)), 10.0 ** math.ceil(max(powers) + 1e-9))
    ax.yaxis.set_major_formatter(EngFormatter(unit="B"))
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.set_ylabel("memory")
