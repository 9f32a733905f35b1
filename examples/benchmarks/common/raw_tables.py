"""Tables as their sources publish them, read into the one form that the benchmarks use."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

ARFF = re.compile(r"^@data", re.IGNORECASE | re.MULTILINE)
ATTRIBUTE = re.compile(r"""@attribute\s+(?:'([^']*)'|"([^"]*)"|(\S+))""", re.IGNORECASE)


@dataclass(frozen=True)
class Layout:
    """How to read a table: what is left out, and which of the remaining columns is the target.

    ``header`` says what the first line of the data is: a row (""), the names of the columns
    ("names"), or neither ("skip"). ``names`` are other names of what is not dropped. Without names,
    the columns are a0, a1 and so on.
    """

    drop: list[int] = field(default_factory=list)
    target: int = -1
    header: str = ""
    names: list[str] = field(default_factory=list)

    def read(self, texts: Iterable[str]) -> str:
        """Return the tables, one below the other, as CSV with the target last.

        Examples
        --------
        >>> print(Layout(drop=[0], target=0).read(["7, a ,?,2.50"]), end="")
        a1,a2,target
        ,2.50,a

        """
        heads: list[str] = []
        lines: list[list[str]] = []
        for text in texts:
            heads, rows = arff(text) if ARFF.search(text) else delimited(text)
            if self.header:
                first = rows.pop(0)
                heads = first if self.header == "names" else heads
            lines += rows
        kept = [i for i in range(len(lines[0])) if i not in self.drop]
        names = self.names or [heads[i] if heads else f"a{k}" for k, i in enumerate(kept)]
        order = list(range(len(kept)))
        order.append(order.pop(self.target))
        written = io.StringIO()
        writer = csv.writer(written, lineterminator="\n")
        writer.writerow([*(names[k] for k in order[:-1]), "target"])
        writer.writerows([present(line[kept[k]]) for k in order] for line in lines)
        return written.getvalue()


def present(cell: str) -> str:
    """Return a value without blanks and quotes; nothing for a missing one."""
    cell = cell.strip().strip("'\"").strip()
    return "" if cell == "?" else re.sub(r"^(\d+)\.$", r"\1", cell)


def arff(text: str) -> tuple[list[str], list[list[str]]]:
    """Return the names of the columns and the rows of an ARFF file."""
    head, data = ARFF.split(text, maxsplit=1)
    names = [next(filter(None, groups)) for groups in ATTRIBUTE.findall(head)]
    kept = [line for line in data.splitlines() if line.strip() and not line.startswith("%")]
    if "," in kept[0]:
        rows = csv.reader(kept, quotechar="'", skipinitialspace=True)
        return names, [row[: len(names)] for row in rows]
    return names, [line.split() for line in kept]


def delimited(text: str) -> tuple[list[str], list[list[str]]]:
    """Return no names, and the rows, whatever separates their values."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    separator = next((each for each in ";," if each in lines[0]), None)
    return [], [line.split(separator) for line in lines]
