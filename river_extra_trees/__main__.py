"""Run the command line: ``river-extra-trees``, or ``python -m river_extra_trees``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command, or say which packages it needs."""
    try:
        from river_extra_trees.cli.app import app
        from river_extra_trees.cli.standard import checked_output
    except ModuleNotFoundError as error:
        if error.name not in ("rich", "typer"):
            raise
        sys.exit("error: the command line needs two more packages: pip install typer rich")
    with checked_output():
        app(prog_name="river-extra-trees")


if __name__ == "__main__":
    main()
