"""How soon classifiers recover from an abrupt drift: the accuracy of the samples around it.

Every learner has its default parameters. The drifts of a stream are averaged.

    python -m examples.benchmarks.studies.drift
    python -m examples.benchmarks.studies.drift --capymoa-python PYTHON   CapyMOA's forests, too
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Iterator
from typing import Any

from river.datasets import synth

from examples.benchmarks.common import generated, prequential, streams, tables
from examples.benchmarks.peers import capymoa_process, contenders
from river_extra_trees.cli import UserError

OURS = ["ExtraTreesClassifier", "ForgetfulRandomForestClassifier"]
RIVER = ["river HoeffdingAdaptiveTreeClassifier", "river ARFClassifier"]
CAPYMOA = ["CapyMOA ARF", "CapyMOA SRP"]
CONCEPT = 1_000
# Samples relative to a drift.
SPANS = {
    "200 before": range(-200, 0),
    "first 200 after": range(200),
    "next 400": range(200, 600),
}


def sine() -> tuple[streams.Rows, list[int]]:
    """Four functions of two features, twice."""
    parts = [synth.Sine(classification_function=i % 4, seed=100 + i) for i in range(8)]
    return generated.in_turn(parts, 8 * CONCEPT), list(range(CONCEPT, 8 * CONCEPT, CONCEPT))


def mixed() -> tuple[streams.Rows, list[int]]:
    """Two concepts of two numbers and two booleans; each drift turns all labels round."""
    parts = [synth.Mixed(classification_function=i % 2, seed=200 + i) for i in range(8)]
    return generated.in_turn(parts, 8 * CONCEPT), list(range(CONCEPT, 8 * CONCEPT, CONCEPT))


def forgetful_abrupt() -> tuple[streams.Rows, list[int]]:
    """The stream of the forgetful forests' paper around its first drift, at 10,000."""
    return streams.load("forgetful_abrupt", "classification", 10_000 + CONCEPT)[-4_000:], [3_000]


STREAMS = {"sine": sine, "mixed": mixed, "forgetful_abrupt": forgetful_abrupt}


def answers(name: str, rows: streams.Rows, capymoa: str | None) -> Iterator[Any]:
    """Yield the label that a learner predicts for each row before learning it."""
    if name in CAPYMOA:
        kind, python = contenders.CAPYMOA["classification"][name], contenders.interpreter(capymoa)
        options = kind, rows, "classification", float("inf"), python
        for _, found, _ in capymoa_process.parts(*options):
            yield from (max(each, key=each.__getitem__, default=None) for each in found)
        return
    model = contenders.make(name, rows, "classification")
    for shares in prequential.answers(model, rows, model.predict_proba_one):
        yield max(shares, key=shares.__getitem__, default=None)


def shares_of(
    name: str, rows: streams.Rows, drifts: list[int], capymoa: str | None = None
) -> list[str]:
    """Return the accuracy of a learner in each span around the drifts."""
    found = answers(name, rows, capymoa)
    right = [a == y for a, (_, y) in zip(found, rows, strict=True)]
    spans = SPANS.values()
    return [
        f"{statistics.fmean(right[at + i] for at in drifts for i in span):.3f}" for span in spans
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--streams", nargs="+", choices=STREAMS, default=list(STREAMS))
    parser.add_argument("--learners", nargs="+", help="by default ours, river's and CapyMOA's")
    parser.add_argument("--capymoa-python", help="an interpreter that has CapyMOA")
    options = parser.parse_args()
    names = options.learners or OURS + RIVER + (CAPYMOA if options.capymoa_python else [])
    lines = []
    made = streams.loaded(options.streams, lambda stream: STREAMS[stream]())
    for stream, (rows, drifts) in made:
        for name in names:
            shares = shares_of(name, rows, drifts, options.capymoa_python)
            lines.append([stream, name, *shares])
    tables.show(["stream", "learner", *SPANS], lines)


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        sys.exit(f"error: {error}")
