"""The command `list`: learners, data sets and metrics by the names that the other commands take."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Literal

import typer
from rich.table import Table
from river import base

from river_extra_trees.cli import learners, options, outputs, streams

Row = tuple[str, str, str]  # name, task, description
TASKS: dict[str, type] = {"classification": base.Classifier, "regression": base.Regressor}


@outputs.refusing()
def list_names(
    kind: Annotated[
        Literal["learners", "transformers", "datasets", "metrics"] | None,
        typer.Argument(help="What to list; by default, all."),
    ] = None,
    task: options.Task = None,
) -> None:
    """List learners, data sets and metrics."""
    for title, make_rows in ROWS.items():
        rows = (
            [row for row in make_rows() if task is None or task in row[1]]
            if kind
            in (
                None,
                title,
            )
            else []
        )
        if rows:
            table = Table(title=title, title_justify="left", box=None, pad_edge=False)
            for column in ("name", "task", ""):
                table.add_column(column, overflow="fold")
            for row in rows:
                table.add_row(*row)
            outputs.console().print(table)


def _classes(kinds: Mapping[str, type], known: Mapping[str, type]) -> Iterator[Row]:
    """Yield classes, those of this package first."""
    for name, kind in sorted(known.items(), key=lambda pair: (_is_rivers(pair[1]), pair[0])):
        tasks = ", ".join(task for task, each in kinds.items() if issubclass(kind, each))
        origin = ".".join(kind.__module__.split(".")[:2]) if _is_rivers(kind) else None
        yield name, tasks, f"{origin or 'river_extra_trees'}: {_summary(kind)}"


def _datasets() -> Iterator[Row]:
    from river import datasets

    for name in streams.bundled_names():
        dataset: Any = getattr(datasets, name)()
        task = "regression" if dataset.task == "Regression" else "classification"
        yield name, task, f"{dataset.n_samples:,} samples, {dataset.n_features} features"


def _metrics() -> Iterator[Row]:
    from river import metrics

    kinds = {
        "classification": metrics.base.ClassificationMetric,
        "regression": metrics.base.RegressionMetric,
    }
    return _classes(kinds, learners.single_numbers())


ROWS: dict[str, Callable[[], Iterator[Row]]] = {
    "learners": lambda: _classes(TASKS, learners.short_names(tuple(TASKS.values()))),
    "transformers": lambda: _classes({}, learners.short_names(base.Transformer)),
    "datasets": _datasets,
    "metrics": _metrics,
}


def _is_rivers(kind: type) -> bool:
    return kind.__module__.startswith("river.")


def _summary(kind: type) -> str:
    """Return the first sentence of a class's documentation."""
    first = (inspect.getdoc(kind) or "").split("\n\n")[0].replace("\n", " ")
    return first.split(". ")[0].rstrip(".")
