"""How long a whole test-then-train evaluation takes: from a Parquet file, and sample by sample.

The same model and metric run on the same rows of covtype: by `river_extra_trees.evaluate` from a
Parquet file, by `river.evaluate` on dicts that are there already, and by `river.evaluate` on dicts
that are made from the file. River's runs take the first rows only, in turns with ours on as many;
the scores must be equal. Times are CPU time of this process, all threads together.

    python -m examples.benchmarks.costs.replay
    python -m examples.benchmarks.costs.replay ExtraTreesClassifier --samples 5000
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
from pyarrow import parquet
from river import evaluate as river_evaluate
from river import metrics

from river_extra_trees import evaluate, streams
from river_extra_trees.cli import learners


def write_covtype(path: Path, rows: int | None = None) -> int:
    """Write the stream covtype as a Parquet file; return the number of rows."""
    data = np.load(Path(os.environ["RIVER_EXTRA_TREES_DATA"]) / "covtype.npz", allow_pickle=True)
    X, y = data["X"][:rows], data["y"][:rows]
    columns = {str(name): X[:, i] for i, name in enumerate(data["feature_names"])}
    parquet.write_table(pyarrow.table({**columns, "target": y}), path, row_group_size=65536)
    return len(y)


def dicts_of(path: Path) -> Iterator[tuple[dict[str, Any], Any]]:
    """Yield the rows of a Parquet file as river takes them."""
    for batch in parquet.ParquetFile(path).iter_batches(batch_size=1024):
        for x in batch.to_pylist():
            yield x, x.pop("target")


def measure(run: Callable[[Any], Any]) -> tuple[float, float]:
    """Return accuracy and CPU seconds of a run, which gets the metric."""
    metric = metrics.Accuracy()
    start = time.process_time()
    run(metric)
    return metric.get(), time.process_time() - start


def compare(
    path: Path, model: Callable[[], Any], ours: Callable[[Any], Any], n: int, repeats: int
) -> None:
    """Print the time of each way to evaluate the rows of a file; the first is the yardstick."""
    ready = list(dicts_of(path))
    runs = {
        "river_extra_trees, from Parquet": ours,
        "river, from dicts": lambda metric: river_evaluate.progressive_val_score(
            ready, model(), metric
        ),
        "river, from Parquet": lambda metric: river_evaluate.progressive_val_score(
            dicts_of(path), model(), metric
        ),
    }
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            found[name].append(measure(run))
    assert len({score for pairs in found.values() for score, _ in pairs}) == 1
    first = [seconds for _, seconds in next(iter(found.values()))]
    for name, pairs in found.items():
        taken = [seconds for _, seconds in pairs]
        ratio = statistics.median(b / a for a, b in zip(first, taken, strict=True))
        each = 1e6 * statistics.median(taken) / n
        print(f"{name:34} {each:7.2f} us per row {ratio:7.2f} x")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("learner", nargs="?", default="StreamDecisionTreeClassifier")
    parser.add_argument("--samples", type=int, default=50_000, help="rows of river's runs")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=8192)
    options = parser.parse_args()

    def model() -> Any:
        return learners.make_learner(options.learner, "classification", seed=1)

    def from_file(path: Path) -> Callable[[Any], Any]:
        def run(metric: Any) -> None:
            table = streams.open_table(path, target="target", batch_size=options.batch_size)
            evaluate.progressive_val_score(table, model(), metric)

        return run

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "covtype.parquet")
        write_covtype(path, options.samples)
        print(f"{options.learner}, covtype, CPU time of {options.samples:,} rows")
        compare(path, model, from_file(path), options.samples, options.repeats)
        n = write_covtype(path)
        start = time.perf_counter()
        score, seconds = measure(from_file(path))
        wall = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"all {n:,} rows: accuracy {score:.4f}, {seconds:.2f} s CPU, {wall:.2f} s wall, "
        f"{n / seconds:,.0f} rows per CPU second; highest memory of the process {peak:,.0f} MiB"
    )


if __name__ == "__main__":
    main()
