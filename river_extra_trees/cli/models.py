"""The commands `info` and `draw`: description and trees of saved models."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from river_extra_trees import persistence
from river_extra_trees._estimator.inspection import in_bytes
from river_extra_trees.cli import UserError, options, outputs
from river_extra_trees.column_kinds import parted
from river_extra_trees.persistence.atomic import replace_file
from river_extra_trees.serving.description import description_of
from river_extra_trees.watch import Watch, learner_of, unwatched

MOST_ALARMS = 3  # that `info` shows


def open_model(path: Path) -> Any:
    """Return the model of a model file; raise a UserError if there is none."""
    try:
        return persistence.load(path)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    except persistence.ModelFileError as error:
        raise UserError(str(error)) from error


def require_model_file(path: Path) -> None:
    """Raise a UserError if there is no file, or if it cannot be replaced."""
    try:
        path.stat()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    outputs.check(path, inputs=())


def rows_of(model: Any) -> list[tuple[str, str]]:
    """Return the description of a model, line by line."""
    found = description_of(model)
    parameters = ", ".join(f"{name}={value}" for name, value in found["parameters"].items())
    labels = (
        [] if found["labels"] is None else [("labels", ", ".join(found["labels"]) or "none yet")]
    )
    weights = learner_of(model).summary.get("window_weights")
    watch, bare = unwatched(model)
    kinds, _ = parted(bare)
    columns = {} if kinds is None else kinds.summary
    return [
        ("model", found["model"]),
        ("task", found["task"]),
        ("parameters", parameters),
        ("samples learned", f"{found['samples_seen']:,}"),
        ("features", ", ".join(found["features"]) or "none yet"),
        *([] if found["crowded"] is None else [("no free place for", found["crowded"])]),
        *([] if found["crowded_label"] is None else [("no free code for", found["crowded_label"])]),
        *([("columns", "; ".join(map(": ".join, columns.items())))] if columns else []),
        *labels,
        *((name, f"{value:,}") for name, value in found["size"].items()),
        ("memory", in_bytes(found["memory_bytes"])),
        *([] if weights is None else [("window weights", weights)]),
        *([] if watch is None else [("latest alarms", alarms_of(watch))]),
        ("read by", f"river-extra-trees {found['version']}"),
    ]


def alarms_of(watch: Watch) -> str:
    """Return the latest alarms of a watched model."""
    texts = [str(alarm) for alarm in list(watch.alarms)[-MOST_ALARMS:]]
    return "; ".join(texts) or "none"


def require_file(model: Any) -> None:
    """Raise a UserError if a model cannot be saved to a model file."""
    try:
        persistence.save_bytes(model)
    except TypeError as error:
        raise UserError(f"this learner cannot be saved to a model file: {error}") from error


def save_model(model: Any, path: Path) -> None:
    """Save a model; raise a UserError if what it has learned, such as a label, cannot be saved."""
    try:
        persistence.save(model, path)
    except persistence.ModelFileError as error:
        raise UserError(f"cannot write {path}: {error}") from error
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or error}") from error


def n_learned_since(model: Any, later: Any, path: Path) -> int:
    """Return how many more samples a later model has learned than the model it continues."""
    before, after = (description_of(unwatched(each)[1]) for each in (model, later))
    for part in ("model", "parameters"):
        if before[part] != after[part]:
            raise UserError(
                f"--resume: {path} holds another learner, {after['model']} with "
                f"{after['parameters']}; pass another file to --save"
            )
    n: int = after["samples_seen"] - before["samples_seen"]
    if n < 0:
        raise UserError(f"--resume: {path} has learned fewer samples than the model to continue")
    return n


@outputs.refusing()
def info(file: options.File) -> None:
    """Describe a saved model."""
    table = Table(show_header=False, box=None)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    rows = rows_of(open_model(file))
    for name, text in [*rows, ("file", in_bytes(file.stat().st_size))]:
        table.add_row(name, Text(outputs.printable(text)))
    outputs.console().print(table)


@outputs.refusing()
def draw(
    file: options.File,
    tree: Annotated[int, typer.Option(min=0, help="Number of the tree, from 0.")] = 0,
    max_depth: Annotated[int, typer.Option(min=0, help="Depth of the deepest nodes to draw.")] = 3,
    output: Annotated[
        Path | None,
        typer.Option(help="Draw to this file (.png, .svg, .pdf); by default, print text."),
    ] = None,
) -> None:
    """Draw a tree of a saved model."""
    outputs.check(inputs=(file,), picture=output)
    model = learner_of(open_model(file))
    if tree >= (n := model.summary["n_trees"]):
        raise UserError(f"there is no tree {tree}; the last tree is {n - 1}")
    if output is None:
        text: str = model.to_text(tree, max_depth)
        typer.echo("\n".join(map(outputs.printable, text.split("\n"))))
    else:
        content = picture_of(model, tree, max_depth, output.suffix)
        outputs.write(output, lambda path: replace_file(path, content))


def picture_of(model: Any, tree: int, max_depth: int, suffix: str) -> bytes:
    """Return the picture of a tree."""
    import matplotlib

    from river_extra_trees.plotting import TreeDisplay

    matplotlib.use("agg")  # writes a file and opens no window
    display = TreeDisplay.from_estimator(model, tree=tree, max_depth=max_depth).plot()
    picture = io.BytesIO()
    display.figure_.savefig(picture, format=suffix.removeprefix("."), dpi=120)
    return picture.getvalue()
