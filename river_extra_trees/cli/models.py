"""The commands `info` and `draw`: description and trees of saved models."""

from __future__ import annotations

import html
import io
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from river_extra_trees import persistence
from river_extra_trees._estimator.inspection import in_bytes
from river_extra_trees.cli import UserError, checkpoint, outputs
from river_extra_trees.persistence.atomic import replace_file
from river_extra_trees.serving.description import description_of, learner_of

File = Annotated[Path, typer.Argument(help="A saved model, or a checkpoint of a race.")]
Learner = Annotated[
    str | None, typer.Option(help="The learner of a checkpoint, by its name in the race.")
]

PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>{title}</title></head>
<body style="margin: 0; background: white; overflow: auto">
{svg}</body>
</html>
"""


def open_model(path: Path, learner: str | None) -> Any:
    """Return the model of a model file, or of a learner in a checkpoint.

    Raises
    ------
    UserError
        If there is no such model.
    """
    try:
        if not checkpoint.is_checkpoint(path):
            if learner is not None:
                raise UserError(f"{path} is not a checkpoint, so --learner does not apply")
            return persistence.load(path)
        files = checkpoint.models(path)
        if learner not in files:
            raise UserError(
                f"choose a learner of the checkpoint with --learner: {printable(', '.join(files))}"
            )
        return persistence.load_bytes(files[learner])
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    except persistence.ModelFileError as error:
        raise UserError(str(error)) from error


def printable(text: str) -> str:
    """Return a text with control characters and unprintable ones escaped."""
    return "".join(letter if letter.isprintable() else f"\\x{ord(letter):02x}" for letter in text)


def rows_of(model: Any) -> list[tuple[str, str]]:
    """Return the description of a model, line by line."""
    found = description_of(model)
    parameters = ", ".join(f"{name}={value}" for name, value in found["parameters"].items())
    labels = (
        [] if found["labels"] is None else [("labels", ", ".join(found["labels"]) or "none yet")]
    )
    weights = learner_of(model).summary.get("window_weights")
    return [
        ("model", found["model"]),
        ("task", found["task"]),
        ("parameters", parameters),
        ("samples learned", f"{found['samples_seen']:,}"),
        ("features", ", ".join(found["features"]) or "none yet"),
        *labels,
        *((name, f"{value:,}") for name, value in found["size"].items()),
        ("memory", in_bytes(found["memory_bytes"])),
        *([] if weights is None else [("window weights", weights)]),
        ("read by", f"river-extra-trees {found['version']}"),
    ]


def require_file(model: Any) -> None:
    """Raise a UserError if a model cannot be saved to a model file, before it learns for long."""
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


def info(file: File, learner: Learner = None) -> None:
    """Describe a saved model or a checkpoint."""
    with outputs.refusing():
        show(file, learner)


def draw(
    file: File,
    learner: Learner = None,
    tree: Annotated[int, typer.Option(min=0, help="Number of the tree, from 0.")] = 0,
    max_depth: Annotated[int, typer.Option(min=0, help="Depth of the deepest nodes to draw.")] = 3,
    output: Annotated[
        Path | None,
        typer.Option(help="Draw to this file (.png, .svg, .pdf, .html); by default, print text."),
    ] = None,
) -> None:
    """Draw a tree of a saved model."""
    with outputs.refusing():
        if output is None:
            typer.echo(text_of(file, learner, tree, max_depth))
        else:
            outputs.check([file], tree=output)
            content = picture_of(output.suffix, file, learner, tree, max_depth)
            outputs.write(output, lambda path: replace_file(path, content))


def show(file: Path, learner: str | None) -> None:
    """Print the description of a model or of a checkpoint."""
    if learner is None and file.is_file() and checkpoint.is_checkpoint(file):
        document, _ = checkpoint.read(file)
        plan = {name: value for name, value in document["plan"].items() if value}
        rows = [
            ("race", ", ".join(f"{name} {value}" for name, value in plan.items())),
            ("samples", f"{document['items']:,}"),
            ("written by", ", ".join(" ".join(pair) for pair in document["packages"].items())),
            ("saved models", ", ".join(document["models"])),
        ]
    else:
        rows = rows_of(open_model(file, learner))
    table = Table(show_header=False, box=None)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, text in [*rows, ("file", in_bytes(file.stat().st_size))]:
        table.add_row(name, Text(printable(text)))
    outputs.console().print(table)


def tree_of(file: Path, learner: str | None, tree: int) -> Any:
    """Return the learner of a file, if it has a tree of this number."""
    model = learner_of(open_model(file, learner))
    if tree >= (n := model.summary["n_trees"]):
        raise UserError(f"there is no tree {tree}: the model has {n} trees, numbered from 0")
    return model


def text_of(file: Path, learner: str | None, tree: int, max_depth: int) -> str:
    """Return a tree as indented text."""
    text: str = tree_of(file, learner, tree).to_text(tree, max_depth)
    return "\n".join(map(printable, text.split("\n")))


def picture_of(suffix: str, file: Path, learner: str | None, tree: int, max_depth: int) -> bytes:
    """Return the picture of a tree; a page in HTML holds it as SVG."""
    import matplotlib

    from river_extra_trees.plotting import TreeDisplay

    matplotlib.use("agg")  # writes a file and opens no window
    model = tree_of(file, learner, tree)
    display = TreeDisplay.from_estimator(model, tree=tree, max_depth=max_depth).plot()
    picture = io.BytesIO()
    kind = "svg" if suffix == ".html" else suffix.removeprefix(".")
    display.figure_.savefig(picture, format=kind, dpi=120)
    if suffix != ".html":
        return picture.getvalue()
    title = html.escape(f"{type(model).__name__}, tree {tree}: {printable(file.name)}")
    svg = picture.getvalue().decode()
    return PAGE.format(title=title, svg=svg[svg.index("<svg") :]).encode()
