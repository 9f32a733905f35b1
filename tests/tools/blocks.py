"""What a block of samples holds, sample by sample."""

from __future__ import annotations

import itertools
from typing import Any

from river_extra_trees._estimator.rows import value_at
from river_extra_trees.distributed.blocks import Block

Row = dict[Any, Any]


def rows_in(block: Block) -> list[Row]:
    """The features of each sample as learners read them, without missing ones."""
    rows: list[Row] = [{} for _ in range(len(block))]
    for column in block.columns:
        for i, x in enumerate(rows):
            value = value_at(column, i)
            if value is not None:
                x[column.name] = value
    return rows


def samples_in(block: Block) -> list[tuple[Row, Any, float]]:
    """The features, target and weight of each sample."""
    weights = itertools.repeat(1.0) if block.weights is None else list(block.weights)
    return list(zip(rows_in(block), block._labels(), weights, strict=False))
