"""The text of names, values and labels of any kind: for errors, tables and pictures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["brief", "safe_repr", "with_text"]


def safe_repr(value: Any, write: Callable[[Any], str] = repr) -> str:
    """The text of a value; if writing it raises an error, the name of its type.

    Python refuses, for instance, to write whole numbers of more than 4,300 digits.
    """
    try:
        return write(value)
    except Exception:
        return f"<{type(value).__name__} that cannot be written>"


def brief(value: Any, most: int | None = None) -> str:
    """The text of a value; a float has six digits, or twelve where it may be a date in seconds.

    A text of more than `most` characters is cut off, and stays in its line.
    """
    if isinstance(value, float):
        return f"{value:.{12 if 1e6 <= abs(value) < 1e12 else 6}g}"
    text = safe_repr(value, str)
    if most is None:
        return text
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: most - 1]}…"


def with_text(error: Exception, text: str) -> Exception:
    """An error with this text, of the same class, or of a base class that takes only a text.

    The constructor of `UnicodeEncodeError`, for instance, needs more: it becomes a `UnicodeError`.
    """
    for kind in type(error).__mro__:
        try:
            found = kind(text)
        except Exception:
            continue
        if isinstance(found, Exception) and str(found) == text:
            return found
    return ValueError(text)
