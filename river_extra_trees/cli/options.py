"""Arguments and options that several commands share, with their help texts."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

Data = Annotated[
    str,
    typer.Argument(
        help="A data set bundled with river, a table (.csv, .txt, .tsv, .jsonl, also with .gz, "
        ".bz2 or .zst; .parquet, .pq, .arrow, .feather, .ipc), or - for CSV or JSON lines on "
        "standard input."
    ),
]
File = Annotated[Path, typer.Argument(help="A saved model.")]
Target = Annotated[str | None, typer.Option(help="The column to predict.")]
Task = Annotated[
    Literal["classification", "regression"] | None,
    typer.Option(help="By default, the task is inferred from the target."),
]
Metrics = Annotated[
    list[str] | None,
    typer.Option(
        help="A metric by river's name, or ExactROCAUC or AveragePrecision, which count the last "
        "million samples; repeatable. The first one determines the rank: by default, Accuracy or "
        "MAE; LogLoss if there are two labels, and one is much more frequent."
    ),
]
Limit = Annotated[int | None, typer.Option(min=1, help="Largest number of samples to read.")]
Seed = Annotated[int, typer.Option(help="Random seed of every learner that has one.")]
Kind = Annotated[
    list[str] | None,
    typer.Option(
        help="How to read a column, as COLUMN=KIND; repeatable. Kinds: number, nominal, date, "
        "'date %d.%m.%Y' (any format of strptime), 'date parts' (hour, weekday and day of the "
        "year beside the date; also with a format), 'decimal comma', percentage."
    ),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(help="A further word for missing values, such as unknown or -999; repeatable."),
]
Encoding = Annotated[
    str | None,
    typer.Option(help="Encoding of a text, such as latin-1. By default, UTF-8 or UTF-16."),
]
OnBadCell = Annotated[
    Literal["row", "missing"],
    typer.Option(
        help="What to do with a feature that cannot be read: its row is bad, or it is missing and "
        "counted."
    ),
]
Weight = Annotated[str | None, typer.Option(help="The column of the weights of the samples.")]
Drop = Annotated[list[str] | None, typer.Option(help="A column to ignore; repeatable.")]
OnBadRow = Annotated[
    Literal["stop", "skip"],
    typer.Option(help="What to do with a row that cannot be read: stop, or skip and count it."),
]


@dataclass
class Samples:
    """The options of a command that learns samples."""

    target: Target = None
    task: Task = None
    metric: Metrics = None
    limit: Limit = None
    seed: Seed = 1
    weight: Weight = None


@dataclass
class Reading:
    """The options of a command that reads a table."""

    kind: Kind = None
    missing: Missing = None
    drop: Drop = None
    on_bad_row: OnBadRow = "stop"
    on_bad_cell: OnBadCell = "row"
    encoding: Encoding = None

    def roles(self) -> dict[str, Any]:
        """Return the arguments of `open_table`, except for the kinds."""
        return {
            "drop": self.drop or (),
            "on_bad_row": self.on_bad_row,
            "on_bad_cell": self.on_bad_cell,
            "encoding": self.encoding,
        }


GROUPS: tuple[Any, ...] = (Samples, Reading)


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command each field of the groups among its parameters as an option of its own."""
    signature = inspect.signature(command, eval_str=True)
    parameters: list[inspect.Parameter] = []
    groups: dict[str, tuple[Any, list[inspect.Parameter]]] = {}
    for name, parameter in signature.parameters.items():
        group: Any = parameter.annotation
        if group not in GROUPS:
            parameters.append(parameter)
            continue
        fields = list(inspect.signature(group, eval_str=True).parameters.values())
        groups[name] = group, fields
        parameters += fields

    @functools.wraps(command)
    def run(**given: Any) -> None:
        for name, (group, fields) in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields})
        command(**given)

    named = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]
    run.__signature__ = signature.replace(parameters=named)  # type: ignore[attr-defined]
    return run
