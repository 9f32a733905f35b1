"""How much of a table has been read: a bar with the time left, and a share for logs."""

from __future__ import annotations

from rich import progress

from river_extra_trees.streams import Reader


class Progress:
    """The progress of a command on a table.

    Parameters
    ----------
    reader
        The table.
    n_items
        Number of rows to read; None if it is unknown.

    Attributes
    ----------
    bar
        The bar, for rich.
    """

    def __init__(self, reader: Reader, n_items: int | None) -> None:
        self.reader, self.n_items = reader, n_items
        self.bar = progress.Progress(
            progress.BarColumn(), progress.TaskProgressColumn(), progress.TimeRemainingColumn()
        )
        self.task = self.bar.add_task("", total=1.0, visible=self.share(0) is not None)

    def share(self, items: int) -> float | None:
        """Return the share that has been read after some rows; None if it is unknown."""
        limited = None if self.n_items is None else items / max(1, self.n_items)
        shares = [each for each in (limited, self.reader.share_of(items)) if each is not None]
        return max(shares, default=None)

    def line(self, items: int, what: str) -> str:
        """Return the progress after some rows, for a log."""
        share = self.share(items)
        return f"{items:,} {what}" + ("" if share is None else f" ({share:.0%})")

    def advance_to(self, items: int) -> None:
        """Update the bar after some rows."""
        self.bar.update(self.task, completed=self.share(items) or 0.0)
