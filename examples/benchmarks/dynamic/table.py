"""Table 1 of Anagnostopoulos and Gramacy (2013): which points to discard, beside other learners.

The data are spam and the shuffled electricity prices, each split once: four fifths to learn, one
fifth to test. The pool is a tenth of the training rows. The programs of the paper were not
available; river's learners stand in their place.

    python -m examples.benchmarks.dynamic.table
"""

from __future__ import annotations

import argparse
import random
import sys

from river import forest, tree

from examples.benchmarks.common import streams, tables
from examples.benchmarks.common.prequential import user_seconds
from river_extra_trees import DynamicTreeClassifier
from river_extra_trees.cli import UserError


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--particles", type=int, default=50)
    parser.add_argument("--rows", type=int, default=sys.maxsize, help="only the first rows")
    options = parser.parse_args()
    lines = []
    for name in ("spambase", "elec2_dynatree"):
        rows = streams.load(name, "classification", options.rows)
        random.Random(0).shuffle(rows)
        train, test = rows[len(rows) // 5 :], rows[: len(rows) // 5]
        settings = {"n_particles": options.particles, "forgetting_factor": 1.0, "seed": 1}
        pool = len(train) // 10
        learners = {
            "FULL": DynamicTreeClassifier(window=len(train), **settings),
            "OENT": DynamicTreeClassifier(window=pool, discard="entropy", **settings),
            "ORAND": DynamicTreeClassifier(window=pool, discard="random", **settings),
            "Hoeffding tree": tree.HoeffdingTreeClassifier(),
            "adaptive random forest": forest.ARFClassifier(seed=1),
        }
        for label, model in learners.items():
            start = user_seconds()
            for x, y in train:
                model.learn_one(x, y)
            seconds = user_seconds() - start
            wrong = sum(model.predict_one(x) != y for x, y in test) / len(test)
            lines.append([f"{name}: {label}", f"{wrong:.3f}", f"{seconds:.1f}"])
    tables.show(["data: learner", "error", "learning, s"], lines)


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        sys.exit(f"error: {error}")
