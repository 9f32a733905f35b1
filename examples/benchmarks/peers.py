"""Our learners with their defaults beside river's and CapyMOA's: quality, speed, memory, ranks.

Every learner predicts, is scored and learns item by item, on the raw features. What was measured
stands in results/peers.csv; a run fills in what is missing there and repeats nothing:

    python examples/benchmarks/peers.py show --task regression          the tables, as stored
    python examples/benchmarks/peers.py run river --task regression     fill in river's learners
    python examples/benchmarks/peers.py run ours --again                measure ours anew
    python examples/benchmarks/peers.py run capymoa --capymoa-python PYTHON
    python examples/benchmarks/peers.py run HoeffdingTreeClassifier --streams elec letter
    python examples/benchmarks/peers.py report --folder docs            peers.md, with pictures

Scores are accuracy and Cohen's kappa, or R2 and the mean absolute error; times are user CPU. The
streams named by --set unseen (the default) played no part in choosing any default of ours; those
of --set seen did.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import contenders
import results
import streams
import tables
from standings import Standings

from river_extra_trees.cli import UserError

SETS = {"unseen": streams.UNSEEN, "seen": streams.SEEN}
SEEN = "Streams that defaults were chosen on"
INTRODUCTION = """# Beside other learners

Written by `python examples/benchmarks/peers.py report`, from measurements made by `peers.py run`.

Every learner has its default parameters and gets the raw features, one item at a time: it
predicts, is scored, and learns. Learners that know only numbers get one column per nominal value,
and nearest neighbours get scaled features besides. Speed is in items per second of user CPU,
prediction and learning together; memory is what the model says of itself at the end, for CapyMOA
the growth of Java's heap. CapyMOA's forests have 100 trees by default, river's and most of ours 10.
Ranks are means over the streams, 1 is best; learners joined by a red bar cannot be told apart by
Nemenyi's test at 5 %. A learner without a rank was not run on all of the streams, for want of time.
As in river's `evaluate`, an item for which a learner has no answer is not scored: the first one of
AMF for regression. Where the first target is far from zero and the stream is short, as in
TrumpApproval, that decides R2; compare the mean absolute errors there. A star marks a run that was
stopped by the limit of CPU time, a dash what was not measured; an error is the learner's own, and
ranks last.

The first two tables count: they show the first 5,000 items of streams on which nothing was chosen.
The last two show the first 20,000 items of streams on which defaults were chosen, those of the
stream forests and the dynamic trees on all of them, those of the shrub ensembles on seven; the
forgetful trees have the settings of their paper."""
LIMITS = {"unseen": 5_000, "seen": 20_000}
KEY = ["task", "stream", "learner", "limit"]


def measure(options: argparse.Namespace) -> None:
    """Run every learner on every stream, keeping each result at once."""
    task, file = options.task, options.results
    for name in contenders.named(options.learners, task):
        version = contenders.version(name, task, options.capymoa_python)
        for stream in options.streams:
            key = [task, stream, name, str(options.limit)]
            done = any([old[field] for field in KEY] == key for old in results.read(file))
            if done and not options.again:
                continue
            rows = streams.load(stream, task, options.limit)
            run = contenders.run(name, rows, task, options.seconds, options.capymoa_python)
            values = [*key, run.items, len(rows), f"{run.score:.5g}", f"{run.second_score:.5g}"]
            values += [f"{run.seconds:.3g}", "" if run.memory is None else run.memory]
            values += [run.error, version]
            fields = [*KEY, "items", "of", "score", "second_score", "seconds", "memory", "error"]
            result = dict(zip([*fields, "version"], map(str, values), strict=True))
            results.keep(file, result, KEY)
            print(f"{stream:20} {name:40} {run.score:12.5g} {run.seconds:8.2f} s {run.error}")
            sys.stdout.flush()


def standings(options: argparse.Namespace) -> Standings:
    """Return what was measured on the streams asked for."""
    found = [
        result
        for result in results.read(options.results)
        if result["task"] == options.task and result["limit"] == str(options.limit)
    ]
    if not any(result["stream"] in options.streams for result in found):
        raise UserError("nothing has been measured on these streams yet; see `run`")
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
    from pictures import draw_ranks, draw_speed  # matplotlib takes a while

    folder = options.folder
    lines = [INTRODUCTION]
    for kind, title in (("unseen", "Streams that no default was chosen on"), ("seen", SEEN)):
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
            sub.add_argument("--folder", type=Path, default=Path("docs"))
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
