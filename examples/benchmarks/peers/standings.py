"""Scores, ranks, speed and memory of the compared learners."""

from __future__ import annotations

import itertools
import math
import statistics

from examples.benchmarks.common.results import Result
from examples.benchmarks.common.scores import NAMES
from examples.benchmarks.peers import contenders, ranking
from river_extra_trees.cli.streams import Task

Table = tuple[list[str], list[list[str]]]

# What the page recommends, and compares with every peer.
DEFAULTS: dict[Task, str] = {
    "classification": "ExtraTreesClassifier",
    "regression": "ExtraTreesRegressor",
}
# Scores by which learners are ranked.
RANKED: dict[Task, list[str]] = {
    "classification": ["accuracy", "kappa", "log loss"],
    "regression": ["R2", "MAE"],
}
CALIBRATION = "calibration error"
MARGIN = 0.01  # in a score, or in the logarithm of the mean absolute error


class Standings:
    """The results of some learners on some streams.

    A rank means something only among learners that ran on the same rows. Those that have results on
    all streams are ranked, on as many rows of each stream as all of them have been over. The
    streams are those on which most learners ran.
    """

    def __init__(self, task: Task, results: list[Result], streams: list[str]) -> None:
        self.task: Task = task
        self.by_key = {
            (r["stream"], r["learner"], int(r["rows"])): r
            for r in results
            if r["task"] == task and r["stream"] in streams
        }
        pairs = {(stream, learner) for stream, learner, _ in self.by_key}
        learners = list(dict.fromkeys(learner for _, learner, _ in self.by_key))
        self.streams = [
            s for s in streams if 2 * sum((s, a) in pairs for a in learners) > len(learners)
        ]
        self.ranked = [a for a in learners if all((s, a) in pairs for s in self.streams)]
        self.rows = {stream: self._common_rows(stream) for stream in self.streams}
        self.streams = [stream for stream in self.streams if self.rows[stream]]
        self.ranks = {name: ranking.mean_ranks(self.scores(name)) for name in RANKED[task]}
        self.first_ranks = self.ranks[RANKED[task][0]]
        unranked = [a for a in learners if a not in self.ranked]
        self.learners = [*self.first_ranks, *unranked]

    def _common_rows(self, stream: str) -> int:
        """Return over how many rows of a stream all ranked learners have been."""
        known = [
            {n for s, a, n in self.by_key if (s, a) == (stream, learner)}
            for learner in self.ranked
            if self.error(stream, learner) is None  # which is a result on any number of rows
        ]
        return max(set.intersection(*known), default=0) if known else 0

    def error(self, stream: str, learner: str) -> Result | None:
        """Return the result of a run that ended with an error."""
        own = (r for (s, a, _), r in self.by_key.items() if (s, a) == (stream, learner))
        return next((result for result in own if result["error"]), None)

    def result(self, stream: str, learner: str) -> Result | None:
        """Return what is known of a learner on the rows that are compared."""
        own = self.by_key.get((stream, learner, self.rows[stream]))
        return own if own is not None else self.error(stream, learner)

    def results(self, learner: str) -> list[Result]:
        """Return what is known of a learner on all streams."""
        return [r for s in self.streams if (r := self.result(s, learner)) is not None]

    def scores(self, name: str) -> dict[str, dict[str, float]]:
        """Return a score of the ranked learners by stream, larger is better, an error the worst."""
        return {s: {a: self.value(s, a, name) for a in self.ranked} for s in self.streams}

    def value(self, stream: str, learner: str, name: str) -> float:
        """Return a score to rank by."""
        result = self.result(stream, learner)
        if result is None or result["error"] or not result[name]:
            return -1e300
        score = float(result[name])
        if math.isnan(score):
            return -1e300
        if name == "MAE":  # in the target's unit: what is compared between streams is a ratio
            return -math.log(max(score, 1e-300))
        return score if NAMES[self.task][name] else -score

    def peers(self) -> list[str]:
        """Return the learners that are not ours, ranked or not."""
        return [a for a in self.learners if contenders.library(a, self.task) != "river-extra-trees"]

    def summary(self) -> Table:
        """Return ranks, speed and memory, a line for each learner."""
        lines = []
        for learner in self.learners:
            own = self.results(learner)
            places = [f"{r[learner]:.2f}" if learner in r else "-" for r in self.ranks.values()]
            known = [float(r[CALIBRATION]) for r in own if r[CALIBRATION]]
            mean = f"{statistics.fmean(known):.3f}" if known else "-"
            extra = [mean] if self.task == "classification" else []
            lines.append([learner, *places, *extra, speed(own), memory(own)])
        extra = ["mean calibration error"] if self.task == "classification" else []
        heads = ["learner", *(f"mean rank, {name}" for name in self.ranks), *extra]
        return [*heads, "samples/s", "median memory, MB"], lines

    def ahead(self) -> Table:
        """Return where a peer is ahead of the default, with the best peer in each score."""
        own, lines = DEFAULTS[self.task], []
        for stream, name in itertools.product(self.streams, RANKED[self.task]):
            scores = {a: self.value(stream, a, name) for a in self.peers()}
            best = max(scores, key=scores.__getitem__)
            if scores[best] - self.value(stream, own, name) > MARGIN:
                ours, its = (cell(self.result(stream, a), name) for a in (own, best))
                lines.append([stream, name, ours, best, its])
        return ["stream", "score", "ours", "best peer", "its"], lines

    def against(self) -> Table:
        """Return the default beside each peer, on the streams that both know: wins, losses, p."""
        own = DEFAULTS[self.task]
        shared = {
            a: [s for s in self.streams if self.result(s, a) is not None] for a in self.peers()
        }
        lines = [[a, str(len(known))] for a, known in shared.items()]
        for name in RANKED[self.task]:
            pairs = {
                a: [(self.value(s, own, name), self.value(s, a, name)) for s in known]
                for a, known in shared.items()
            }
            chances = ranking.holm({a: ranking.wilcoxon(each) for a, each in pairs.items()})
            for line, (a, each) in zip(lines, pairs.items(), strict=True):
                won, lost = sum(x > y for x, y in each), sum(x < y for x, y in each)
                line.append(f"{won} - {lost}, {chances[a]:.1g}")
        heads = [f"{name}: won - lost, p" for name in RANKED[self.task]]
        return ["peer", "streams", *heads], lines

    def verdict(self) -> str:
        """Say how far the ranks can be trusted."""
        first = RANKED[self.task][0]
        n, k = len(self.streams), len(self.ranked)
        text = f"{k} learners on {n} streams"
        if n < 2 or k < 3:
            return text
        return (
            f"{text}. Friedman's test: p = {ranking.friedman(self.scores(first)):.1g}. Nemenyi's "
            f"critical difference at the 5 % level: {ranking.critical_difference(k, n):.2f} ranks"
        )


def over_all(results: list[Result], task: Task, streams: list[str]) -> list[Result]:
    """Return the results of the learners that have been over all rows of every stream."""
    own = [result for result in results if result["task"] == task and result["stream"] in streams]
    length: dict[str, int] = {}
    for result in own:
        length[result["stream"]] = max(length.get(result["stream"], 0), int(result["rows"]))
    ended = {
        (r["learner"], r["stream"])
        for r in own
        if r["error"] or int(r["rows"]) == length[r["stream"]]
    }
    learners = {a for a, _ in ended if all((a, stream) in ended for stream in length)}
    return [result for result in own if result["learner"] in learners]


def speed(own: list[Result]) -> str:
    """Return samples per second of user CPU time over all streams."""
    seconds = sum(float(result["seconds"]) for result in own)
    return f"{sum(int(result['rows']) for result in own) / max(seconds, 1e-9):,.0f}"


def memory(own: list[Result]) -> str:
    """Return the median memory over all streams."""
    known = [int(result["memory"]) for result in own if result["memory"]]
    return f"{statistics.median(known) / 1e6:.3g}" if known else "-"


def rounded(score: float) -> str:
    """Return a score with four digits, or its order of magnitude if it is far off."""
    return f"{score:.4f}" if score >= -10 else f"{score:.0e}"


def cell(result: Result | None, name: str) -> str:
    """Return a score as a table shows it."""
    if result is None or not result[name]:
        return "-"
    return f"error ({result['error']})" if result["error"] else rounded(float(result[name]))
