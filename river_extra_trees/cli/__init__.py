"""The command line: ``river-extra-trees``, or ``python -m river_extra_trees``.

- `streams` reads rows from a bundled data set, a file or standard input.
- `learners` creates models and metrics from their names.
- `race` learns and scores item by item, and records the curves.
- `outputs` checks before the race that the output files can be written.
- `report` writes a race as a table, a picture, CSV and JSON.
- `models` describes and draws saved models, `predict` applies them, `serving` serves them.
- `listing` lists what the commands know by name.
- `app` is the command itself, with `race` and `train`.

An error that the user can fix raises `UserError`; the command prints it on one line.
"""

from __future__ import annotations


class UserError(Exception):
    """An error that the user can fix, with a message of one line."""
