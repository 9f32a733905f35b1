"""Tables in Markdown: written, and read back from the output of a script."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

# The heads of the columns, then the lines below them.
Table = list[list[str]]


def render(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table with aligned columns.

    Examples
    --------
    >>> print(render(["learner", "rank"], [["a tree", "1.5"]]))
    | learner | rank |
    | ------- | ---- |
    | a tree  | 1.5  |

    """
    lines = [list(heads), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join(
        "| " + " | ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)) + " |"
        for line in lines
    )


def show(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table and an empty line."""
    print(render(heads, rows), end="\n\n", flush=True)


def read(text: str) -> list[Table]:
    """Return all tables of a text, without the lines under their heads.

    Examples
    --------
    >>> read(render(["learner", "rank"], [["a tree", "1.5"]]))
    [[['learner', 'rank'], ['a tree', '1.5']]]

    """
    found: list[Table] = []
    inside = False
    for line in text.splitlines():
        if not line.startswith("|"):
            inside = False
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not inside:
            found.append([])
            inside = True
        if any(cell.strip("-: ") for cell in cells):
            found[-1].append(cells)
    return found
