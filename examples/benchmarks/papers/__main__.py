"""The tables and figures of the four papers: in print, by the published programs, and by ours.

    python -m examples.benchmarks.papers list                list all experiments
    python -m examples.benchmarks.papers dynamic-figure-4a   run one and show its table
    python -m examples.benchmarks.papers all                 run all of them
    python -m examples.benchmarks.papers all --quick         each in seconds

An experiment is a command of one of the other scripts of this folder. `papers.toml` names the
commands, and `published.csv` holds the figures of the papers and of the published programs. Data
sets are looked for in the folder that RIVER_EXTRA_TREES_DATA names, in river, on GitHub and on
OpenML; see `common/streams.py`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

from examples.benchmarks.common import results, tables
from examples.benchmarks.common.tables import Table
from river_extra_trees.cli import UserError

HERE = Path(__file__).parent
SOURCES = ("paper", "program")


@dataclass(frozen=True)
class Experiment:
    """A table or figure of a paper, and the command that reproduces it."""

    name: str
    title: str
    command: str
    quick: str


def chosen(name: str) -> list[Experiment]:
    """Return the experiment of that name, or all."""
    listed = tomllib.loads((HERE / "papers.toml").read_text(encoding="utf-8"))["experiment"]
    experiments = {each["name"]: Experiment(**each) for each in listed}
    if name == "all":
        return list(experiments.values())
    if name not in experiments:
        raise UserError(f"there is no table or figure {name!r}; the command `list` names them")
    return [experiments[name]]


def run(experiment: Experiment, quick: bool) -> Table:
    """Run the command; return all that it printed in tables as one table."""
    module, *options = f"{experiment.command} {experiment.quick if quick else ''}".split()
    done = subprocess.run(
        [sys.executable, "-m", f"examples.benchmarks.papers.{module}", *options],
        stdout=subprocess.PIPE,
        text=True,
    )
    if done.returncode:
        raise UserError(f"{experiment.name} failed; the reason is above")
    found = tables.read(done.stdout)
    if not found:
        raise UserError(f"{experiment.name} printed no table")
    return found[0] if len(found) == 1 else joined(found)


def joined(found: list[Table]) -> Table:
    """Return tables below one another; columns are matched by their heads."""
    heads = list(dict.fromkeys(head for table in found for head in table[0][1:]))
    lines = [
        [line[0], *(dict(zip(table[0], line, strict=True)).get(head, "") for head in heads)]
        for table in found
        for line in table[1:]
    ]
    return [[found[0][0][0], *heads], *lines]


def compared(name: str, ours: Table) -> Table:
    """Return our table with the figures of the paper and of the published program beside it."""
    stated = {
        (source, cell["row"], cell["measure"]): cell[source]
        for cell in results.read(HERE / "published.csv")
        if cell["experiment"] == name
        for source in SOURCES
    }
    rows = [line[0] for line in ours[1:]]
    columns: dict[str, list[str]] = {ours[0][0]: rows}
    for i, measure in enumerate(ours[0][1:], start=1):
        for source in SOURCES:
            cells = [stated.get((source, row, measure), "") for row in rows]
            if any(cells):
                columns[f"{measure}: {source}"] = cells
        is_stated = any(f"{measure}: {source}" in columns for source in SOURCES)
        columns[f"{measure}: ours" if is_stated else measure] = [line[i] for line in ours[1:]]
    return [list(columns), *map(list, zip(*columns.values(), strict=True))]


def main() -> None:
    """Run what the user asks for; a failure does not stop the other experiments."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", help="list, all, or the name of a table or figure")
    parser.add_argument("--quick", action="store_true", help="a run of seconds")
    options = parser.parse_args()
    if options.what == "list":
        tables.show(["name", "what it is"], [[e.name, e.title] for e in chosen("all")])
        return
    failed = []
    for experiment in chosen(options.what):
        print(f"{experiment.name}: {experiment.title}\n", flush=True)
        try:
            heads, *rows = compared(experiment.name, run(experiment, options.quick))
            tables.show(heads, rows)
        except UserError as error:
            failed.append(str(error))
    if failed:
        raise UserError("; ".join(failed))


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        sys.exit(f"error: {error}")
