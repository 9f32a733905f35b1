"""The command line: ``river-extra-trees``, or ``python -m river_extra_trees``.

- `app` defines the commands `race` and `train`; `options` their arguments and options.
- `streams` opens bundled data sets, and tables by `river_extra_trees.streams`.
- `learners` creates models and metrics from their names.
- `race` predicts, scores and learns batch by batch; `report` shows and writes the results.
- `models` describes and draws saved models, `predict` applies them, `serving` serves them.
- `outputs` checks that output files can be written, before any time is spent on their content.

An error that the user can fix raises `UserError` or `TableError`; the command prints it in one
line.
"""

from __future__ import annotations


class UserError(Exception):
    """An error that the user can fix, with a message of one line."""
