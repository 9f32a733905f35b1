"""What a metric of river knows, to compare two of them."""

from __future__ import annotations

from typing import Any


def state_of(value: Any) -> Any:
    """What a metric knows, with the order of its dicts."""
    if isinstance(value, dict):
        return [(repr(key), state_of(each)) for key, each in value.items()]
    if hasattr(value, "__dict__"):
        return type(value).__name__, state_of(vars(value))
    return [state_of(each) for each in value] if isinstance(value, list) else repr(value)
