"""What each parameter of the extra trees brings, on the streams on which it was chosen.

    python -m examples.benchmarks.stream.ablation                      the classifier
    python -m examples.benchmarks.stream.ablation --task regression
    python -m examples.benchmarks.stream.ablation show                 the table, as stored

Every variant differs from the default in its parameters.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path

from examples.benchmarks.common import prequential, results, streams, tables
from examples.benchmarks.common.scores import NAMES
from examples.benchmarks.peers import ranking
from river_extra_trees.cli import UserError, learners
from river_extra_trees.cli.streams import Task

VARIANTS: dict[Task, dict[str, str]] = {
    "classification": {
        "default": "",
        "one window of 2,000": "window_sizes=(2000,)",
        "twenty trees": "n_models=20",
        "no splits between regrowths": "batch_size=10000",
        "few features per split": "max_features='sqrt'",
    },
    "regression": {
        "default": "",
        "one window of 2,000": "window_sizes=(2000,)",
        "without the window of 16,000": "window_sizes=(15,60,250,1000)",
        "thirty trees": "n_models=30",
    },
}
FORESTS: dict[Task, str] = {
    "classification": "ExtraTreesClassifier",
    "regression": "ExtraTreesRegressor",
}
KEY = ["task", "variant", "stream", "rows"]


def measure(options: argparse.Namespace) -> None:
    """Run every variant on every stream, keeping each result at once."""
    task = options.task
    known = [[r[field] for field in KEY] for r in results.read(options.results)]
    for stream in options.streams or streams.SEEN[task]:
        rows = streams.load(stream, task, options.limit)
        for variant, parameters in VARIANTS[task].items():
            key = [task, variant, stream, str(len(rows))]
            if key in known:
                continue
            model = learners.make_learner(f"{FORESTS[task]}:{parameters}", task, seed=1)
            run = prequential.run(model, rows, task)
            found = {"first": f"{score(run, task, 0):.5g}", "second": f"{score(run, task, 2):.5g}"}
            found["seconds"] = f"{run.seconds:.4g}"
            results.keep(options.results, dict(zip(KEY, key, strict=True)) | found, KEY)
            print(*key, *found.values(), flush=True)


def score(run: prequential.Run, task: Task, place: int) -> float:
    """Return accuracy and log loss, or R2 and the mean absolute error."""
    names = list(NAMES[task])
    return run.scores[names[min(place, len(names) - 1)]]


def table(path: Path, task: Task) -> tuple[list[str], list[list[str]]]:
    """Return the means over the streams, a line for each variant."""
    own = [result for result in results.read(path) if result["task"] == task]
    if not own:
        raise UserError("nothing has been measured yet; run this without `show` first")
    lines = []
    for variant in VARIANTS[task]:
        found = [result for result in own if result["variant"] == variant]
        if not found:
            continue
        means = [f"{statistics.fmean(float(r['first']) for r in found):.4f}"]
        if task == "classification":
            means.append(f"{statistics.fmean(float(r['second']) for r in found):.3f}")
        spent = sum(float(r["seconds"]) for r in found) / sum(int(r["rows"]) for r in found)
        cells = [variant, VARIANTS[task][variant], *means, *beside_default(own, found)]
        lines.append([*cells, f"{1e6 * spent:.0f}"])
    heads = ["mean accuracy", "mean log loss"] if task == "classification" else ["mean R2"]
    return ["variant", "parameters", *heads, "better - worse", "p", "µs per sample"], lines


def beside_default(own: list[results.Result], found: list[results.Result]) -> list[str]:
    """Return on how many streams a variant beats the default and loses, and Wilcoxon's p."""
    default = {r["stream"]: float(r["first"]) for r in own if r["variant"] == "default"}
    pairs = [(float(r["first"]), default[r["stream"]]) for r in found if r["stream"] in default]
    better, worse = sum(a > b for a, b in pairs), sum(a < b for a, b in pairs)
    if better + worse == 0:
        return ["-", "-"]
    return [f"{better} - {worse}", f"{ranking.wilcoxon(pairs):.2g}"]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", nargs="?", choices=["run", "show"], default="run")
    parser.add_argument(
        "--results", type=Path, help="by default recorded ones, or build/benchmarks"
    )
    parser.add_argument("--task", choices=streams.SEEN, default="classification")
    parser.add_argument("--streams", nargs="+", help="by default all on which defaults were chosen")
    parser.add_argument("--limit", type=int, default=5_000, help="samples per stream")
    options = parser.parse_args()
    folder = results.OWN if options.command == "run" else results.RECORDED
    options.results = options.results or folder / "ablation.csv"
    if options.command == "run":
        measure(options)
    tables.show(*table(options.results, options.task))


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        sys.exit(f"error: {error}")
