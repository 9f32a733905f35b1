"""The command: `race`, `train`, and the commands of other modules."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import river_extra_trees
from river_extra_trees.cli import UserError, learners, models, options, predict, serving
from river_extra_trees.cli.alarms import watched
from river_extra_trees.cli.outputs import CSV, check, refusing, require_format, say, write
from river_extra_trees.cli.streams import Stream, kinds_of, open_stream, relabelled, skip
from river_extra_trees.column_kinds import ColumnKinds, joined, parted
from river_extra_trees.serving import description
from river_extra_trees.watch import Watch, learner_of

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    no_args_is_help=True,
)

Learners = Annotated[
    list[str] | None,
    typer.Argument(
        help="Learners of this package or of river, as Name or Name:key=value,key=value, or of "
        "another package by their dotted names. "
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
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Continue an interrupted training, if the file of --save exists. The data are read "
        "from the beginning; the samples that the model has learned are skipped.",
    ),
]
AlarmOption = Annotated[
    Literal["print", "exit"] | None,
    typer.Option(
        help="Watch the model, and print a line on standard error when its errors or its columns "
        "change; exit also ends the training. The file holds the watch, too."
    ),
]
FalseAlarms = Annotated[
    int | None,
    typer.Option(
        min=1000, help="Samples between two false alarms, at least on average; by default, 100,000."
    ),
]


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(river_extra_trees.__version__)
        raise typer.Exit


@app.callback()
def about(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Streaming tree learners for river."""


@app.command(
    epilog="Exit status: 0 on success, 1 if a learner failed, 2 if the command or the data are "
    "invalid, 130 after Ctrl-C. In all cases, the race reports the results so far."
)
@refusing()
@options.spread
def race(
    data: options.Data,
    learner: Learners = None,
    *,
    samples: options.Samples,
    reading: options.Reading,
    rolling: Annotated[
        int | None, typer.Option(min=1, help="Score the last N samples instead of all.")
    ] = None,
    delay: Annotated[
        int, typer.Option(min=1, help="Learn each label N samples after its sample is predicted.")
    ] = 1,
    csv: Annotated[Path | None, typer.Option(help="Write the curves to this CSV file.")] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the curves to this file (.png, .svg, .pdf).")
    ] = None,
) -> None:
    """Compare learners on one stream, by prequential evaluation (test, then train)."""
    # Imported here because it brings river's metrics, which take over a second.
    from river_extra_trees.cli import report
    from river_extra_trees.cli.race import Race, make_entrants
    from river_extra_trees.cli.scoring import Scoring, frequent

    check(csv, inputs=(data,), picture=plot)
    require_format(csv, CSV)
    stream = opened(data, samples, reading, kinds_of(reading.kind, missing=reading.missing))
    labels = Counter(y for batch in stream.first for y in batch.targets or ())
    is_imbalanced = stream.task == "classification" and frequent(labels) is not None
    names = learner or learners.usual_learners(stream.task, is_imbalanced)
    by_loss = is_imbalanced and len(labels) == 2
    wanted = samples.metric or learners.usual_metrics(stream.task, names, by_loss)
    scoring = Scoring(wanted, stream.first_labels, rolling)
    contest = Race(make_entrants(names, scoring, stream.task, samples.seed, delay=delay))
    say([*stream.warnings(), *scoring.notes()])
    ending = report.watch(contest, stream)
    report.write_all(contest, stream, ending, csv, plot)
    ending.leave(contest)


@app.command(
    epilog="Exit status: 0 on success, 1 if the learner failed, 2 if the command or the data are "
    "invalid, 3 if an alarm ended the training, 130 after Ctrl-C. In all cases, the model is saved "
    "as far as it was trained."
)
@refusing()
@options.spread
def train(
    data: options.Data,
    learner: Learner,
    save: Annotated[Path, typer.Option(help="Save the model to this file.")],
    *,
    samples: options.Samples,
    reading: options.Reading,
    every: Annotated[int, typer.Option(min=1, help="Number of samples between two saves.")] = 10000,
    resume: Resume = False,
    alarm: AlarmOption = None,
    false_alarms_per: FalseAlarms = None,
) -> None:
    """Train and save a model, with prequential evaluation (test, then train)."""
    from river_extra_trees.cli import report
    from river_extra_trees.cli.race import Race, make_entrants
    from river_extra_trees.cli.scoring import Scoring

    check(save, inputs=(data,))
    known, saved = parted(models.open_model(Path(learner)) if Path(learner).is_file() else None)
    kinds = kinds_of(reading.kind, known, reading.missing)
    if saved is not None and samples.task is None:
        samples.task = description.task_of(saved)  # type: ignore[assignment]
    stream = opened(data, samples, reading, kinds)
    if saved is not None and stream.task == "classification":
        labels = learner_of(saved)._labels()
        stream.first = list(relabelled(stream.first, labels))
        stream.batches = relabelled(stream.batches, labels)
    wanted = samples.metric or learners.USUAL_METRICS[stream.task]
    scoring = Scoring(wanted, stream.first_labels)
    (entrant,) = make_entrants([learner], scoring, stream.task, samples.seed, saved)
    if resume and save.exists():
        entrant.model = _resumed(save, entrant.model, stream, kinds)
    bell = None
    if alarm is not None or isinstance(entrant.model, Watch):
        stops = alarm == "exit"
        entrant.model, bell = watched(entrant.model, false_alarms_per, samples.seed, stops)
    elif false_alarms_per is not None:
        raise UserError("--false-alarms-per: nothing is watched without --alarm print or exit")
    kinds._roles.update(stream.reader.roles)
    model = joined(kinds, entrant.model)
    models.require_file(model)
    contest = Race([entrant], kinds)
    say([*stream.warnings(), *scoring.notes()])
    try:
        ending = report.watch(contest, stream, lambda: models.save_model(model, save), every, bell)
    finally:
        if contest.items:
            write(save, lambda path: models.save_model(model, path))
    ending.leave(contest)


def opened(
    data: str, samples: options.Samples, reading: options.Reading, kinds: ColumnKinds
) -> Stream:
    """Open the stream that the options of a command describe."""
    return open_stream(
        data,
        target=samples.target,
        task=samples.task,
        limit=samples.limit,
        weight=samples.weight,
        kinds=kinds,
        **reading.roles(),
    )


def _resumed(save: Path, model: Any, stream: Stream, kinds: ColumnKinds) -> Any:
    """Return the saved model of an interrupted training; skip the rows that it has learned."""
    counts, found = parted(models.open_model(save))
    if counts is not None:
        kinds._take_over(counts)
    skip(stream, models.n_learned_since(model, found, save))
    return found


app.command()(predict.predict)
app.command()(serving.serve)
app.command()(models.info)
app.command()(models.draw)
