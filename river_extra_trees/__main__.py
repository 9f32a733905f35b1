"""Run the command line: ``river-extra-trees``, or ``python -m river_extra_trees``."""

from __future__ import annotations

import sys
from importlib.util import find_spec


def main() -> None:
    """Run the command, or say which packages it needs."""
    missing = [name for name in ("typer", "rich", "pyarrow") if find_spec(name) is None]
    if missing:
        sys.exit(f"error: the command line needs more packages: pip install {' '.join(missing)}")
    from river_extra_trees.cli.app import app

    try:
        app(prog_name="river-extra-trees")
    except OSError as error:  # of the standard output, such as a full disk
        sys.exit(f"error: {error.strerror or error}")


if __name__ == "__main__":
    main()
