"""Frames, pairs of frames and targets, and tables, as blocks of samples."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from river_extra_trees._estimator.frames import into_frame, values_of, weights_of
from river_extra_trees.streams import Batch

__all__ = ["Block", "blocks_of", "rows_of"]


@dataclass
class Block:
    """Samples: a narwhals frame of features, and for each row a target and perhaps a weight."""

    frame: Any
    targets: list[Any]
    weights: list[Any] | None = None

    def __len__(self) -> int:
        return len(self.targets)

    def __getitem__(self, part: slice) -> Block:
        weights = None if self.weights is None else self.weights[part]
        return Block(self.frame[part], self.targets[part], weights)

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield each sample as river takes it: features, target, and the weight if there are any.

        Missing values are absent.
        """
        names = self.frame.columns
        columns = [self.frame[:, i].to_list() for i in range(len(names))]
        cells: Iterable[tuple[Any, ...]] = zip(*columns, strict=True) if names else ()
        samples: Iterable[dict[str, Any]] = (
            {
                name: value
                for name, value in zip(names, row, strict=True)
                if value is not None and value == value
            }
            for row in cells
        )
        if not names:
            samples = ({} for _ in self.targets)
        if self.weights is None:
            return zip(samples, self.targets, strict=True)
        weights = ({"w": weight} for weight in self.weights)
        return zip(samples, self.targets, weights, strict=True)


def rows_of(blocks: Iterable[Block]) -> Iterator[tuple[Any, ...]]:
    """Yield the samples of blocks as river takes them."""
    return itertools.chain.from_iterable(block.rows() for block in blocks)


def blocks_of(dataset: Any, target: str | None) -> Iterator[Any]:
    """Return the blocks of a data set, or its samples where they come one by one.

    Parameters
    ----------
    dataset
        A frame; an iterable of frames, of pairs ``(X, y)``, of triples ``(X, y, w)`` or of samples
        as river takes them; or a table of `river_extra_trees.streams`.
    target
        The column of the targets, for frames.
    """
    if is_frame(dataset) or (isinstance(dataset, tuple) and dataset and is_frame(dataset[0])):
        return iter([_block(dataset, target)])
    items = iter(dataset)
    first = next(items, None)
    if first is None:
        return iter([])
    items = itertools.chain([first], items)
    if isinstance(first, tuple | list) and isinstance(first[0], Mapping):
        return items
    return (_block(item, target) for item in items)


def is_frame(value: object) -> bool:
    """Return whether a value is a data frame or a record batch of pyarrow."""
    from narwhals import dependencies

    return dependencies.is_into_dataframe(value) or is_record_batch(value)


def is_record_batch(value: object) -> bool:
    """Return whether a value is a record batch of pyarrow."""
    kind = type(value)
    return kind.__name__ == "RecordBatch" and kind.__module__.startswith("pyarrow")


def _block(item: Any, target: str | None) -> Block:
    """Return a frame, a pair, a triple or a batch of a table as a block."""
    if isinstance(item, Batch):
        if item.targets is None:
            raise ValueError("the table is read without targets: open it with target=...")
        return Block(into_frame(item.frame()), item.targets)
    if isinstance(item, tuple | list) and len(item) in (2, 3) and is_frame(item[0]):
        frame = _frame(item[0])
        targets = values_of(item[1], "y")
        weights = None if len(item) == 2 else weights_of(item[2], len(frame))
    elif is_frame(item):
        frame = _frame(item)
        if target is None:
            raise ValueError("name the column of the targets: target=...")
        if target not in frame.columns:
            raise ValueError(f"no column {target!r}; the frame has {', '.join(frame.columns)}")
        targets, weights = frame[target].to_list(), None
        frame = frame.drop(target)
    else:
        raise TypeError(
            f"cannot evaluate on {type(item).__name__!r}: give a frame, frames, pairs (X, y) of "
            "frame and targets, or a table opened by river_extra_trees.streams (a lazy frame has "
            "to be collected)"
        )
    if not len(frame) == len(targets) == len(targets if weights is None else weights):
        raise ValueError(f"X has {len(frame)} rows and y has {len(targets)}")
    return Block(frame, targets, weights)


def _frame(frame: Any) -> Any:
    if is_record_batch(frame):
        import pyarrow

        frame = pyarrow.Table.from_batches([frame])
    return into_frame(frame)
