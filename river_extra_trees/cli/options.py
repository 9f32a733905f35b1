"""The arguments and options of `race` and `train`, with their help texts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import river_extra_trees
from river_extra_trees import streams
from river_extra_trees.cli import UserError


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(river_extra_trees.__version__)
        raise typer.Exit


Version = Annotated[
    bool,
    typer.Option(
        "--version", callback=_show_version, is_eager=True, help="Print the version and exit."
    ),
]
Data = Annotated[
    str,
    typer.Argument(
        help="A data set bundled with river, a table (.csv, .txt, .tsv, .jsonl, also with .gz, "
        ".bz2, .xz or .zst; .parquet, .arrow, .feather), or - for CSV or JSON lines on standard "
        "input."
    ),
]
Learners = Annotated[
    list[str] | None,
    typer.Argument(
        help="Learners of this package or of river, as Name or Name:key=value,key=value. "
        "Default: all of this package and river's usual trees."
    ),
]
Learner = Annotated[
    str,
    typer.Argument(
        help="A learner of this package, as Name or Name:key=value,key=value, or the file of a "
        "saved model to continue training."
    ),
]
Save = Annotated[Path, typer.Option(help="Save the model to this file.")]
Parameters = Annotated[
    list[str] | None,
    typer.Option("--set", help="A parameter of the learner as name=value; repeatable."),
]
Target = Annotated[str | None, typer.Option(help="The column to predict.")]
Task = Annotated[
    str | None,
    typer.Option(help="classification or regression; by default inferred from the target."),
]
Metrics = Annotated[
    list[str] | None,
    typer.Option(help="A metric by river's name; repeatable. The first one determines the rank."),
]
Limit = Annotated[int | None, typer.Option(min=1, help="Largest number of samples to read.")]
Seed = Annotated[int, typer.Option(help="Random seed of every learner that has one.")]
Nominal = Annotated[
    list[str] | None,
    typer.Option(help="A column to read as nominal even if it holds numbers; repeatable."),
]
Kind = Annotated[
    list[str] | None,
    typer.Option(
        help="How to read a column, as COLUMN=KIND; repeatable. Kinds: number, nominal, date, "
        "'date %d.%m.%Y' (any format of strptime), 'decimal comma', percentage."
    ),
]
Weight = Annotated[str | None, typer.Option(help="The column of the weights of the samples.")]
Keep = Annotated[list[str] | None, typer.Option(help="A column to copy to the output; repeatable.")]
Strict = Annotated[
    bool,
    typer.Option("--strict", help="Refuse data that lack a column of the model or have another."),
]
Csv = Annotated[Path | None, typer.Option(help="Write the curves to this CSV file.")]
Plot = Annotated[Path | None, typer.Option(help="Draw the curves to this file (.png, .svg, .pdf).")]
Json = Annotated[Path | None, typer.Option(help="Write results and curves to this JSON file.")]
Every = Annotated[int, typer.Option(min=1, help="Number of samples between two saves.")]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Continue a training that was ended, if the file of --save exists. The data are read "
        "from the beginning; the samples that the model has learned are skipped.",
    ),
]
Drop = Annotated[list[str] | None, typer.Option(help="A column to ignore; repeatable.")]
OnBadRow = Annotated[
    str,
    typer.Option(help="What to do with a row that cannot be read: stop, or skip and count it."),
]
Encoding = Annotated[str, typer.Option(help="The encoding of CSV and JSON lines.")]
Rolling = Annotated[
    int | None, typer.Option(min=1, help="Score the last N samples instead of all.")
]


def on_bad_row(text: str) -> streams.OnBadRow:
    """Return what happens to bad rows; raise a UserError if there is no such choice."""
    if text in ("stop", "skip"):
        return text  # type: ignore[return-value]
    raise UserError(f"--on-bad-row is {text!r}; it must be stop or skip")
