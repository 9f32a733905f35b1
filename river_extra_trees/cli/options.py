"""Arguments and options that several commands share, with their help texts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

Data = Annotated[
    str,
    typer.Argument(
        help="A data set bundled with river, a table (.csv, .txt, .tsv, .jsonl, also with .gz, "
        ".bz2 or .zst; .parquet, .arrow, .feather), or - for CSV or JSON lines on standard input."
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
        "million samples; repeatable. The first one determines the rank."
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
