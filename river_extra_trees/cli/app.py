"""The command: `race` and `train`, and where the other subcommands are found."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from river_extra_trees.cli import (
    UserError,
    columns,
    learners,
    listing,
    models,
    options,
    outputs,
    predict,
    serving,
    streams,
)
from river_extra_trees.column_kinds import joined, parted
from river_extra_trees.serving import description

if TYPE_CHECKING:  # imported where used: it brings river's metrics, which take over a second
    from river_extra_trees.cli import running
    from river_extra_trees.cli.race import Race

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    no_args_is_help=True,
)


@app.callback()
def about(version: options.Version = False) -> None:
    """Streaming tree learners for river."""


@app.command(
    epilog="Exit status: 0 on success, 1 if a learner failed, 2 if the command or the data are "
    "invalid, 130 after Ctrl-C. In all cases, the race reports the results so far."
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
    kind: options.Kind = None,
    weight: options.Weight = None,
    drop: options.Drop = None,
    on_bad_row: options.OnBadRow = "stop",
    encoding: options.Encoding = "utf-8-sig",
    rolling: options.Rolling = None,
    csv: options.Csv = None,
    plot: options.Plot = None,
    json: options.Json = None,
) -> None:
    """Compare learners on one stream, by prequential evaluation (test, then train)."""
    from river_extra_trees.cli import running
    from river_extra_trees.cli.race import Race

    with outputs.refusing():
        inputs = streams.files_of(data)
        outputs.check(inputs, csv=csv, plot=plot, json=json)
        stream = streams.open_stream(
            data,
            target=target,
            task=_task(task),
            weight=weight,
            kinds=columns.declared(nominal, kind),
            drop=drop or (),
            limit=limit,
            on_bad_row=options.on_bad_row(on_bad_row),
            encoding=encoding,
        )
        names = learner or learners.usual_learners(stream.task)
        contest = Race(
            running.make_entrants(names, metric, stream.task, seed, rolling=rolling), stream.task
        )
        ending = running.watch(contest, stream)
        running.write_all(contest, stream, ending, csv, plot, json)
        _leave(contest, ending)


@app.command(
    epilog="Exit status: 0 on success, 1 if the learner failed, 2 if the command or the data are "
    "invalid, 130 after Ctrl-C. In all cases, the model is saved as far as it was trained."
)
def train(
    data: options.Data,
    learner: options.Learner,
    save: options.Save,
    parameters: options.Parameters = None,
    target: options.Target = None,
    task: options.Task = None,
    metric: options.Metrics = None,
    limit: options.Limit = None,
    seed: options.Seed = 1,
    nominal: options.Nominal = None,
    kind: options.Kind = None,
    weight: options.Weight = None,
    drop: options.Drop = None,
    on_bad_row: options.OnBadRow = "stop",
    encoding: options.Encoding = "utf-8-sig",
    every: options.Every = 10_000,
    resume: options.Resume = False,
) -> None:
    """Train and save a model, with prequential evaluation (test, then train)."""
    from river_extra_trees.cli import running
    from river_extra_trees.cli.race import Race

    with outputs.refusing():
        outputs.check(streams.files_of(data), model=save)
        spec = learners.with_parameters(learner, parameters or ())
        saved = models.open_model(Path(spec)) if Path(spec).is_file() else None
        known, saved = parted(saved)
        kinds = columns.declared(nominal, kind, known)
        if saved is not None and task is None:
            task = description.task_of(saved)
        stream = streams.open_stream(
            data,
            target=target,
            task=_task(task),
            weight=weight,
            kinds=kinds,
            drop=drop or (),
            limit=limit,
            on_bad_row=options.on_bad_row(on_bad_row),
            encoding=encoding,
        )
        (entrant,) = running.make_entrants([spec], metric, stream.task, seed, saved)
        if resume and save.exists():
            counts, found = parted(models.open_model(save))
            if counts is not None:
                kinds._take_counts(counts)
            running.skip(stream, models.n_learned_since(entrant.model, found, save))
            entrant.model = found
        model = joined(kinds, entrant.model)
        models.require_file(model)
        contest = Race([entrant], stream.task, kinds)
        try:
            ending = running.watch(contest, stream, lambda: models.save_model(model, save), every)
        finally:
            if contest.items:
                outputs.write(save, lambda path: models.save_model(model, path))
        _leave(contest, ending)


app.command()(predict.predict)
app.command()(serving.serve)
app.command()(models.info)
app.command()(models.draw)
app.command("list")(listing.list_names)


def _leave(contest: Race, ending: running.Ending) -> None:
    """End the command with the status of a race."""
    if ending.error is not None:
        raise ending.error
    if ending.interrupted:
        raise typer.Exit(outputs.INTERRUPTED)
    if any(entrant.error is not None for entrant in contest.entrants):
        raise typer.Exit(outputs.FAILED)


def _task(text: str | None) -> streams.Task | None:
    if text in (None, "classification", "regression"):
        return text  # type: ignore[return-value]
    raise UserError(f"--task is {text!r}; it must be classification or regression")
