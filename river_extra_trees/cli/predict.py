"""The command `predict`: the predictions of a saved model for the rows of a table."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from river_extra_trees._estimator.columns import table_of
from river_extra_trees._estimator.fit import Fit
from river_extra_trees._estimator.learner import reads_columns
from river_extra_trees._estimator.predictions import names_of
from river_extra_trees._estimator.rows import labels_of_codes
from river_extra_trees.cli import UserError, columns, models, options, outputs, streams
from river_extra_trees.column_kinds import parted
from river_extra_trees.persistence.atomic import replace_file
from river_extra_trees.serving.description import (
    WITH_INTERVALS,
    has_intervals,
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
        Path, typer.Option(help="Write to this file (.csv, .parquet); by default, or -, print CSV.")
    ] = Path("-"),
    target: Annotated[
        str | None,
        typer.Option(help="The column of targets, if there is one, to copy and to score."),
    ] = None,
    probabilities: Annotated[bool, typer.Option(help="Add a column for each label.")] = False,
    interval: Annotated[
        float | None,
        typer.Option(help="Add prediction intervals with this coverage, such as 0.9."),
    ] = None,
    keep: Annotated[
        list[str] | None, typer.Option(help="A column to copy to the output; repeatable.")
    ] = None,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Refuse data that lack a column of the model or have another."
        ),
    ] = False,
    nominal: options.Nominal = None,
    kind: options.Kind = None,
    drop: options.Drop = None,
    on_bad_row: options.OnBadRow = "stop",
    encoding: options.Encoding = "utf-8-sig",
) -> None:
    """Predict the rows of a table with a saved model.

    The output has the predictions in the order of the rows, with row numbers. Columns of the model
    that are missing, and columns that it does not know, are reported; if no column is in common,
    nothing is predicted.
    """
    to_file = str(output) != "-"
    if to_file and output.suffix not in (".csv", ".parquet"):
        raise UserError(f"cannot write {output.name}: the name must end in .csv or .parquet")
    outputs.check([file, *streams.files_of(data)], output if to_file else None)
    known, model = parted(models.open_model(file))
    predictions = Predictions(model, probabilities, interval)
    reader = streams.open_rows(
        data,
        target=target,
        kinds=columns.declared(nominal, kind, known),
        drop=drop or (),
        keep=keep or (),
        on_bad_row=on_bad_row,
        encoding=encoding,
    )
    fit = Fit(() if known is None else tuple(known.columns))
    batches = _checked(reader, fit, strict)
    records = _records(reader.name, batches, predictions, keep or ())
    header = ["row", *(keep or ()), *predictions.columns]
    if target or streams.is_bundled(data):
        truth = target or "target"
        header.append(f"true {truth}" if truth in header else truth)
    if to_file:
        outputs.write(output, lambda path: _write_file(path, header, records))
    else:
        _write_csv(sys.stdout, header, records)
    for note in (*predictions.scores(), *fit.notes(), *streams.notes_of(reader)):
        typer.echo(f"note: {note}", err=True)


class Predictions:
    """The predictions of a model for the rows of a table, batch by batch, and their score.

    Parameters
    ----------
    model
        A learner of this package, or a pipeline that ends with one.
    probabilities
        Whether to predict the probabilities of labels.
    interval
        Share of the targets that intervals shall contain, or None for no intervals.

    Attributes
    ----------
    columns
        Names of the columns.
    """

    def __init__(self, model: Any, probabilities: bool, interval: float | None) -> None:
        name = name_of(model)
        if probabilities and not is_classifier(model):
            raise UserError(f"{name} predicts no probabilities; omit --probabilities")
        if interval is not None and not has_intervals(model):
            raise UserError(f"this {name} predicts no intervals; {WITH_INTERVALS} do")
        if interval is not None and not 0 < interval < 1:
            raise UserError(f"--interval is {interval}; it must lie between 0 and 1, such as 0.9")
        self.model = model
        self.interval = interval
        self.has_labels = is_classifier(model)
        self.labels = learner_of(model)._labels() if probabilities else []
        self.columns = [
            "prediction",
            *(["lower", "upper"] if interval is not None else []),
            *(f"probability of {label}" for label in names_of(self.labels)),
        ]
        self.n_scored = 0
        self.total = 0.0

    def of(self, batch: Batch) -> tuple[Columns, Exception | None]:
        """Return the predictions column by column, and the error of the row after the last one.

        Pipelines and intervals are predicted row by row.
        """
        if self.interval is None and reads_columns(self.model):
            return self._of_columns(batch), None
        rows: list[list[Any]] = []
        error = None
        for x in batch.rows():
            try:
                rows.append(self._of_row(x))
            except input_errors(self.model) as raised:
                error = raised
                break
        return [list(column) for column in zip(*rows, strict=True)], error

    def _of_columns(self, batch: Batch) -> Columns:
        model = self.model
        samples = table_of(batch.frame)
        answered = model._predicted(samples)
        if answered.numbers is not None:
            return [answered.numbers.tolist()]
        found: Columns = [labels_of_codes(answered.labels, model._core.labels.labels)]
        if self.labels:
            found += model._predicted(samples, True).shares.T.tolist()
        return found

    def _of_row(self, x: dict[str, Any]) -> list[Any]:
        if self.interval is not None:
            distribution = self.model.predict_one(x, with_dist=True)
            return [distribution.mean, *distribution.interval(self.interval)]
        found = [self.model.predict_one(x)]
        if self.labels:
            probabilities = self.model.predict_proba_one(x)
            found += [probabilities[label] for label in self.labels]
        return found

    def score(self, truths: Sequence[Any], predictions: Sequence[Any]) -> None:
        """Score predictions; missing targets do not count."""
        for truth, found in zip(truths, predictions, strict=True):
            if truth is not None:
                self.n_scored += 1
                self.total += truth == found if self.has_labels else abs(truth - found)

    def scores(self) -> Iterator[str]:
        """Report the accuracy or the mean absolute error, if there were targets."""
        if self.n_scored:
            name = "accuracy" if self.has_labels else "mean absolute error"
            mean = self.total / self.n_scored
            yield f"{name} {mean:.4g} on {self.n_scored:,} rows with a target"


def _checked(reader: Reader, fit: Fit, strict: bool) -> Iterator[Batch]:
    """Yield the batches of a table if it has the columns of the model."""
    for batch in reader:
        fit.note([*batch.frame.column_names, *batch.unknown], len(batch))
        wrong = "; ".join(fit.notes())
        if fit.is_disjoint:
            raise UserError(f"{reader.name} has no column in common with the model: {wrong}")
        if strict and wrong:
            raise UserError(f"--strict: {reader.name} does not fit the model: {wrong}")
        yield batch


def _records(
    name: str, batches: Iterator[Batch], predictions: Predictions, keep: Sequence[str]
) -> Iterator[Columns]:
    """Yield the numbers of the rows of each batch, kept columns, predictions and targets."""
    for batch in batches:
        found, error = predictions.of(batch)
        n = len(found[0]) if found else 0
        targets = [None] * n if batch.targets is None else batch.targets[:n]
        if not predictions.has_labels:
            texts = (i for i, y in enumerate(targets) if isinstance(y, str))
            if (first := next(texts, None)) is not None:
                error, n = UserError(f"the target is {targets[first]!r}, not a number"), first
        kept = [batch.kept[each] for each in keep]
        part: Columns = [column[:n] for column in (batch.numbers, *kept, *found, targets)]
        if n:
            predictions.score(part[-1], found[0][:n])
            yield part
        if error is not None:
            raise UserError(f"{name}, row {batch.numbers[n]}: {error}") from error


def _write_file(path: Path, header: list[str], records: Iterator[Columns]) -> None:
    """Write all records to a file, or leave the old file as it is."""
    if path.suffix == ".csv":
        text = io.StringIO(newline="")
        _write_csv(text, header, records)
        replace_file(path, text.getvalue().encode(errors="backslashreplace"))
    else:
        replace_file(path, _as_parquet(header, records))


def _write_csv(file: TextIO, header: list[str], records: Iterator[Columns]) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(header)
    for part in records:
        writer.writerows(zip(*part[: len(header)], strict=True))
        file.flush()  # rows of a pipe are answered before the next ones come


def _as_parquet(header: list[str], records: Iterator[Columns]) -> bytes:
    """Return a Parquet file; columns of mixed types become texts."""
    import pyarrow
    from pyarrow import parquet

    found: list[list[Any]] = [[] for _ in header]
    for part in records:
        for column, values in zip(found, part, strict=False):  # targets may not be wanted
            column += values
    arrays = {}
    for name, column in zip(header, found, strict=True):
        try:
            arrays[name] = pyarrow.array(column)
        except (pyarrow.ArrowException, OverflowError):
            texts = [None if value is None else str(value) for value in column]
            arrays[name] = pyarrow.array(texts)
    file = io.BytesIO()
    parquet.write_table(pyarrow.table(arrays), file)
    return file.getvalue()
