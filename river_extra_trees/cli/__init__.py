"""The command line: ``python -m river_extra_trees``.

- `streams` makes rows of a bundled data set, a file or standard input.
- `learners` makes models and metrics of what was typed.
- `race` learns and scores, item by item, and keeps the curves.
- `outputs` refuses files that could not be written, before the race.
- `report` turns a race into a table, a picture, CSV and JSON.
- `app` is the command itself; only it needs the extra ``cli``.

Whatever the user can put right raises `UserError`; the command prints it as one line.
"""

from __future__ import annotations


class UserError(Exception):
    """Something the user can put right, said in one line."""
