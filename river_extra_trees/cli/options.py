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
        "--version", callback=_show_version, is_eager=True, help="Print the version and end."
    ),
]
Data = Annotated[
    str,
    typer.Argument(
        help="A data set bundled with river, a table (.csv, .tsv, .jsonl, also with .gz, .bz2, "
        ".xz or .zst; .parquet, .arrow, .feather), or - for CSV or JSON lines on standard input."
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
        "saved model, which continues learning."
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
    typer.Option(help="A metric by river's name; repeatable. The first one ranks."),
]
Limit = Annotated[int | None, typer.Option(min=1, help="Largest number of items to read.")]
Seed = Annotated[int, typer.Option(help="Seed of every learner that takes one.")]
Nominal = Annotated[
    list[str] | None, typer.Option(help="A column whose numbers are names; repeatable.")
]
Csv = Annotated[Path | None, typer.Option(help="Write the curves to this CSV file.")]
Plot = Annotated[Path | None, typer.Option(help="Draw the curves to this file (.png, .svg, .pdf).")]
Json = Annotated[Path | None, typer.Option(help="Write results and curves to this JSON file.")]
Checkpoint = Annotated[
    Path | None, typer.Option(help="Save the whole race to this file, so that it can be resumed.")
]
Every = Annotated[int, typer.Option(min=1, help="Number of items between two checkpoints.")]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Resume from the checkpoint, if there is one; the data are read from the beginning. "
        "Resume only your own checkpoints: code in the file is run.",
    ),
]
Drop = Annotated[list[str] | None, typer.Option(help="A column to leave out; repeatable.")]
OnBadRow = Annotated[
    str,
    typer.Option(help="At a row that cannot be read, stop, or skip it; skipped rows are counted."),
]
Encoding = Annotated[str, typer.Option(help="The encoding of CSV and JSON lines.")]
Rolling = Annotated[int | None, typer.Option(min=1, help="Score the last N items instead of all.")]
Unseen = Annotated[
    bool,
    typer.Option(
        "--unseen", help="With --resume: all rows of the data are new, so that none is skipped."
    ),
]


def on_bad_row(text: str) -> streams.OnBadRow:
    """Return what happens to bad rows; raise a UserError if there is no such choice."""
    if text in ("stop", "skip"):
        return text  # type: ignore[return-value]
    raise UserError(f"--on-bad-row is {text!r}; it must be stop or skip")
