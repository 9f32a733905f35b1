"""The alarms of a model that a command trains."""

from __future__ import annotations

from typing import Any

from river_extra_trees.cli import UserError
from river_extra_trees.cli.outputs import say
from river_extra_trees.watch import Alarm, Watch

FALSE_ALARMS_PER = 100_000  # samples


class Bell:
    """Prints the alarms of a watched model on standard error as they are raised.

    Parameters
    ----------
    watch
        The watched model.
    stops
        Whether an alarm ends the command.
    """

    def __init__(self, watch: Watch, stops: bool) -> None:
        self.stops = stops
        self.rang = False
        watch.on_alarm = self.ring

    def ring(self, alarm: Alarm) -> None:
        """Print an alarm."""
        self.rang = True
        say([str(alarm)], "alarm")


def watched(model: Any, false_alarms_per: int | None, seed: int, stops: bool) -> tuple[Watch, Bell]:
    """Return a model with a watch around it, which may be there already, and its bell."""
    if not isinstance(model, Watch):
        model = Watch(model, false_alarms_per or FALSE_ALARMS_PER, seed=abs(seed))
    elif false_alarms_per not in (None, model.false_alarms_per):
        raise UserError(
            f"--false-alarms-per: the model is watched already, with {model.false_alarms_per:,}"
        )
    return model, Bell(model, stops)
