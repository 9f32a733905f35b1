"""The command line: ``river-extra-trees``, or ``python -m river_extra_trees``.

- `streams` opens bundled data sets, and tables by `river_extra_trees.streams`.
- `learners` creates models and metrics from their names.
- `race` predicts, scores and learns batch by batch, and records the curves.
- `running` runs a race: it watches, saves and reports.
- `outputs` checks before the race that the output files can be written; `standard` ends a command
  whose standard output is full or closed.
- `report` writes a race as a table, a picture, CSV and JSON.
- `models` describes and draws saved models, `predict` applies them, `serving` serves them.
- `listing` lists what the commands know by name.
- `app` is the command itself, with `race` and `train`.

An error that the user can fix raises `UserError`; the command prints it on one line.
"""

from __future__ import annotations


class UserError(Exception):
    """An error that the user can fix, with a message of one line.

    Attributes
    ----------
    status
        The exit status of the command.
    """

    status = 2  # the command or the data are invalid


class ClosedInputError(UserError):
    """Standard input is to be read, and is closed."""

    status = 1
