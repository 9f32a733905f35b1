"""How soon learners recover from an abrupt drift: the accuracy of the samples around it.

    python -m examples.benchmarks.peers.drift run --capymoa-python PYTHON   add what is missing
    python -m examples.benchmarks.peers.drift show                          the table, as stored

Every learner has its default parameters. A place is the number of a sample after the drift at which
fifty samples begin; the drifts of a stream are averaged.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from river.datasets import synth

from examples.benchmarks.common import generated, results, streams, tables
from examples.benchmarks.peers import capymoa_process, contenders
from river_extra_trees.cli import UserError

LEARNERS = [
    "ExtraTreesClassifier",
    "ForgetfulRandomForestClassifier",
    "river HoeffdingAdaptiveTreeClassifier",
    "river ARFClassifier",
    "CapyMOA ARF",
    "CapyMOA SRP",
]
KEY = ["stream", "learner", "place"]
BIN, BEFORE, AFTER = 50, 200, 600
CONCEPT = 1_000


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
    kinds = contenders.CAPYMOA["classification"]
    if name in kinds:
        python = contenders.interpreter(capymoa)
        options = kinds[name], rows, "classification", float("inf"), python
        for _, found, _ in capymoa_process.parts(*options):
            yield from (max(each, key=each.__getitem__, default=None) for each in found)
        return
    model = contenders.make(name, rows, "classification")
    for x, y in rows:
        shares = model.predict_proba_one(x)
        yield max(shares, key=shares.__getitem__, default=None)
        model.learn_one(x, y)


def measure(options: argparse.Namespace) -> None:
    """Run every learner on every stream."""
    known = {(r["stream"], r["learner"]) for r in results.read(options.results)}
    for stream in options.streams:
        rows, drifts = STREAMS[stream]()
        for name in options.learners:
            if (stream, name) in known:
                continue
            found = answers(name, rows, options.capymoa_python)
            right = [a == y for a, (_, y) in zip(found, rows, strict=True)]
            for place in range(-BEFORE, AFTER, BIN):
                own = [right[i] for at in drifts for i in range(at + place, at + place + BIN)]
                key = [stream, name, str(place)]
                share = {"accuracy": f"{sum(own) / len(own):.4f}"}
                results.keep(options.results, dict(zip(KEY, key, strict=True)) | share, KEY)
            print(stream, name, flush=True)


def curves(path: Path) -> dict[str, dict[str, dict[int, float]]]:
    """Return accuracy by stream, learner and place."""
    found: dict[str, dict[str, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    for result in results.read(path):
        own = found[result["stream"]][result["learner"]]
        own[int(result["place"])] = float(result["accuracy"])
    if not found:
        raise UserError("no drift has been measured yet; use `run` first")
    return found


def table(path: Path) -> tuple[list[str], list[list[str]]]:
    """Return the accuracy before each drift, in the 200 samples after it, and later."""
    heads = ["stream", "learner", "200 before", "first 200 after", "next 400"]
    spans = [range(-BEFORE, 0, BIN), range(0, 200, BIN), range(200, AFTER, BIN)]
    found = curves(path)
    lines = []
    for stream in (name for name in STREAMS if name in found):
        for learner in (name for name in LEARNERS if name in found[stream]):
            own = found[stream][learner]
            means = [sum(own[i] for i in span) / len(span) for span in spans]
            lines.append([stream, learner, *(f"{mean:.3f}" for mean in means)])
    return heads, lines


def draw(source: Path, path: Path) -> None:
    """Draw the accuracy around the drifts, a panel for each stream."""
    from matplotlib import pyplot as plt  # takes a while

    found = curves(source)
    names = [name for name in STREAMS if name in found]
    figure, axes = plt.subplots(
        1, len(names), figsize=(11, 4), sharey=True, squeeze=False, constrained_layout=True
    )
    for axis, stream in zip(axes[0], names, strict=True):
        for learner in (name for name in LEARNERS if name in found[stream]):
            own = found[stream][learner]
            width = 2.5 if learner == LEARNERS[0] else 1
            places = sorted(own)
            middles = [place + BIN / 2 for place in places]
            axis.plot(middles, [own[i] for i in places], label=learner, linewidth=width)
        axis.axvline(0, color="gray", linewidth=0.8, linestyle=":")
        axis.set_title(stream)
        axis.set_xlabel("samples after the drift")
    axes[0][0].set_ylabel("accuracy")
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def show(options: argparse.Namespace) -> None:
    """Print the table."""
    tables.show(*table(options.results))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=["run", "show"])
    parser.add_argument(
        "--results", type=Path, help="by default recorded ones, or build/benchmarks"
    )
    parser.add_argument("--streams", nargs="+", choices=STREAMS, default=list(STREAMS))
    parser.add_argument("--learners", nargs="+", default=LEARNERS)
    parser.add_argument("--capymoa-python", help="an interpreter that has CapyMOA")
    options = parser.parse_args()
    folder = results.OWN if options.command == "run" else results.RECORDED
    options.results = options.results or folder / "drift.csv"
    (measure if options.command == "run" else show)(options)


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        sys.exit(f"error: {error}")
