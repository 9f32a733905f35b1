"""What a sample costs: time and memory.

    python -m examples.benchmarks.costs NAME           run a measurement
    python -m examples.benchmarks.costs NAME --help    its options

A measurement is a module of this folder with a function `add_arguments`, which describes its
options to a parser, and a function `run`, which prints its tables. To add one, write the module and
name it in `MEASUREMENTS`. Times are CPU time unless the module says otherwise, and come from
`timing`: things to compare take turns, several times, so that a busy machine slows all of them.
"""

from __future__ import annotations

import argparse
import importlib
import sys

from river_extra_trees.cli import UserError

MEASUREMENTS = (
    "tails",
    "longest",
    "explanations",
    "frames",
    "threads",
    "wide",
    "instructions",
    "ratios",
    "parts",
    "keyed",
    "serve",
    "soak",
)


def main() -> int:
    """Run the measurement that the command line names; return the number of failures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="name", required=True, metavar="NAME")
    for name in MEASUREMENTS:
        module = importlib.import_module(f"examples.benchmarks.costs.{name}")
        command = commands.add_parser(
            name,
            help=module.__doc__.splitlines()[0],
            description=module.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    options = parser.parse_args()
    return options.run(options) or 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UserError as error:
        sys.exit(f"error: {error}")
