"""Tables as their sources publish them, read into the one form that the benchmarks use."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

ATTRIBUTE = re.compile(r"""@attribute\s+(?:'([^']*)'|"([^"]*)"|(\S+))""", re.IGNORECASE)


@dataclass(frozen=True)
class Layout:
    """How to read a table: what is left out, and which of the remaining columns is the target.

    For tables that are not ARFF, ``header`` says whether the first line names the columns, and
    ``names`` are the names of those that stay.
    """

    drop: list[int] = field(default_factory=list)
    target: int = -1
    header: bool = False
    names: list[str] = field(default_factory=list)

    def read(self, texts: Iterable[str]) -> str:
        """Return the tables, one below the other, as CSV with the target last.

        Examples
        --------
        >>> print(Layout(drop=[0], target=1).read(["7, a ,?,2.50"]), end="")
        a1,a2,target
        ,2.50,a

        """
        heads: list[str] = []
        lines: list[list[str]] = []
        for text in texts:
            named, cells = arff(text) if "@data" in text.lower() else delimited(text, self.header)
            heads = named
            lines += cells
        kept = [i for i in range(len(lines[0])) if i not in self.drop]
        names = self.names or [heads[i] if heads else f"a{k}" for k, i in enumerate(kept)]
        target = kept.pop(self.target)
        written = io.StringIO()
        writer = csv.writer(written, lineterminator="\n")
        writer.writerow([*(name for k, name in enumerate(names) if k != self.target % len(names)), "target"])
        writer.writerows([present(line[i]) for i in (*kept, target)] for line in lines)
        return written.getvalue()


def present(cell: str) -> str:
    """Return a value without blanks and quotes; nothing for a missing one."""
    cell = cell.strip().strip("'\"").strip()
    return "" if cell == "?" else re.sub(r"^(\d+)\.$", r"\1", cell)


def arff(text: str) -> tuple[list[str], list[list[str]]]:
    """Return the names of the columns and the rows of an ARFF file."""
    head, data = re.split(r"^@data", text, maxsplit=1, flags=re.IGNORECASE | re.MULTILINE)
    names = [next(filter(None, groups)) for groups in ATTRIBUTE.findall(head)]
    kept = [line for line in data.splitlines() if line.strip() and not line.startswith("%")]
    if "," in kept[0]:
        return names, list(csv.reader(kept, quotechar="'", skipinitialspace=True))
    return names, [line.split() for line in kept]


def delimited(text: str, header: bool) -> tuple[list[str], list[list[str]]]:
    """Return the names of the columns, if the first line has them, and the rows."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    separator = next((each for each in ";," if each in lines[0]), None)
    cells = [line.split(separator) for line in lines]
    return (cells[0], cells[1:]) if header else ([], cells)
