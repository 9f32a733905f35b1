"""The streams of the benchmarks, by name, each a list of pairs ``(x, y)``.

Streams made by a generator are in `generated.py`. The others are looked for in three places:

1. the folder named by the environment variable ``RIVER_EXTRA_TREES_DATA``, with one file
   ``NAME.csv.gz`` per stream, target in the last column
   (``covtype.npz`` holds arrays ``X``, ``y`` and ``feature_names`` instead);
2. river's bundled data sets;
3. GitHub, OpenML and the UCI repository; see `downloads.py`.

A file whose rows are sorted by class is shuffled, always with the same seed.
"""

from __future__ import annotations

import csv
import gzip
import itertools
import random
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import numpy as np

from examples.benchmarks.common import downloads, generated
from river_extra_trees import ColumnKinds
from river_extra_trees.cli import UserError, streams

Loaded = TypeVar("Loaded")
Rows = list[tuple[dict[str, Any], Any]]

# The streams on which defaults of ours were chosen: all of them for the stream forests and the
# dynamic trees, seven for the shrub ensembles.
SEEN: dict[streams.Task, list[str]] = {
    "classification": [
        *("elec", "covtype", "phishing", "powersupply", "forgetful_gradual", "forgetful_abrupt"),
        *("spambase", "splice", "pendigits", "letter", "adult", "bank_marketing", "magic"),
        *("shuttle", "segment", "occupancy", "kdd99_10pct"),
    ],
    "regression": [
        *("bike_sharing_hourly", "cal_housing", "abalone", "house_8L", "ailerons", "cpu_act"),
        *("power_plant_ccpp", "wind", "airfoil", "bank8FM"),
        *("TrumpApproval", "ChickWeights"),
    ],
}
# Streams on which no default was chosen. The lines of PUBLISHED were taken for having few features,
# because some peers are slow. Those of FRESH are all that were left: real streams of at least 1,000
# rows and at most 200 features, without identifiers, and no other form of a stream named here. Some
# of OpenML-CC18 were in a comparison with batch learners before; nothing was chosen there.
PUBLISHED: dict[streams.Task, list[str]] = {
    "classification": [
        *("sea_drift", "hyperplane", "sine_drift", "random_tree_drift", "Bananas", "mammography"),
        *("page_blocks", "ann_thyroid", "jm1", "mushroom"),
    ],
    "regression": [
        *("mv", "planes_drift", "delta_ailerons", "delta_elevators", "grid_stability", "concrete"),
        "wine_quality_red",
    ],
}
FRESH: dict[streams.Task, list[str]] = {
    "classification": [
        *("banknote", "car", "cmc", "credit_g", "default_credit", "kc1", "kr_vs_kp", "ozone_1hr"),
        *("pc1", "sick", "texture", "waveform5000", "yeast"),
    ],
    "regression": [
        *("bank32nh", "elevators", "kin8nm", "pol", "puma32H", "puma8NH", "quake"),
    ],
}
UNSEEN: dict[streams.Task, list[str]] = {task: PUBLISHED[task] + FRESH[task] for task in PUBLISHED}
CLASS_SORTED = {
    *("banknote", "cmc", "jm1", "kc1", "kr_vs_kp", "magic", "mammography", "pc1", "spambase"),
    *("splice", "texture"),
}
# Columns in which some names look like numbers.
NOMINAL = {"car": ["a2", "a3"]}


def load(name: str, task: streams.Task, limit: int) -> Rows:
    """Return the first `limit` rows of a stream.

    Examples
    --------
    >>> len(load("Phishing", "classification", 100))
    100

    """
    if name in generated.MAKERS:
        return generated.MAKERS[name](limit)
    # To shuffle a stream, all of it has to be read.
    most = None if name in CLASS_SORTED else limit
    rows = _from_folder(name, task, most)
    if rows is None and name in streams.bundled_names():
        rows = rows_of(streams.open_stream(name, task=task, limit=most))
    if rows is None:
        downloads.download(name)
        rows = _from_folder(name, task, most) or []
    if name in CLASS_SORTED:
        random.Random(0).shuffle(rows)
    return rows[:limit]


def loaded(names: Iterable[str], load: Callable[[str], Loaded]) -> Iterator[tuple[str, Loaded]]:
    """Load streams one by one; say which cannot be downloaded, and leave them out."""
    n = 0
    for name in names:
        try:
            rows = load(name)
        except UserError as error:
            print(f"note: {name} is left out: {error}", file=sys.stderr)
        else:
            n += 1
            yield name, rows
    if not n:
        raise UserError("none of the streams is there")


def rows_of(stream: streams.Stream) -> Rows:
    """Return all samples of a stream of the command line."""
    pairs = (zip(batch.rows(), batch.targets or [], strict=True) for batch in stream.batches)
    return list(itertools.chain.from_iterable(pairs))


def _from_folder(name: str, task: streams.Task, limit: int | None) -> Rows | None:
    folder = downloads.folder()
    if (path := folder / f"{name}.csv.gz").is_file():
        with gzip.open(path, "rt") as file:
            target = next(csv.reader(file))[-1]
        kinds = ColumnKinds(dict.fromkeys(NOMINAL.get(name, []), "nominal"))
        stream = streams.open_stream(str(path), target=target, task=task, kinds=kinds, limit=limit)
        return rows_of(stream)
    if (path := folder / f"{name}.npz").is_file():
        with np.load(path) as arrays:
            X, y, names = (arrays[key] for key in ("X", "y", "feature_names"))
        values, targets = X[:limit].tolist(), y[:limit].tolist()
        keys = [str(key) for key in names]
        return [
            (dict(zip(keys, row, strict=True)), target)
            for row, target in zip(values, targets, strict=True)
        ]
    return None
