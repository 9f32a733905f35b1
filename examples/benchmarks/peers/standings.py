"""Scores, ranks, speed and memory of the compared learners."""

from __future__ import annotations

import math
import statistics

from examples.benchmarks.common.results import Result
from examples.benchmarks.peers import ranking
from river_extra_trees.cli.streams import Task

NAMES = {"classification": ("accuracy", "kappa"), "regression": ("R2", "MAE")}


class Standings:
    """The results of some learners on some streams.

    A rank means something only among learners that ran on the same streams: those that most ran
    on. Who is missing from one of them has scores here, but no rank.
    """

    def __init__(self, task: Task, results: list[Result], streams: list[str]) -> None:
        self.task = task
        self.by_key = {(r["stream"], r["learner"]): r for r in results if r["stream"] in streams}
        learners = list(dict.fromkeys(learner for _, learner in self.by_key))
        self.streams = [
            stream
            for stream in streams
            if 2 * sum((stream, learner) in self.by_key for learner in learners) > len(learners)
        ]
        self.ranked = [a for a in learners if all((s, a) in self.by_key for s in self.streams)]
        self.ranks = ranking.mean_ranks(self.scores("score"))
        # The score that comes first, and the other one where every ranked run has it.
        self.fields = dict(zip(("score", "second_score"), NAMES[task], strict=True))
        ranked = [self.by_key[s, a] for s in self.streams for a in self.ranked]
        if not all(result["second_score"] for result in ranked):
            del self.fields["second_score"]
        second = self.scores("second_score") if "second_score" in self.fields else {}
        self.second_ranks = ranking.mean_ranks(second) if second else {}
        unranked = sorted(set(learners) - set(self.ranked))
        self.learners = [*self.ranks, *unranked]

    def scores(self, field: str) -> dict[str, dict[str, float]]:
        """Return the scores of the ranked learners by stream, an error the worst."""
        return {
            stream: {a: self.value(self.by_key[stream, a], field) for a in self.ranked}
            for stream in self.streams
        }

    def value(self, result: Result, field: str) -> float:
        """Return a score to rank by, larger is better; an error is worse than all."""
        score = float(result[field])
        if result["error"] or math.isnan(score):
            return -math.inf
        return -score if field == "second_score" and self.task == "regression" else score

    def summary(self) -> tuple[list[str], list[list[str]]]:
        """Return ranks, speed and memory, a line for each learner."""
        ranks = dict(zip(NAMES[self.task], (self.ranks, self.second_ranks), strict=True))
        known = {name: found for name, found in ranks.items() if found}
        lines = []
        for learner in self.learners:
            own = [self.by_key[s, learner] for s in self.streams if (s, learner) in self.by_key]
            places = [
                f"{found[learner]:.2f}" if learner in found else "-" for found in known.values()
            ]
            lines.append([learner, *places, speed(own), memory(own)])
        heads = ["learner", *(f"mean rank, {name}" for name in known)]
        return [*heads, "items/s", "median memory, MB"], lines

    def details(self, field: str = "score") -> tuple[list[str], list[list[str]]]:
        """Return every score, a line for each learner."""
        lines = []
        for learner in self.learners:
            found = [self.by_key.get((stream, learner)) for stream in self.streams]
            lines.append([learner, *(cell(result, field) for result in found)])
        return ["learner", *self.streams], lines

    def verdict(self) -> str:
        """Say how far the ranks can be trusted."""
        scores = self.scores("score")
        n, k = len(self.streams), len(self.ranked)
        text = f"{k} learners on {n} streams"
        if n < 2 or k < 3:
            return text
        difference = ranking.critical_difference(k, n)
        finite = {s: {a: max(v, -1e300) for a, v in each.items()} for s, each in scores.items()}
        chances = ranking.wilcoxon_holm(finite)
        apart = sum(p < 0.05 for p in chances.values())
        return (
            f"{text}; Friedman p = {ranking.friedman(finite):.1g}; Nemenyi's critical difference "
            f"at 5 % is {difference:.2f} ranks; Wilcoxon's test with Holm's correction tells "
            f"{apart} of {len(chances)} pairs apart at 5 %"
        )


def speed(own: list[Result]) -> str:
    """Return items per second of user CPU time over all streams."""
    seconds = sum(float(result["seconds"]) for result in own)
    return f"{sum(int(result['items']) for result in own) / max(seconds, 1e-9):,.0f}"


def memory(own: list[Result]) -> str:
    """Return the median memory over all streams."""
    known = [int(result["memory"]) for result in own if result["memory"]]
    return f"{statistics.median(known) / 1e6:.3g}" if known else "-"


def cell(result: Result | None, field: str) -> str:
    """Return a score as a table shows it; a star marks one of a run that was stopped."""
    if result is None or not result[field]:
        return "-"
    if result["error"]:
        return f"error ({result['error']})"
    score = float(result[field])
    shown = f"{score:.4g}" if field == "second_score" else f"{score:.4f}"
    if score < -10:
        shown = f"{score:.0e}"
    return shown + ("*" if int(result["items"]) < int(result["of"]) else "")
