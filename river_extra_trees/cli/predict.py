"""The command `predict`: the answers of a saved model to the rows of a table."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from river_extra_trees._estimator.answers import names_of
from river_extra_trees._estimator.columns import table_of
from river_extra_trees._estimator.fit import Fit
from river_extra_trees._estimator.learner import reads_columns
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

FORMATS = (".csv", ".parquet")

Columns = list[Sequence[Any]]  # of the output: one value of each for every row

Output = Annotated[
    Path, typer.Option(help="Write to this file (.csv, .parquet); by default, or -, print CSV.")
]
Target = Annotated[
    str | None,
    typer.Option(help="The column of targets, if there is one, to copy and to score."),
]
Probabilities = Annotated[bool, typer.Option(help="Add a column for each label.")]
Interval = Annotated[
    float | None,
    typer.Option(help="Add prediction intervals with this coverage, such as 0.9."),
]


class Answers:
    """The answers of a model to the rows of a table, batch by batch.

    Parameters
    ----------
    model
        A learner of this package, or a pipeline that ends with one.
    probabilities
        Whether the probabilities of labels are wanted.
    interval
        Share of the targets that an interval shall hold, or None for no interval.

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
        self.labels = learner_of(model)._labels() if probabilities else []
        self.columns = [
            "prediction",
            *(["lower", "upper"] if interval is not None else []),
            *(f"probability of {label}" for label in names_of(self.labels)),
        ]

    def of(self, batch: Batch) -> tuple[Columns, Exception | None]:
        """Return the answers column by column, and the error of the row after the last answer.

        Pipelines and intervals are answered row by row.
        """
        if self.interval is None and reads_columns(self.model):
            return self._of_columns(batch), None
        answers: list[list[Any]] = []
        error = None
        for x in batch.rows():
            try:
                answers.append(self._of_row(x))
            except input_errors(self.model) as raised:
                error = raised
                break
        return [list(column) for column in zip(*answers, strict=True)], error

    def _of_columns(self, batch: Batch) -> Columns:
        model = self.model
        samples = table_of(batch.frame)
        answered = model._answered(samples)
        if answered.numbers is not None:
            return [answered.numbers.tolist()]
        columns: Columns = [labels_of_codes(answered.labels, model._core.labels.labels)]
        if self.labels:
            columns += model._answered(samples, True).shares.T.tolist()
        return columns

    def _of_row(self, x: dict[str, Any]) -> list[Any]:
        if self.interval is not None:
            distribution = self.model.predict_one(x, with_dist=True)
            return [distribution.mean, *distribution.interval(self.interval)]
        answer = [self.model.predict_one(x)]
        if self.labels:
            probabilities = self.model.predict_proba_one(x)
            answer += [probabilities[label] for label in self.labels]
        return answer


class Score:
    """Accuracy or mean absolute error of the answers whose truth is known."""

    def __init__(self, counts_labels: bool) -> None:
        self.counts_labels = counts_labels
        self.n = 0
        self.total = 0.0

    def add(self, truths: Sequence[Any], answers: Sequence[Any]) -> None:
        """Score answers; an unknown truth counts for nothing."""
        for truth, answer in zip(truths, answers, strict=True):
            if truth is not None:
                self.n += 1
                self.total += truth == answer if self.counts_labels else abs(truth - answer)

    def __str__(self) -> str:
        name = "accuracy" if self.counts_labels else "mean absolute error"
        return f"{name} {self.total / self.n:.4g} on {self.n:,} rows with a target"


def predict(
    file: models.File,
    data: options.Data,
    output: Output = Path("-"),
    target: Target = None,
    probabilities: Probabilities = False,
    interval: Interval = None,
    keep: options.Keep = None,
    strict: options.Strict = False,
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
    with outputs.refusing():
        to_file = str(output) != "-"
        if to_file and output.suffix not in FORMATS:
            raise UserError(f"cannot write {output.name}: the name must end in .csv or .parquet")
        outputs.check([file, *streams.files_of(data)], model=output if to_file else None)
        known, model = parted(models.open_model(file))
        kinds = columns.declared(nominal, kind, known)
        answers = Answers(model, probabilities, interval)
        reader = streams.open_rows(
            data,
            target=target,
            kinds=kinds,
            drop=drop or (),
            keep=keep or (),
            on_bad_row=options.on_bad_row(on_bad_row),
            encoding=encoding,
        )
        score = Score(is_classifier(model))
        fit = Fit(() if known is None else tuple(known.columns))
        reader.batches = _checked(reader.batches, reader.name, fit, strict)
        records = _records(reader, answers, score, keep or ())
        header = ["row", *(keep or ()), *answers.columns]
        if target or streams.is_bundled(data):
            truth = target or "target"
            header.append(f"true {truth}" if truth in header else truth)
        if to_file:
            outputs.write(output, lambda path: _write_file(path, header, records))
        else:
            _write_csv(sys.stdout, header, records)
        for note in (
            *([str(score)] if score.n else []),
            *fit.notes(),
            *streams.notes_of(reader.bad_rows),
        ):
            typer.echo(f"note: {note}", err=True)


def _checked(batches: Iterator[Batch], name: str, fit: Fit, strict: bool) -> Iterator[Batch]:
    """Yield the batches of a table if it has the columns of the model."""
    for batch in batches:
        fit.note([*batch.frame.column_names, *batch.unknown], len(batch))
        wrong = "; ".join(fit.notes())
        if fit.is_disjoint:
            raise UserError(f"{name} has no column in common with the model: {wrong}")
        if strict and wrong:
            raise UserError(f"--strict: {name} does not fit the model: {wrong}")
        yield batch


def _records(
    reader: Reader, answers: Answers, score: Score, keep: Sequence[str]
) -> Iterator[Columns]:
    """Yield the numbers of the rows of each batch, what is kept, answers and targets."""
    for batch in reader:
        found, error = answers.of(batch)
        n = len(found[0]) if found else 0
        targets = [None] * n if batch.targets is None else batch.targets[:n]
        if not score.counts_labels:
            for i, y in enumerate(targets):
                if isinstance(y, str):
                    error, n = UserError(f"the target is {y!r}, not a number"), i
                    break
        kept = [batch.kept[name] for name in keep]
        part: Columns = [column[:n] for column in (batch.numbers, *kept, *found, targets)]
        if n:
            score.add(part[-1], found[0][:n])
            yield part
        if error is not None:
            raise UserError(f"{reader.name}, row {batch.numbers[n]}: {error}") from error


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
        file.flush()  # rows that come through a pipe are answered before the next ones come


def _as_parquet(header: list[str], records: Iterator[Columns]) -> bytes:
    """Return a Parquet file; columns of mixed types hold texts."""
    import pyarrow
    from pyarrow import parquet

    columns: list[list[Any]] = [[] for _ in header]
    for part in records:
        for column, values in zip(columns, part, strict=False):  # no header, no targets
            column += values
    arrays = {}
    for name, column in zip(header, columns, strict=True):
        try:
            arrays[name] = pyarrow.array(column)
        except (pyarrow.ArrowException, OverflowError):
            arrays[name] = pyarrow.array(
                [None if value is None else str(value) for value in column]
            )
    file = io.BytesIO()
    parquet.write_table(pyarrow.table(arrays), file)
    return file.getvalue()
