"""The command `list`: learners, data sets and metrics by the names that the other commands take."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Annotated, Any

import typer
from rich.table import Table
from river import base

from river_extra_trees.cli import UserError, learners, outputs, streams

TASKS = {base.Classifier: "classification", base.Regressor: "regression"}
KINDS = ("learners", "transformers", "datasets", "metrics")

Kind = Annotated[
    str | None, typer.Argument(help=f"What to list: {', '.join(KINDS)}; by default, all.")
]
TaskOption = Annotated[
    str | None, typer.Option(help="List only names for classification or regression.")
]


def list_names(kind: Kind = None, task: TaskOption = None) -> None:
    """List learners, data sets and metrics."""
    with outputs.refusing():
        if kind not in (None, *KINDS):
            raise UserError(f"there is no list {kind!r}; there are {', '.join(KINDS)}")
        if task not in (None, *TASKS.values()):
            raise UserError(f"--task is {task!r}; it must be classification or regression")
        for each in KINDS if kind is None else (kind,):
            rows = [row for row in ROWS[each]() if task is None or task in row[1]]
            if rows:
                outputs.console().print(_table(each, rows))


def _table(title: str, rows: list[tuple[str, str, str]]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for column in ("name", "task", ""):
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def _learners() -> Iterator[tuple[str, str, str]]:
    """Yield this package's learners first."""
    known = learners.short_names(tuple(TASKS))
    for name, kind in sorted(known.items(), key=lambda pair: (_is_rivers(pair[1]), pair[0])):
        yield name, _tasks(kind), f"{_origin(kind)}: {_summary(kind)}"


def _transformers() -> Iterator[tuple[str, str, str]]:
    known = learners.short_names(base.Transformer)
    for name, kind in sorted(known.items()):
        yield name, "", f"{_origin(kind)}: {_summary(kind)}"


def _datasets() -> Iterator[tuple[str, str, str]]:
    from river import datasets

    for name in streams.bundled_names():
        dataset: Any = getattr(datasets, name)()
        task = "regression" if dataset.task == "Regression" else "classification"
        yield name, task, f"{dataset.n_samples:,} samples, {dataset.n_features} features"


def _metrics() -> Iterator[tuple[str, str, str]]:
    from river import metrics

    for name, kind in sorted(learners.single_numbers().items()):
        tasks = [
            task
            for base_kind, task in (
                (metrics.base.ClassificationMetric, "classification"),
                (metrics.base.RegressionMetric, "regression"),
            )
            if issubclass(kind, base_kind)
        ]
        yield name, ", ".join(tasks), _summary(kind)


ROWS = {
    "learners": _learners,
    "transformers": _transformers,
    "datasets": _datasets,
    "metrics": _metrics,
}


def _tasks(kind: type) -> str:
    return ", ".join(task for base_kind, task in TASKS.items() if issubclass(kind, base_kind))


def _is_rivers(kind: type) -> bool:
    return kind.__module__.startswith("river.")


def _origin(kind: type) -> str:
    return ".".join(kind.__module__.split(".")[:2]) if _is_rivers(kind) else "river_extra_trees"


def _summary(kind: type) -> str:
    """Return the first sentence of a class's documentation."""
    return (
        (inspect.getdoc(kind) or "").split("\n\n")[0].replace("\n", " ").split(". ")[0].rstrip(".")
    )
