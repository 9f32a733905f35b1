"""Ways to learn a rare class with the default forest: ranking, calibration and time.

One label of each table is the positive one, and has 5 % of the samples or fewer; in three large
tables, positive samples are left out at random until 1 % are. Evaluation is prequential.
Probabilities that a way has changed are corrected: weights and undersampling multiply the odds by a
known factor, by which they are divided again.

    python -m examples.benchmarks.studies.rare_classes --samples 20000
    python -m examples.benchmarks.studies.rare_classes --streams hyperplane --samples 40000
    python -m examples.benchmarks.studies.rare_classes --thresholds --samples 10000
    python -m examples.benchmarks.studies.rare_classes --ways default ARF HoeffdingTree LightGBM

The third command shows kappa if the rare label of a table is predicted where it is the more
probable one, or where its probability is above twice its share of the samples so far. The last one
races learners of others, with their defaults; LightGBM is trained again every 500 samples on all
before.
"""

from __future__ import annotations

import argparse
import collections
import math
import random
import statistics
import time
from collections.abc import Callable, Iterable
from typing import Any

from river import forest, metrics, tree
from river.datasets import synth

import river_extra_trees as ret
from examples.benchmarks.common import streams, tables
from examples.benchmarks.peers.boosting import WindowLightGBM
from river_extra_trees.evaluate import AveragePrecision, ExactROCAUC

# The positive label of a table, and the share of its samples that is wanted; None keeps all.
STREAMS: dict[str, tuple[Any, float | None]] = {
    "mammography": (1, None),
    "ozone_1hr": (1, None),
    "ann_thyroid": (1, None),
    "letter": ("Z", None),
    "page_blocks": (4, None),
    "yeast": ("EXC", None),
    "adult": (">50K", 0.01),
    "bank_marketing": ("yes", 0.01),
    "default_credit": (1, 0.01),
}
MADE = "hyperplane"  # of river.datasets.synth, with 0.5 % positive samples
TWO_LABELS = ("mammography", "ozone_1hr", "jm1", "default_credit", "kc1", "pc1")
LONG = (50, 200, 1000, 5000, 20_000, 40_000)
FROM_200 = (200, 1200, 5000, 16_000)
SMALLEST = 1e-6  # probability in a log loss


class Way:
    """A way to learn a rare class: a model, which sees some samples or weights.

    Parameters
    ----------
    weight
        Weight of the positive samples.
    share
        Share of the positive samples among those that are learned; None learns all.
    window_sizes
        Of the default forest; None: the default.
    model
        Another model in place of the default forest.
    """

    def __init__(
        self,
        weight: float = 1.0,
        share: float | None = None,
        window_sizes: tuple[int, ...] | None = None,
        model: Any = None,
    ) -> None:
        self.weight, self.share = weight, share
        sizes = {} if window_sizes is None else {"window_sizes": window_sizes}
        self.model = ret.ExtraTreesClassifier(seed=0, **sizes) if model is None else model
        self.rng = random.Random(1)
        self.n = [1.0, 1.0]  # negative and positive samples so far

    def odds(self) -> float:
        """Return the factor by which the odds of what was learned differ from those of all."""
        if self.share is None:
            return self.weight
        return max(1.0, self.n[0] / self.n[1] * self.share / (1.0 - self.share))

    def predict(self, x: Any) -> float:
        """Return the probability of the positive label."""
        share = self.model.predict_proba_one(x).get(True, 0.0)
        return share / (share + self.odds() * (1.0 - share))

    def learn(self, x: Any, y: bool) -> None:
        """Learn a sample, or leave it out."""
        self.n[y] += 1.0
        if self.share is None or y or self.rng.random() * self.odds() < 1.0:
            weights = (self.weight,) if y and self.weight != 1.0 else ()  # others have none
            self.model.learn_one(x, y, *weights)


WAYS: dict[str, Callable[[Any], Way]] = {
    "default": lambda rows: Way(),
    "w=5": lambda rows: Way(weight=5.0),
    "w=20": lambda rows: Way(weight=20.0),
    "w=100": lambda rows: Way(weight=100.0),
    "windows up to 40,000": lambda rows: Way(window_sizes=LONG),
    "windows from 200": lambda rows: Way(window_sizes=FROM_200),
    "undersampled to 5 %": lambda rows: Way(share=0.05),
    "undersampled to 10 %": lambda rows: Way(share=0.1),
    "undersampled to 20 %": lambda rows: Way(share=0.2),
    "undersampled to 50 %": lambda rows: Way(share=0.5),
}
OTHERS: dict[str, Callable[[Any], Way]] = {
    "ARF": lambda rows: Way(model=forest.ARFClassifier(seed=0)),
    "HoeffdingTree": lambda rows: Way(model=tree.HoeffdingTreeClassifier()),
    "LightGBM": lambda rows: Way(model=WindowLightGBM(rows, "classification", len(rows))),
}


def rows_of(name: str, n: int) -> list[tuple[Any, bool]]:
    """Return the rows of a table, whose rare label is True."""
    rows: Iterable[tuple[Any, Any]]
    if name == MADE:
        label, wanted = 1, 0.005
        rows = synth.Hyperplane(seed=1, noise_percentage=0.0).take(2 * n)
    else:
        label, wanted = STREAMS[name]
        rows = streams.load(name, "classification", n if wanted is None else 2 * n)
    found = [(x, bool(y == label)) for x, y in rows]
    if wanted is not None:
        n_positive = sum(y for _, y in found)
        kept = wanted / (1.0 - wanted) * (len(found) - n_positive) / n_positive
        rng = random.Random(0)
        found = [(x, y) for x, y in found if not y or rng.random() < kept]
    return found[:n]


def measured(way: Way, rows: list[tuple[Any, bool]]) -> list[float]:
    """Return ROC AUC, average precision, log loss and CPU seconds."""
    ranking, precision, losses = ExactROCAUC(), AveragePrecision(), []
    begun = time.process_time()
    for x, y in rows:
        share = way.predict(x)
        for metric in (ranking, precision):
            metric.update(y, {True: share, False: 1.0 - share})
        share = min(max(share, SMALLEST), 1.0 - SMALLEST)
        losses.append(-math.log(share if y else 1.0 - share))
        way.learn(x, y)
    seconds = time.process_time() - begun
    return [ranking.get(), precision.get(), statistics.fmean(losses), seconds]


def thresholds(rows: streams.Rows) -> list[str]:
    """Return share and mean probability of the rare label, and kappa with either threshold."""
    counts = collections.Counter(y for _, y in rows)
    rare = min(counts, key=lambda label: counts[label])
    model = ret.ExtraTreesClassifier(seed=1)
    kappas, shares, n = [metrics.CohenKappa(), metrics.CohenKappa()], [], 0
    for i, (x, y) in enumerate(rows):
        shares.append(model.predict_proba_one(x).get(rare, 0.0))
        for kappa, least in zip(kappas, (0.5, 2.0 * n / max(i, 1)), strict=True):
            kappa.update(y == rare, shares[-1] > least)
        model.learn_one(x, y)
        n += y == rare
    found = (n / len(rows), statistics.fmean(shares))
    return [*(f"{each:.4f}" for each in found), *(f"{kappa.get():.3f}" for kappa in kappas)]


def main() -> None:
    """Print a table for each stream, and the means."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--samples", type=int, default=20_000)
    parser.add_argument("--streams", nargs="+", choices=[*STREAMS, MADE], default=list(STREAMS))
    ways = WAYS | OTHERS
    parser.add_argument("--ways", nargs="+", choices=ways, default=list(WAYS))
    parser.add_argument("--thresholds", action="store_true", help="kappa with two thresholds")
    options = parser.parse_args()
    if options.thresholds:
        heads = ["stream", "share", "mean probability", "kappa", "kappa, threshold 2 x share"]
        loaded = [(name, streams.load(name, "classification", options.samples))
                  for name in TWO_LABELS]  # fmt: skip
        tables.show(heads, [[name, *thresholds(rows)] for name, rows in loaded])
        return
    found: dict[str, list[list[float]]] = {way: [] for way in options.ways}
    lines = []
    made = streams.loaded(options.streams, lambda name: rows_of(name, options.samples))
    for name, rows in made:
        share = statistics.fmean(y for _, y in rows)
        for way in options.ways:
            numbers = measured(ways[way](rows), rows)
            found[way].append(numbers)
            lines.append([f"{name} ({share:.1%})", way, *written(numbers)])
    for way, numbers in found.items():
        means = [statistics.fmean(each) for each in zip(*numbers, strict=True)]
        lines.append(["mean", way, *written(means)])
    tables.show(["stream", "way", "ROC AUC", "average precision", "log loss", "CPU s"], lines)


def written(numbers: list[float]) -> list[str]:
    """Write the measured numbers."""
    return [*(f"{each:.3f}" for each in numbers[:2]), f"{numbers[2]:.4f}", f"{numbers[3]:.1f}"]


if __name__ == "__main__":
    main()
