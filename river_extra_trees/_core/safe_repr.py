"""The text of names, values and labels of any kind: for errors, tables and pictures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["safe_repr"]


def safe_repr(value: Any, write: Callable[[Any], str] = repr) -> str:
    """The text of a value, or its type where writing it raises.

    Python refuses, for instance, to write whole numbers of more than 4,300 digits.
    """
    try:
        return write(value)
    except Exception:
        return f"<{type(value).__name__} that cannot be written>"
