"""The tables and figures of the four papers: in print, by the published programs, and by ours.

    python -m examples.benchmarks.papers list                list all experiments
    python -m examples.benchmarks.papers dynamic-figure-4a   run one, keep and show its result
    python -m examples.benchmarks.papers all                 run all of them
    python -m examples.benchmarks.papers all --quick         each in seconds; nothing is kept
    python -m examples.benchmarks.papers report              write docs/results/papers.md

An experiment is a command of one of the other scripts. `papers.toml` names the commands and
explains the differences, `published.csv` holds the figures of the papers and of the published
programs, and `../results/papers.csv` the recorded output of our commands. A run writes to
`build/benchmarks/papers.csv`. Data sets are looked for in the folder that RIVER_EXTRA_TREES_DATA
names, in river, on GitHub and on OpenML; see `common/streams.py`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from examples.benchmarks.common import results, tables
from examples.benchmarks.common.results import Result
from examples.benchmarks.common.tables import Table
from river_extra_trees.cli import UserError

HERE = Path(__file__).parent
COMMAND = ".venv/bin/python"
SOURCES = ("paper", "program")


@dataclass(frozen=True)
class Experiment:
    """A table or figure of a paper, and the command that reproduces it.

    `quick` is added to the command for a run of seconds. `program` and `paper` name the columns
    in which a script prints such figures itself, for each column of ours. `published` says how our
    learners set the switch of that name; shrub ensembles do not have it.
    """

    name: str
    title: str
    command: str
    quick: str
    note: str
    published: str = "`published=False`"
    program: dict[str, str] = field(default_factory=dict)
    paper: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Paper:
    """A paper, its experiments, and what is not reproduced, with the reason."""

    title: str
    experiments: list[Experiment]
    missing: dict[str, str]


def load() -> list[Paper]:
    """Return the papers with their experiments."""
    with (HERE / "papers.toml").open("rb") as file:
        papers = tomllib.load(file)["paper"]
    return [
        Paper(paper["title"], [Experiment(**e) for e in paper["experiment"]], paper["missing"])
        for paper in papers
    ]


def chosen(name: str) -> list[Experiment]:
    """Return the experiment of that name, or all."""
    experiments = {e.name: e for paper in load() for e in paper.experiments}
    if name == "all":
        return list(experiments.values())
    if name not in experiments:
        raise UserError(f"there is no table or figure {name!r}; the command `list` names them")
    return [experiments[name]]


def run(experiment: Experiment, quick: bool) -> Table:
    """Run the command; return all that it printed in tables as one table."""
    module, *options = f"{experiment.command} {experiment.quick if quick else ''}".split()
    done = subprocess.run(
        [sys.executable, "-m", f"examples.benchmarks.{module}", *options],
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


def keep(path: Path, name: str, table: Table) -> None:
    """Store the cells of a table in place of the earlier ones."""
    others = [old for old in results.read(path) if old["experiment"] != name]
    new = [
        {"experiment": name, "row": line[0], "measure": head, "value": value}
        for line in table[1:]
        for head, value in zip(table[0][1:], line[1:], strict=True)
    ]
    results.write(path, [*others, *new])


def compared(experiment: Experiment, kept: list[Result], published: list[Result]) -> Table:
    """Return our figures with those of the paper and of the published program beside them."""
    own = [cell for cell in kept if cell["experiment"] == experiment.name]
    ours = {(cell["row"], cell["measure"]): cell["value"] for cell in own}
    stated = {
        (source, cell["row"], cell["measure"]): cell[source]
        for cell in published
        if cell["experiment"] == experiment.name
        for source in SOURCES
    }
    printed = {"paper": experiment.paper, "program": experiment.program}
    taken = {head for heads in printed.values() for head in heads.values()}
    rows = list(dict.fromkeys(cell["row"] for cell in own))
    columns: dict[str, list[str]] = {}
    for measure in dict.fromkeys(cell["measure"] for cell in own):
        if measure in taken:
            continue
        name = measure.removesuffix(" ours")
        for source in SOURCES:
            head = printed[source].get(measure)
            cells = [
                ours[row, head] if head else stated.get((source, row, measure), "") for row in rows
            ]
            if any(cells):
                columns[f"{name}: {source}"] = cells
        known = any(f"{name}: {source}" in columns for source in SOURCES)
        shown = f"{name}: ours" if known else measure
        columns[shown] = [ours[row, measure] for row in rows]
    lines = [[row, *(column[i] for column in columns.values())] for i, row in enumerate(rows)]
    return [["", *columns], *lines]


INTRODUCTION = """# Reproduction of the papers

This page compares the tables and figures of the four papers with our results. Each table shows the
latest output of the command above it ("ours"). Beside it are the figures that the paper prints
("paper") and those of the published program when we ran it ("program"). All programs ran on the
same data unless the text says otherwise. With `published=True`, our learners behave as the
published program does; the line above each table says whether they did. `.venv/bin/python -m
examples.benchmarks.papers report` writes this page; `examples/benchmarks/papers/published.csv`
holds the figures of papers and programs.

Parentheses contain the standard deviation over repeats, or zero after a single run. Times are user
CPU seconds on a machine with two cores that also did other work. Times of papers and programs are
from other machines or other days.

Stream decision forests have the number of trees that the tables name, batches of 100 samples as in
the paper, and otherwise their defaults."""


def report(path: Path, kept: list[Result]) -> None:
    """Write the page."""
    published = results.read(HERE / "published.csv")
    lines = [INTRODUCTION]
    for paper in load():
        lines.append(f"## {paper.title}")
        for experiment in paper.experiments:
            lines += [f"### {experiment.title}"]
            lines.append(f"```sh\n{COMMAND} -m examples.benchmarks.{experiment.command}\n```")
            if experiment.published:
                lines.append(f"Ours: {experiment.published}.")
            heads, *rows = compared(experiment, kept, published)
            lines.append(tables.render(heads, rows) if rows else "Not run yet.")
            lines.append(experiment.note.strip())
        lines.append("### Not reproduced")
        lines.append("\n".join(f"- {what}: {why}" for what, why in paper.missing.items()))
    path.write_text("\n\n".join(lines) + "\n")
    print(path)


def main() -> None:
    """Do what the user asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", help="list, report, all, or the name of a table or figure")
    parser.add_argument("--quick", action="store_true", help="a run of seconds; nothing is kept")
    parser.add_argument("--results", type=Path, help="by default build/benchmarks/papers.csv")
    parser.add_argument("--page", type=Path, default=Path("docs/results/papers.md"))
    options = parser.parse_args()
    folder = results.RECORDED if options.what == "report" else results.OWN
    options.results = options.results or folder / "papers.csv"
    if options.what == "list":
        tables.show(["name", "what it is"], [[e.name, e.title] for e in chosen("all")])
    elif options.what == "report":
        report(options.page, results.read(options.results))
    else:
        reproduce(chosen(options.what), options)


def reproduce(experiments: list[Experiment], options: argparse.Namespace) -> None:
    """Run experiments, keep and show their results; a failure does not stop the others."""
    published = results.read(HERE / "published.csv")
    failed = []
    for experiment in experiments:
        print(f"{experiment.name}: {experiment.title}\n", flush=True)
        try:
            heads, *rows = run(experiment, options.quick)
        except UserError as error:
            failed.append(str(error))
            continue
        if options.quick:
            tables.show(heads, rows)
            continue
        keep(options.results, experiment.name, [heads, *rows])
        heads, *rows = compared(experiment, results.read(options.results), published)
        tables.show(heads, rows)
        print(experiment.note.strip(), end="\n\n")
    if failed:
        raise UserError("; ".join(failed))


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        sys.exit(f"error: {error}")
