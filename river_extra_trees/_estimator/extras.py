"""Import of optional packages."""

from __future__ import annotations

import importlib
import typing

__all__ = ["import_extra"]


def import_extra(module: str, extra: str) -> typing.Any:
    """Import an optional package; the error says how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise ImportError(
            f"this needs {package} (extra {extra!r}): pip install {package}"
        ) from None
