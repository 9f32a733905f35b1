"""Our learners with their defaults beside river's and CapyMOA's: quality, speed, memory, ranks.

Every learner predicts, is scored and learns item by item, on the raw features. Measurements are
kept in `../results/peers.csv`. `run` adds what is missing there and repeats nothing:

    python -m examples.benchmarks.peers show --task regression          the tables, as stored
    python -m examples.benchmarks.peers run river --task regression     add river's learners
    python -m examples.benchmarks.peers run ours --again                measure ours again
    python -m examples.benchmarks.peers run capymoa --capymoa-python PYTHON
    python -m examples.benchmarks.peers run HoeffdingTreeClassifier --streams elec letter
    python -m examples.benchmarks.peers report                         write docs/results/peers.md

Scores are accuracy and Cohen's kappa, or R2 and the mean absolute error; times are user CPU. No
default of ours was chosen on the streams of `--set unseen` (the default); some were chosen on those
of `--set seen`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from examples.benchmarks.common import results, streams, tables
from examples.benchmarks.common.scores import NAMES
from examples.benchmarks.peers import contenders
from examples.benchmarks.peers.standings import Standings
from river_extra_trees.cli import UserError

SETS = {"unseen": streams.UNSEEN, "seen": streams.SEEN}
SEEN = "Streams on which defaults were chosen"
INTRODUCTION = """# Beside other learners

`.venv/bin/python -m examples.benchmarks.peers report` writes this page, from the measurements that
`... peers run` makes.

**Set-up.** Every learner has its default parameters and gets the raw features, one item at a time:
it predicts, is scored, and learns. Learners that take only numbers get one column per nominal
value; nearest neighbours also get scaled features. CapyMOA's forests have 100 trees by default,
river's and most of ours 10. As in river's `evaluate`, an item without a prediction is not scored.
This concerns the first item of AMF for regression: on a short stream whose first target is far from
zero, such as TrumpApproval, it decides R2, so compare the mean absolute errors there.

**Columns.** Speed is in items per second of user CPU, prediction and learning together. Memory is
what the model reports at the end; for CapyMOA it is the growth of Java's heap. Ranks are means over
the streams, 1 is best; Nemenyi's test at 5 % does not separate learners that a red bar joins. A
learner without a rank was not run on all streams, for lack of time. A star marks a run that the
limit of CPU time stopped, and a dash something that was not measured. An error is the learner's
own, and ranks last.

**Streams.** The first two sections count: they show the first 5,000 items of streams on which no
default was chosen. The last two show the first 20,000 items of streams on which defaults were
chosen: those of the stream forests and the dynamic trees on all of these streams, those of the
shrub ensembles on seven. The forgetful trees have the settings of their paper."""
LIMITS = {"unseen": 20_000, "seen": 20_000}
KEY = ["task", "stream", "learner", "rows"]
SCORES = [name for names in NAMES.values() for name in names]


def measure(options: argparse.Namespace) -> None:
    """Run every learner on every stream, keeping each result at once."""
    task = options.task
    for stream in options.streams:
        rows = streams.load(stream, task, options.limit)
        for name in contenders.named(options.learners, task):
            if options.again or not done(options, stream, name, len(rows)):
                measure_one(options, stream, name, rows)


def done(options: argparse.Namespace, stream: str, name: str, n_rows: int) -> bool:
    """Tell whether a learner has been over all rows, or as far as it gets."""
    key = [options.task, stream, name]
    return any(
        [old[field] for field in KEY[:3]] == key
        and (int(old["rows"]) >= n_rows or old["error"] or old["stopped"])
        for old in results.read(options.results)
    )


def measure_one(options: argparse.Namespace, stream: str, name: str, rows: streams.Rows) -> None:
    """Run a learner on a stream, keeping a result at every checkpoint."""
    task, python = options.task, options.capymoa_python
    for run in contenders.checkpoints(name, rows, task, options.seconds, python):
        stopped = run.items < len(rows) and run.seconds >= options.seconds
        # An error is the learner's result on all rows.
        n_rows = len(rows) if run.error else run.items
        key = [task, stream, name, str(n_rows)]
        found = {score: f"{run.scores[score]:.5g}" if score in run.scores else "" for score in SCORES}
        found["seconds"] = f"{run.seconds:.3g}"
        found["memory"] = "" if run.memory is None else str(run.memory)
        found |= {"error": run.error, "stopped": "yes" if stopped else ""}
        found["version"] = contenders.version(name, task, python)
        results.keep(options.results, dict(zip(KEY, key, strict=True)) | found, KEY)
    first = run.scores[next(iter(NAMES[task]))]
    print(f"{stream:20} {name:40} {run.items:6} {first:10.4g} {run.seconds:8.2f} s {run.error}")
    sys.stdout.flush()


def standings(options: argparse.Namespace) -> Standings:
    """Return what was measured on the streams asked for."""
    found = [
        result
        for result in results.read(options.results)
        if result["task"] == options.task and result["limit"] == str(options.limit)
    ]
    if not any(result["stream"] in options.streams for result in found):
        raise UserError("nothing has been measured on these streams yet; use `run` first")
    return Standings(options.task, found, options.streams)


def show(options: argparse.Namespace) -> None:
    """Print the tables."""
    found = standings(options)
    print(found.verdict(), end="\n\n")
    tables.show(*found.summary())
    for field in found.fields:
        tables.show(*found.details(field))
    print("* stopped by the limit of CPU time; an error ranks last")


def report(options: argparse.Namespace) -> None:
    """Write a page with all tables, and the pictures on it."""
    from examples.benchmarks.peers.pictures import (  # matplotlib takes a while
        draw_ranks,
        draw_speed,
    )

    folder = options.folder
    lines = [INTRODUCTION]
    for kind, title in (("unseen", "Streams on which no default was chosen"), ("seen", SEEN)):
        for task in ("classification", "regression"):
            options.task, options.streams, options.limit = task, SETS[kind][task], LIMITS[kind]
            found = standings(options)
            lines += [f"## {title}: {task}", found.verdict() + "."]
            lines.append(tables.render(*found.summary()))
            if kind == "unseen":
                for what, draw in (("ranks", draw_ranks), ("speed", draw_speed)):
                    name = f"peers_{task}_{what}.png"
                    draw(found, folder / name)
                    lines.append(f"![Mean ranks, {task}: {what}]({name})")
            for field, name in found.fields.items():
                lines += [f"Every score, {name}:", tables.render(*found.details(field))]
    (folder / "peers.md").write_text("\n\n".join(lines) + "\n")
    print(folder / "peers.md")


def arguments() -> argparse.Namespace:
    """Return what the user asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    for command in (measure, show, report):
        sub = commands.add_parser("run" if command is measure else command.__name__)
        sub.set_defaults(command=command)
        sub.add_argument("--results", type=Path, default=results.FOLDER / "peers.csv")
        if command is report:
            sub.add_argument("--folder", type=Path, default=Path("docs/results"))
            continue
        sub.add_argument("--task", choices=streams.UNSEEN, default="classification")
        sub.add_argument("--set", choices=SETS, default="unseen")
        sub.add_argument("--streams", nargs="+", help="by default all of the set")
        sub.add_argument("--limit", type=int, help="items per stream, by default that of the set")
        if command is measure:
            sub.add_argument("learners", nargs="+", help="ours, river, capymoa, or by name")
            sub.add_argument("--seconds", type=float, default=600.0, help="CPU time per run")
            sub.add_argument("--again", action="store_true", help="even what is there already")
            sub.add_argument("--capymoa-python", help="an interpreter that has CapyMOA")
    options = parser.parse_args()
    if options.command is not report:
        options.streams = options.streams or SETS[options.set][options.task]
        options.limit = options.limit or LIMITS[options.set]
    return options


if __name__ == "__main__":
    try:
        chosen = arguments()
        chosen.command(chosen)
    except UserError as error:
        sys.exit(f"error: {error}")
