"""The commands: race, info and draw."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NoReturn

import typer

from river_extra_trees.cli import (
    UserError,
    learners,
    models,
    options,
    outputs,
    running,
    streams,
)
from river_extra_trees.cli.race import Race
from river_extra_trees.streams import OnBadRow

FAILED, MISUSED, INTERRUPTED = 1, 2, 130

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    no_args_is_help=True,
)


@app.callback()
def about() -> None:
    """Streaming tree learners for river."""


@app.command(
    epilog="Exit status: 0 on success, 1 if a learner failed, 2 if the command or the data are "
    "invalid, 130 after Ctrl-C (the results so far are still reported)."
)
def race(
    data: options.Data,
    learner: options.Learners = None,
    target: options.Target = None,
    task: options.Task = None,
    metric: options.Metrics = None,
    limit: options.Limit = None,
    seed: options.Seed = 1,
    nominal: options.Nominal = None,
    csv: options.Csv = None,
    plot: options.Plot = None,
    json: options.Json = None,
    checkpoint: options.Checkpoint = None,
    every: options.Every = 10_000,
    resume: options.Resume = False,
    drop: options.Drop = None,
    on_bad_row: options.OnBadRow = "stop",
    encoding: options.Encoding = "utf-8-sig",
    rolling: options.Rolling = None,
    unseen: options.Unseen = False,
) -> None:
    """Race learners: each predicts an item, is scored, and then learns the item."""
    try:
        inputs = streams.files_of(data)
        outputs.check(inputs, csv=csv, plot=plot, json=json, checkpoint=checkpoint)
        stream = streams.open_stream(
            data,
            target=target,
            task=_task(task),
            nominal=nominal or (),
            drop=drop or (),
            limit=limit,
            on_bad_row=_on_bad_row(on_bad_row),
            encoding=encoding,
        )
        names = learner or learners.usual_learners(stream.task)
        plan = {
            **{"data": data, "target": target, "task": stream.task, "learners": names},
            **{"metric": metric, "nominal": nominal, "seed": seed},
            **{"drop": drop, "rolling": rolling},
        }
        saver = running.Saver(checkpoint, every, plan)
        contest = saver.resumed(resume) or Race(
            running.make_entrants(names, metric, stream.task, seed, rolling),
            stream.task,
            remembers_rows=checkpoint is not None,
        )
        if not unseen:
            running.skip(stream, contest)
        ending = running.watch(contest, stream, saver)
        running.write_all(contest, stream, ending, csv, plot, json)
        if ending.error is not None:
            raise ending.error
    except UserError as error:
        _refuse(error)
    if ending.interrupted:
        raise typer.Exit(INTERRUPTED)
    if any(entrant.error is not None for entrant in contest.entrants):
        raise typer.Exit(FAILED)


@app.command()
def info(file: models.File, learner: models.Learner = None) -> None:
    """Describe a saved model or a checkpoint of a race."""
    try:
        models.show(file, learner)
    except UserError as error:
        _refuse(error)


@app.command()
def draw(
    file: models.File,
    learner: models.Learner = None,
    tree: Annotated[int, typer.Option(min=0, help="Number of the tree.")] = 0,
    max_depth: Annotated[int, typer.Option(min=0, help="Depth of the deepest nodes to draw.")] = 3,
    output: Annotated[
        Path | None,
        typer.Option(help="Draw to this file (.png, .svg, .pdf); by default, print text."),
    ] = None,
) -> None:
    """Draw a tree of a saved model."""
    try:
        if output is None:
            typer.echo(models.text_of(file, learner, tree, max_depth))
        else:
            outputs.check([file], plot=output)
            running.write_file(
                output, lambda path: models.draw(path, file, learner, tree, max_depth)
            )
    except UserError as error:
        _refuse(error)


def _refuse(error: UserError) -> NoReturn:
    typer.echo(f"error: {error}", err=True)
    raise typer.Exit(MISUSED) from None


def _task(text: str | None) -> streams.Task | None:
    if text in (None, "classification", "regression"):
        return text  # type: ignore[return-value]
    raise UserError(f"--task is {text!r}; it must be classification or regression")


def _on_bad_row(text: str) -> OnBadRow:
    if text in ("stop", "skip"):
        return text  # type: ignore[return-value]
    raise UserError(f"--on-bad-row is {text!r}; it must be stop or skip")
