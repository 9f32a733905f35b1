"""Names, values and labels of any kind as text: for errors, tables and pictures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["shown"]


def shown(value: Any, write: Callable[[Any], str] = repr) -> str:
    """The text of a value, or what it is where it has none: never an error.

    Python writes no whole number of more than 4,300 digits, not even within a tuple.
    """
    try:
        return write(value)
    except Exception:
        return f"<{type(value).__name__} that cannot be written>"
