"""Error messages for input that is no readable data frame or series."""

from __future__ import annotations

import typing

import numpy as np

from river_extra_trees._core.safe_repr import safe_repr

__all__ = ["refuse_array", "refuse_lazy", "refuse_mask", "refused_frame"]


def refuse_lazy(X: object) -> None:
    """Raise a TypeError for a lazy frame."""
    kind = type(X)
    library = kind.__module__.partition(".")[0]
    if kind.__name__ == "LazyFrame" and library in ("polars", "narwhals"):
        raise TypeError(f"this is a lazy frame of {library}: call .collect() and pass the result")


def refuse_mask(X: object, name: str) -> None:
    """Raise a TypeError for a masked array."""
    if isinstance(X, np.ma.MaskedArray):
        raise TypeError(
            f"{name} is a masked array: pass {name}.astype(float).filled(numpy.nan), in which "
            "masked numbers are missing"
        )


def refuse_array(X: object) -> None:
    """Raise a TypeError for a structured array, or one that does not have two dimensions."""
    if not isinstance(X, np.ndarray) or isinstance(X, np.ma.MaskedArray):
        return
    if X.dtype.names is not None:
        raise TypeError(
            "X is a structured array, whose rows are records: pass pandas.DataFrame(X.ravel())"
        )
    if X.ndim != 2:
        hint = ": X.reshape(1, -1) makes one row of it" if X.ndim == 1 else ""
        raise TypeError(
            f"X is an array of {X.ndim} dimension{'s' * (X.ndim != 1)}; it must have two, rows and "
            f"columns{hint}"
        )


def refused_frame(X: typing.Any) -> Exception | None:
    """Return the error that explains why X is not a readable frame; None if it is one."""
    from narwhals import dependencies

    if dependencies.is_into_dataframe(X):
        return refused_names(X)
    if dependencies.is_into_series(X):
        return TypeError(
            "X is a series; it must be a data frame: X.to_frame() makes one column of it"
            if hasattr(X, "to_frame")
            else "X is a series; it must be a data frame"
        )
    return TypeError(
        "X must be a data frame in memory (of pandas, polars, pyarrow or another library that "
        f"narwhals knows) or an array of two dimensions, not {type(X).__name__!r}; "
        "pandas.DataFrame(X) makes a frame of a list of rows"
    )


def refused_names(frame: typing.Any) -> Exception | None:
    """Return the error for a name that is not hashable, or that two columns share."""
    # In pyarrow, `columns` holds the values, not the names.
    names: typing.Any = getattr(frame, "column_names", None) or getattr(frame, "columns", ())
    seen = set()
    for name in names:
        try:
            hash(name)
        except TypeError:
            return TypeError(f"the name of a column of X must be hashable, not {safe_repr(name)}")
        if name in seen:
            return ValueError(f"two columns of X have the name {safe_repr(name)}")
        seen.add(name)
    return None
