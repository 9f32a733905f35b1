"""The command `predict`: the predictions of a saved model for the rows of a table."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple, NoReturn

import typer
from rich.console import Console
from rich.live import Live
from river import stats

from river_extra_trees._core.safe_repr import safe_repr
from river_extra_trees._estimator.fit import Fit, listed
from river_extra_trees._estimator.learned_names import as_learned, kinds_learned, names_learned
from river_extra_trees._estimator.learner import reads_columns
from river_extra_trees._estimator.predictions import names_of
from river_extra_trees._estimator.rows import labels_of_codes
from river_extra_trees._estimator.tables import table_of
from river_extra_trees.cli import UserError, models, options, outputs, predictions, streams
from river_extra_trees.cli.predictions import Columns
from river_extra_trees.cli.progress import Progress
from river_extra_trees.column_kinds import ColumnKinds, parted
from river_extra_trees.explanation import Explanation
from river_extra_trees.persistence.atomic import replace_file
from river_extra_trees.serving.description import (
    WITH_INTERVALS,
    explained,
    features_of,
    has_intervals,
    input_errors,
    is_classifier,
)
from river_extra_trees.streams import Batch, Reader
from river_extra_trees.watch import learner_of, name_of, unwatched

ROWS_PER_LINE = 100_000  # of the progress in a log

Output = Annotated[
    Path,
    typer.Option(
        help="Write to this file: Parquet (.parquet, .pq), Arrow (.arrow, .feather, .ipc) or CSV "
        "(.csv, .txt); by default, or -, print CSV."
    ),
]
Target = Annotated[
    str | None,
    typer.Option(help="The column of targets, if there is one, to copy and to score."),
]
Probabilities = Annotated[bool, typer.Option(help="Add a column for each label.")]
Interval = Annotated[
    float | None,
    typer.Option(
        help="Add the columns lower and upper: between them, the target lies with this "
        "probability, such as 0.9."
    ),
]
Explain = Annotated[
    int,
    typer.Option(
        min=0,
        help="Add columns with the base value, and with the features that contribute most to the "
        "prediction: so many of them, as far as the model has learned that many.",
    ),
]
Keep = Annotated[list[str] | None, typer.Option(help="A column to copy to the output; repeatable.")]
Strict = Annotated[
    bool,
    typer.Option("--strict", help="Refuse data that lack a column of the model or have another."),
]


class Wanted(NamedTuple):
    """What the output has besides predictions.

    These are probabilities of labels, intervals of a level, and a number of contributions.
    """

    labels: list[Any]
    interval: float | None = None
    explain: int = 0


@outputs.refusing()
@options.spread
def predict(
    file: options.File,
    data: options.Data,
    *,
    output: Output = Path("-"),
    target: Target = None,
    probabilities: Probabilities = False,
    interval: Interval = None,
    explain: Explain = 0,
    keep: Keep = None,
    strict: Strict = False,
    reading: options.Reading,
) -> None:
    """Predict the rows of a table with a saved model.

    The output has the predictions in the order of the rows, with row numbers. Columns of the model
    that are missing, and columns that it does not know, are reported; if no column is in common,
    nothing is predicted.
    """
    to_file = str(output) != "-"
    outputs.check(output if to_file else None, inputs=(file, data))
    if to_file:
        outputs.require_format(output, predictions.WRITTEN)
    known, model = parted(unwatched(models.open_model(file))[1])
    _require_possible(model, probabilities, interval)
    kinds = streams.kinds_of(reading.kind, known, reading.missing)
    names = _names_learned(model, kinds) if known is None else {}
    roles = {"target": target, "keep": list(dict.fromkeys(keep or ())), **reading.roles()}
    reader, _ = streams.open_reader(data, predicts=True, kinds=kinds, **roles)
    reader.has_numeric_targets = not is_classifier(model)
    labels = learner_of(model)._labels() if probabilities else []
    wanted = Wanted(labels, interval, min(explain, max(1, len(features_of(model)))))
    header = _header(wanted, reader)
    fit, score = Fit(dict(kinds.columns), kinds._roles), stats.Mean()
    batches = _checked(reader, fit, strict or kinds.strict)
    if is_classifier(model):
        batches = streams.relabelled(batches, learner_of(model)._labels())
    if names:
        batches = (replace(each, frame=as_learned(each.frame, names)) for each in batches)
    records = _records(model, wanted, reader, batches, score)
    if to_file:
        with _shown(reader) as progress:
            content = predictions.content_of(output, header, progress(records))
        outputs.write(output, lambda path: replace_file(path, content))
    else:
        predictions.write_csv(sys.stdout, header, records)
    outputs.say([*_scored(model, score), *_read_as(names), *fit.notes(), *streams.notes_of(reader)])


def _require_possible(model: Any, probabilities: bool, interval: float | None) -> None:
    """Raise a UserError if the model cannot predict what is wanted."""
    if probabilities and not is_classifier(model):
        raise UserError(f"{name_of(model)} predicts no probabilities; omit --probabilities")
    if interval is not None and not 0.0 < interval < 1.0:
        raise UserError(f"--interval is {interval:g}; it must be between 0 and 1")
    if interval is not None and not has_intervals(model):
        raise UserError(f"this {name_of(model)} predicts no intervals; {WITH_INTERVALS} do")


def _names_learned(model: Any, kinds: ColumnKinds) -> Any:
    """Return the nominal columns of a bare learner; admit its columns to the kinds."""
    if learner_of(model) is not model:
        return {}
    for name, each in kinds_learned(model).items():
        kinds._admit(name, (kinds.kinds or {}).get(name, each))
    return names_learned(model)


def _header(wanted: Wanted, reader: Reader) -> list[str]:
    """Return the names of the columns of the output, which differ from each other."""
    added = ["prediction", *(f"probability of {label}" for label in names_of(wanted.labels))]
    added += ["lower", "upper"] if wanted.interval is not None else []
    added += ["base value"] if wanted.explain else []
    for i in range(1, wanted.explain + 1):
        added += [f"feature {i}", f"contribution {i}"]
    kept = [f"kept {name}" if name in ("row", *added) else name for name in reader.keep]
    header = ["row", *kept, *added]
    if reader.target is not None:
        taken = reader.target in header
        header.append(f"true {reader.target}" if taken else reader.target)
    return header


def _scored(model: Any, score: stats.Mean) -> Iterator[str]:
    if score.n:
        name = "accuracy" if is_classifier(model) else "mean absolute error"
        yield f"{name} {score.get():.4g} on {score.n:,.0f} rows with a target"


def _read_as(names: Any) -> Iterator[str]:
    if names:
        yield f"read as names, as the learner knows them: {listed(names)}"


def _checked(reader: Reader, fit: Fit, strict: bool) -> Iterator[Batch]:
    """Yield the batches of a table if it has the columns of the model.

    Later rows of JSON lines may have a column that the rows so far lack.
    """

    def refuse(what: str) -> NoReturn:
        raise UserError(f"{reader.name} {what}: {'; '.join(fit.notes(refused=True))}")

    for batch in reader:
        given = [name for name in batch.frame.column_names if name not in batch.parts]
        fit.note([*given, *batch.unknown])
        if fit.is_disjoint:
            refuse("has no column in common with the model")
        if strict and (fit.unknown or (fit.missing and reader.has_header)):
            refuse("does not fit the model, which is strict")
        yield batch
    if strict and fit.missing:
        refuse("does not fit the model, which is strict")


def _records(
    model: Any, wanted: Wanted, reader: Reader, batches: Iterator[Batch], score: stats.Mean
) -> Iterator[Columns]:
    """Yield the row numbers, kept columns, predictions and targets of each batch; update the score.

    Rows without a target are not scored.
    """
    has_labels = is_classifier(model)
    for batch in batches:
        predictions, error = _predictions(model, wanted, batch)
        if n := len(predictions[0]):
            targets = [] if batch.targets is None else batch.targets[:n]
            for y, found in zip(targets, predictions[0], strict=False):
                if y is not None:
                    score.update(float(y == found) if has_labels else abs(y - found))
            columns = predictions if batch.targets is None else [*predictions, targets]
            yield [batch.numbers[:n], *(batch[:n].kept.values()), *columns]
        if error is not None:
            raise UserError(f"{reader.name}, row {batch.numbers[n]}: {error}") from error


def _predictions(model: Any, wanted: Wanted, batch: Batch) -> tuple[Columns, Exception | None]:
    """Return the predictions, what is wanted besides, and the error of the row after them."""
    labels, level, n_parts = wanted
    if reads_columns(model):
        parts = _columns(_parts_of_rows(model, batch.frame, n_parts)) if n_parts else []
        table = table_of(batch.frame)
        found = model._predicted(table)
        if found.numbers is not None:
            numbers = found.numbers.tolist()
            if level is None:
                return [numbers, *parts], None
            bounds = [each.interval(level) for each in model.predict_many(batch.frame, True)]
            return [numbers, *zip(*bounds, strict=True), *parts], None
        predicted = labels_of_codes(found.labels, found.names)
        shares = model._predicted(table, True).shares.T.tolist() if labels else []
        return [predicted, *shares, *parts], None
    rows: list[list[Any]] = []
    error = None
    for x in batch.rows():  # of a pipeline
        try:
            shares = model.predict_proba_one(x) if labels else {}
            row = [model.predict_one(x), *(shares[label] for label in labels)]
            if level is not None:
                row += model.predict_one(x, with_dist=True).interval(level)
            has_parts = n_parts and learner_of(model).n_samples_seen
            found = explained(model, x) if has_parts else None
            rows.append(row + (_parts(found, n_parts) if n_parts else []))
        except input_errors(model) as raised:
            error = raised
            break
    return _columns(rows) or [[]], error


def _columns(rows: list[list[Any]]) -> Columns:
    return [list(column) for column in zip(*rows, strict=True)]


def _parts_of_rows(model: Any, frame: Any, n: int) -> list[list[Any]]:
    """Return what `_parts` does for each row; a learner explains none before its first sample."""
    found = model.explain_many(frame) if model.n_samples_seen else [None] * len(frame)
    return [_parts(each, n) for each in found]


def _parts(found: Explanation | None, n: int) -> list[Any]:
    """Return the base value, and the names and contributions of n features, None if there are less.

    Without an explanation, all are None.
    """
    cells: list[Any] = [] if found is None else [float(found.base_value)]
    for name, _, part in [] if found is None else found.largest(n):
        cells += [safe_repr(name, str), part]
    return cells + [None] * (1 + 2 * n - len(cells))


@contextlib.contextmanager
def _shown(reader: Reader) -> Iterator[Callable[[Iterator[Columns]], Iterator[Columns]]]:
    """Show how much of a table has been read while records pass: a bar, or lines of a log."""
    console = Console(stderr=True)
    progress = Progress(reader, reader.n_rows)

    def passed(records: Iterator[Columns]) -> Iterator[Columns]:
        n = 0
        for part in records:
            yield part
            before, n = n, n + len(part[0])
            if console.is_terminal:
                progress.advance_to(n)
            elif before // ROWS_PER_LINE < n // ROWS_PER_LINE:
                outputs.say([progress.line(n, "rows")], "progress")

    bar = Live(progress.bar, console=console, transient=True)
    with bar if console.is_terminal else contextlib.nullcontext():
        yield passed
