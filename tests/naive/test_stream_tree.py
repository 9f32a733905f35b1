"""The naive stream decision tree against the recorded runs of the published program."""

from __future__ import annotations

import csv
import gzip
import itertools
from pathlib import Path

import numpy as np
import pytest

from tests.naive.stream_tree import PublishedStreamTree

GOLDEN = Path(__file__).parent.parent / "golden" / "sdf"
INPUTS = {"elec_nswprice": 2, "power_main": 24, "gradual_x3": 2}
OPTIONS = {"": {}, "_depth8": {"max_depth": 8}, "_leaf5": {"min_samples_leaf": 5}}
RUNS = list(itertools.product(INPUTS, (50, 100), ("gini", "entropy"), OPTIONS))


def read_table(name: str) -> list[list[str]]:
    with gzip.open(GOLDEN / f"{name}.csv.gz", "rt") as file:
        return list(csv.reader(file))[1:]


def read_integers(name: str) -> list[int]:
    with gzip.open(GOLDEN / f"{name}.txt.gz", "rt") as file:
        return [int(line) for line in file]


@pytest.mark.slow
@pytest.mark.parametrize(("stream", "batch_size", "criterion", "option"), RUNS)
def test_published_run(stream: str, batch_size: int, criterion: str, option: str) -> None:
    """Predictions, node counts and the final tree of the recorded run come out exactly."""
    rows = read_table(stream)
    x = [(np.float32(row[0]),) for row in rows]
    y = [int(row[1]) for row in rows]
    tree = PublishedStreamTree(INPUTS[stream], criterion, **OPTIONS[option])
    predictions, sizes = [], []
    for start in range(0, len(y), batch_size):
        batch = slice(start, start + batch_size)
        if start > 0:
            predictions += [tree.predict(value) for value in x[batch]]
        tree.learn_batch(x[batch], y[batch])
        sizes.append(len(tree.nodes))

    run = f"{stream}_b{batch_size}_{criterion}{option}"
    assert predictions == read_integers(f"{run}_pred")
    assert sizes == read_integers(f"{run}_nodes")
    final = read_table(f"{run}_finaltree")
    assert len(final) == len(tree.nodes)
    for node, (left, right, _, threshold, *shares) in zip(tree.nodes, final, strict=True):
        assert (node.left, node.right) == (int(left), int(right))
        assert [f"{share:.9g}" for share in node.value] == [f"{float(p):.9g}" for p in shares]
        if node.left >= 0:
            assert f"{node.threshold:.9g}" == f"{float(threshold):.9g}"
