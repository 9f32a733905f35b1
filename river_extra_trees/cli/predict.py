"""The command `predict`: the predictions of a saved model for the rows of a table."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer
from river import stats

from river_extra_trees._estimator.fit import Fit
from river_extra_trees._estimator.learner import reads_columns
from river_extra_trees._estimator.predictions import names_of
from river_extra_trees._estimator.rows import labels_of_codes
from river_extra_trees._estimator.tables import table_of
from river_extra_trees.cli import UserError, models, options, outputs, streams
from river_extra_trees.column_kinds import parted
from river_extra_trees.persistence.atomic import replace_file
from river_extra_trees.serving.description import (
    input_errors,
    is_classifier,
    learner_of,
    name_of,
)
from river_extra_trees.streams import Batch, Reader

Columns = list[Sequence[Any]]  # of the output: one value for every row


@outputs.refusing()
def predict(
    file: options.File,
    data: options.Data,
    output: Annotated[
        Path, typer.Option(help="Write CSV to this file; by default, or -, print it.")
    ] = Path("-"),
    target: Annotated[
        str | None,
        typer.Option(help="The column of targets, if there is one, to copy and to score."),
    ] = None,
    probabilities: Annotated[bool, typer.Option(help="Add a column for each label.")] = False,
    keep: Annotated[
        list[str] | None, typer.Option(help="A column to copy to the output; repeatable.")
    ] = None,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Refuse data that lack a column of the model or have another."
        ),
    ] = False,
    kind: options.Kind = None,
    missing: options.Missing = None,
    drop: options.Drop = None,
    on_bad_row: options.OnBadRow = "stop",
    on_bad_cell: options.OnBadCell = "row",
    encoding: options.Encoding = None,
) -> None:
    """Predict the rows of a table with a saved model.

    The output has the predictions in the order of the rows, with row numbers. Columns of the model
    that are missing, and columns that it does not know, are reported; if no column is in common,
    nothing is predicted.
    """
    to_file = str(output) != "-"
    outputs.check(output if to_file else None, inputs=(file, data))
    known, model = parted(models.open_model(file))
    if probabilities and not is_classifier(model):
        raise UserError(f"{name_of(model)} predicts no probabilities; omit --probabilities")
    labels = learner_of(model)._labels() if probabilities else []
    kinds = streams.kinds_of(kind, known, missing)
    columns = tuple(known.columns) if known is not None else ()
    reader, _ = streams.open_reader(
        data,
        predicts=True,
        target=target,
        kinds=kinds,
        drop=drop or (),
        keep=keep or (),
        on_bad_row=on_bad_row,
        on_bad_cell=on_bad_cell,
        encoding=encoding,
    )
    reader.has_numeric_targets = not is_classifier(model)
    added = ["prediction", *(f"probability of {label}" for label in names_of(labels))]
    kept = [f"kept {name}" if name in ("row", *added) else name for name in keep or ()]
    header = ["row", *kept, *added]
    if reader.target is not None:
        taken = reader.target in header
        header.append(f"true {reader.target}" if taken else reader.target)
    fit, score = Fit(columns), stats.Mean()
    records = _records(model, labels, reader, _checked(reader, fit, strict), score)
    if to_file:
        text = io.StringIO(newline="")
        _write_csv(text, header, records)
        content = text.getvalue().encode(errors="backslashreplace")
        outputs.write(output, lambda path: replace_file(path, content))
    else:
        _write_csv(sys.stdout, header, records)
    notes = [*fit.notes(), *streams.notes_of(reader)]
    if score.n:
        name = "accuracy" if is_classifier(model) else "mean absolute error"
        notes.insert(0, f"{name} {score.get():.4g} on {score.n:,.0f} rows with a target")
    for note in notes:
        typer.echo(f"note: {note}", err=True)


def _checked(reader: Reader, fit: Fit, strict: bool) -> Iterator[Batch]:
    """Yield the batches of a table if it has the columns of the model."""
    for batch in reader:
        given = [name for name in batch.frame.column_names if name not in batch.parts]
        fit.note([*given, *batch.unknown], len(batch))
        wrong = "; ".join(fit.notes())
        if fit.is_disjoint:
            raise UserError(f"{reader.name} has no column in common with the model: {wrong}")
        if strict and wrong:
            raise UserError(f"--strict: {reader.name} does not fit the model: {wrong}")
        yield batch


def _records(
    model: Any, labels: list[Any], reader: Reader, batches: Iterator[Batch], score: stats.Mean
) -> Iterator[Columns]:
    """Yield the row numbers, kept columns, predictions and targets of each batch; update the score.

    Rows without a target are not scored.
    """
    has_labels = is_classifier(model)
    for batch in batches:
        predictions, error = _predictions(model, labels, batch)
        if n := len(predictions[0]):
            targets = [] if batch.targets is None else batch.targets[:n]
            for y, found in zip(targets, predictions[0], strict=False):
                if y is not None:
                    score.update(float(y == found) if has_labels else abs(y - found))
            columns = predictions if batch.targets is None else [*predictions, targets]
            yield [batch.numbers[:n], *(batch[:n].kept.values()), *columns]
        if error is not None:
            raise UserError(f"{reader.name}, row {batch.numbers[n]}: {error}") from error


def _predictions(model: Any, labels: list[Any], batch: Batch) -> tuple[Columns, Exception | None]:
    """Return the predictions, the probabilities of labels, and the error of the row after them."""
    if reads_columns(model):
        table = table_of(batch.frame)
        found = model._predicted(table)
        if found.numbers is not None:
            return [found.numbers.tolist()], None
        predicted = labels_of_codes(found.labels, model._core.labels.labels)
        shares = model._predicted(table, True).shares.T.tolist() if labels else []
        return [predicted, *shares], None
    rows: list[list[Any]] = []
    error = None
    for x in batch.rows():  # of a pipeline
        try:
            shares = model.predict_proba_one(x) if labels else {}
            rows.append([model.predict_one(x), *(shares[label] for label in labels)])
        except input_errors(model) as raised:
            error = raised
            break
    return [list(column) for column in zip(*rows, strict=True)] or [[]], error


def _write_csv(file: TextIO, header: list[str], records: Iterator[Columns]) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(header)
    for part in records:
        writer.writerows(zip(*part, strict=True))
        file.flush()  # a row of a pipe is answered before the next row arrives
