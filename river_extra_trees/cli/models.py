"""The commands `info` and `draw`: description and trees of saved models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from river_extra_trees import persistence
from river_extra_trees._core.safe_repr import safe_repr
from river_extra_trees._estimator.inspection import in_bytes
from river_extra_trees.cli import UserError, checkpoint

File = Annotated[Path, typer.Argument(help="A saved model, or a checkpoint of a race.")]
Learner = Annotated[
    str | None, typer.Option(help="The learner of a checkpoint, by its name in the race.")
]


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


def learner_of(model: Any) -> Any:
    """Return the learner at the end of a pipeline; any other model itself."""
    return getattr(model, "_last_step", model)


def rows_of(model: Any) -> list[tuple[str, str]]:
    """Return the description of a model, line by line."""
    pipeline, model = model, learner_of(model)
    schema = model._schema
    parameters = ", ".join(f"{name}={value!r}" for name, value in model._get_params().items())
    counts = {name: f"{value:,}" for name, value in model.summary.items() if name != "memory"}
    return [
        *([("pipeline", str(pipeline))] if pipeline is not model else []),
        ("model", type(model).__name__),
        ("parameters", parameters),
        ("samples learned", f"{model.n_samples_seen:,}"),
        (
            "features",
            ", ".join(dict.fromkeys(safe_repr(name, str) for name in schema.names)) or "none yet",
        ),
        *((name.removeprefix("n_"), text) for name, text in counts.items()),
        ("memory", model.summary["memory"]),
    ]


def show(file: Path, learner: str | None) -> None:
    """Print the description of a model or of a checkpoint."""
    if learner is None and file.is_file() and checkpoint.is_checkpoint(file):
        document, _ = checkpoint.read(file)
        plan = {name: value for name, value in document["plan"].items() if value}
        rows = [
            ("race", ", ".join(f"{name} {value}" for name, value in plan.items())),
            ("items", f"{document['items']:,}"),
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
    console = Console()
    (console if console.is_terminal else Console(width=200)).print(table)


def tree_of(file: Path, learner: str | None, tree: int) -> Any:
    """Return the model of a file, if it has a tree of this number."""
    model = learner_of(open_model(file, learner))
    if tree >= (n := model.summary["n_trees"]):
        raise UserError(f"there is no tree {tree}: the model has {n} trees, numbered from 0")
    return model


def text_of(file: Path, learner: str | None, tree: int, max_depth: int) -> str:
    """Return a tree as indented text."""
    text: str = tree_of(file, learner, tree).to_text(tree, max_depth)
    return "\n".join(map(printable, text.split("\n")))


def draw(path: Path, file: Path, learner: str | None, tree: int, max_depth: int) -> None:
    """Draw a tree to a picture."""
    import matplotlib

    from river_extra_trees.plotting import TreeDisplay

    matplotlib.use("agg")  # writes a file and opens no window
    model = tree_of(file, learner, tree)
    display = TreeDisplay.from_estimator(model, tree=tree, max_depth=max_depth).plot()
    display.figure_.savefig(path, dpi=120)
