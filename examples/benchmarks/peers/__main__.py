"""Our learners with their defaults beside river's, CapyMOA's and LightGBM.

Every learner predicts, is scored and learns sample by sample, on the raw features. Measurements are
kept at 1,000, 2,000, 5,000, 10,000 samples and at the end of a stream. `run` writes them to
`build/benchmarks/peers.csv`, adds what is missing there and repeats nothing. `show` and `draw` put
them in the place of the recorded ones, which are in `docs/results/peers.csv`:

    python -m examples.benchmarks.peers show --task regression          the first 2,000 samples
    python -m examples.benchmarks.peers show --whole                    whole streams
    python -m examples.benchmarks.peers draw peers.png                  mean rank and speed
    python -m examples.benchmarks.peers run river --task regression     measure river's learners
    python -m examples.benchmarks.peers run ours                        measure ours
    python -m examples.benchmarks.peers run capymoa --capymoa-python PYTHON
    python -m examples.benchmarks.peers run HoeffdingTreeClassifier --streams elec letter
    python -m examples.benchmarks.peers run ours river --delay 100      labels 100 samples late

With `--delay`, all three commands use files of their own, such as `peers_delay_100.csv`. Answers
that were given before the first label came are then not scored. Times are user CPU. No default of
ours was chosen on the streams that are run unless others are named.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from examples.benchmarks.common import generated, results, streams, tables
from examples.benchmarks.common.scores import NAMES
from examples.benchmarks.peers import contenders
from examples.benchmarks.peers.standings import DEFAULTS, Standings, over_all
from river_extra_trees.cli import UserError
from river_extra_trees.cli.streams import Task

GENERATED = 5_000  # rows of a generated stream
KEY = ["task", "stream", "learner", "rows"]
SCORES = [name for names in NAMES.values() for name in names]


def measure(options: argparse.Namespace) -> None:
    """Run every learner on every stream, keeping each result at once."""
    task = options.task
    found = streams.loaded(options.streams, lambda name: load(name, task, options.limit))
    for stream, rows in found:
        for name in contenders.named(options.learners, task):
            if not done(options, stream, name, len(rows)):
                measure_one(options, stream, name, rows)


def load(stream: str, task: Task, limit: int) -> streams.Rows:
    """Return the first rows of a stream; where a generated one changes does not depend on them."""
    if stream in generated.MAKERS:
        return streams.load(stream, task, GENERATED)[:limit]
    return streams.load(stream, task, limit)


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
    runs = contenders.checkpoints(name, rows, task, options.seconds, python, options.delay)
    for run in runs:
        stopped = run.samples < len(rows) and run.seconds >= options.seconds
        # An error is the learner's result on all rows.
        n_rows = len(rows) if run.error else run.samples
        key = [task, stream, name, str(n_rows)]
        found = {
            score: f"{run.scores[score]:.5g}" if score in run.scores else "" for score in SCORES
        }
        found["seconds"] = f"{run.seconds:.3g}"
        found["memory"] = "" if run.memory is None else str(run.memory)
        found |= {"error": run.error, "stopped": "yes" if stopped else ""}
        found["version"] = contenders.version(name, task, python)
        results.keep(options.results, dict(zip(KEY, key, strict=True)) | found, KEY)
    first = run.scores[next(iter(NAMES[task]))]
    print(f"{stream:20} {name:40} {run.samples:6} {first:10.4g} {run.seconds:8.2f} s {run.error}")
    sys.stdout.flush()


def standings(options: argparse.Namespace) -> Standings:
    """Return the recorded results, with one's own in their place."""
    recorded, own = (results.read(path) for path in (options.recorded, options.results))
    if own:
        print(f"With the results of {options.results} in the place of the recorded ones.\n")
    known = results.in_place_of(recorded, own, KEY)
    if options.whole:
        known = over_all(known, options.task, options.streams)
    found = Standings(options.task, known, options.streams)
    if not found.streams:
        raise UserError("nothing has been measured on these streams yet; use `run` first")
    return found


def show(options: argparse.Namespace) -> None:
    """Print the tables."""
    found = standings(options)
    print(found.verdict(), end="\n\n")
    tables.show(*found.summary())
    if DEFAULTS[options.task] in found.ranked:
        tables.show(*found.against())
        tables.show(*found.ahead())


def draw(options: argparse.Namespace) -> None:
    """Write a picture."""
    from examples.benchmarks.peers import pictures  # matplotlib takes a while

    pictures.draw(standings(options), options.picture)


def arguments() -> argparse.Namespace:
    """Return what the user asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    for name, command in (("run", measure), ("show", show), ("draw", draw)):
        sub = commands.add_parser(name)
        sub.set_defaults(command=command)
        sub.add_argument("--results", type=Path, help="a file of one's own")
        sub.add_argument("--delay", type=int, default=0, help="how many samples late labels are")
        sub.add_argument("--task", choices=streams.UNSEEN, default="classification")
        sub.add_argument("--streams", nargs="+", help="by default all")
        if command is measure:
            sub.add_argument("learners", nargs="+", help="ours, river, capymoa, lightgbm, or names")
            sub.add_argument("--limit", type=int, default=20_000, help="samples per stream")
            sub.add_argument("--seconds", type=float, default=600.0, help="CPU time per run")
            sub.add_argument("--capymoa-python", help="an interpreter that has CapyMOA")
            continue
        sub.add_argument("--recorded", type=Path, help="a file that others measured")
        sub.add_argument("--whole", action="store_true", help="whole streams")
        if command is draw:
            sub.add_argument("picture", type=Path)
    options = parser.parse_args()
    options.streams = options.streams or streams.UNSEEN[options.task]
    file = f"peers_delay_{options.delay}.csv" if options.delay else "peers.csv"
    options.results = options.results or results.OWN / file
    if options.command is not measure:
        options.recorded = options.recorded or results.RECORDED / file
    return options


if __name__ == "__main__":
    try:
        chosen = arguments()
        chosen.command(chosen)
    except UserError as error:
        sys.exit(f"error: {error}")
    except ImportError as error:
        sys.exit(f"error: {error}; install it with: .venv/bin/python -m pip install --group peers")
