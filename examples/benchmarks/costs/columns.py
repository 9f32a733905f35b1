"""What frames cost beside dicts: learning, answering, and answering before learning.

The first three tables show, for every learner, the CPU time per row of the loop over ready-made
dicts, and the time for frames of each library as a part of it: 0.3 is about three times as fast.
The frames have 1,000 rows of 8 numeric features. The last tables compare other kinds of columns
with numeric ones, for the learners that are named, or for one tree. Loops and frames take turns;
each time is the least of several repeats.

    python -m examples.benchmarks.costs.columns
    python -m examples.benchmarks.costs.columns --rows 4000 StreamDecisionTreeClassifier
    python -m examples.benchmarks.costs.columns --n-models 10 ExtraTreesClassifier
"""

from __future__ import annotations

import argparse
import functools
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from river import base

import river_extra_trees
from examples.benchmarks.common import tables

Columns = dict[str, Any]
Frames = list[tuple[Any, Any]]
LEARNERS = {
    name: kind
    for name in river_extra_trees.__all__
    if issubclass(kind := getattr(river_extra_trees, name), base.Classifier | base.Regressor)
}
VALUES = pa.array([f"value {i}" for i in range(1000)])  # of nominal columns
CATEGORIES = pd.CategoricalDtype(VALUES.to_pandas())
ENUM = pl.Enum(VALUES.to_pylist())
LIBRARIES: dict[str, Callable[[Columns], Any]] = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
    "numpy": lambda columns: np.column_stack(list(columns.values())),
}


def numeric(n: int, rng: np.random.Generator) -> Columns:
    return {f"feature {i}": rng.random(n) for i in range(8)}


def nominal(n: int, rng: np.random.Generator) -> Columns:
    """Return columns of 1,000 values."""
    values = np.array(VALUES.to_pylist())
    return {f"feature {i}": pa.array(values[rng.integers(0, 1000, n)]) for i in range(8)}


def dictionary(n: int, rng: np.random.Generator) -> Columns:
    """Return the columns of `nominal` with one dictionary, which all frames share."""
    return {
        name: pa.DictionaryArray.from_arrays(pc.index_in(each, VALUES), VALUES)
        for name, each in nominal(n, rng).items()
    }


def missing(n: int, rng: np.random.Generator) -> Columns:
    """Return numeric columns, a tenth of their values missing."""
    return {
        name: np.where(rng.random(n) < 0.1, np.nan, values)
        for name, values in numeric(n, rng).items()
    }


def changing(n: int, rng: np.random.Generator) -> Columns:
    """Return 8 numeric columns of 16."""
    names = rng.permutation(16)[:8]
    columns = numeric(n, rng).values()
    return {f"feature {i}": values for i, values in zip(names, columns, strict=True)}


def columns_in(library: str, columns: Columns) -> Columns:
    """Return nominal columns of pyarrow as a library has them, and others as they are."""
    found = {}
    for name, values in columns.items():
        is_coded = isinstance(values, pa.DictionaryArray)
        if library == "pandas" and is_coded:
            found[name] = pd.Categorical.from_codes(values.indices, dtype=CATEGORIES)
        elif library == "pandas" and isinstance(values, pa.Array):
            found[name] = values.to_pandas()
        elif library == "polars" and is_coded:
            found[name] = pl.Series(values.dictionary_decode()).cast(ENUM)
        else:
            found[name] = values
    return found


def frames(
    kind: Callable[[int, np.random.Generator], Columns],
    library: str,
    n: int,
    regression: bool,
    random_targets: bool = False,
) -> Frames:
    """Return frames of 1,000 rows with targets, the same for every library.

    With random targets, columns of no kind say anything about them.
    """
    rng, found = np.random.default_rng(1), []
    is_nominal = kind in (nominal, dictionary)
    for start in range(0, n, 1000):
        columns = kind(min(1000, n - start), rng)
        score = rng.random(len(next(iter(columns.values())))) / 3
        for values in list(columns.values())[:2]:
            # Nominal columns say nothing about the target, of which either label is as frequent.
            score = score + (0.467 if is_nominal else np.asarray(values, dtype=float))
        if random_targets:
            score = 2.2 * rng.random(len(score))
        targets = np.nan_to_num(score, nan=0.5) if regression else score > 1.1
        found.append((LIBRARIES[library](columns_in(library, columns)), targets))
    return found


def microseconds(work: Callable[[], Any], n: int) -> float:
    start = time.process_time_ns()
    work()
    return (time.process_time_ns() - start) / 1e3 / n


def loop(rows: list[Any], model: Any, answers: bool, learns: bool) -> None:
    for x, y in rows:
        if answers:
            model.predict_one(x)
        if learns:
            model.learn_one(x, y)


def many(given: Frames, model: Any, answers: bool, learns: bool) -> None:
    for X, y in given:
        if answers and learns:
            model.predict_learn_many(X, y)
        elif learns:
            model.learn_many(X, y)
        else:
            model.predict_many(X)


def measured(
    make: Callable[[], Any],
    ways: dict[str, Callable[..., None]],
    n: int,
    repeats: int,
    **task: bool,
) -> dict[str, float]:
    """Return the time per row of each way; they take turns."""
    best = dict.fromkeys(ways, float("inf"))
    taught = {name: make() for name in ways}
    for name, way in ways.items():
        if not task["learns"]:
            way(taught[name], answers=False, learns=True)
    for _ in range(repeats):
        for name, way in ways.items():
            model = make() if task["learns"] else taught[name]
            best[name] = min(best[name], microseconds(lambda: way(model, **task), n))  # noqa: B023
    return best


def ways_of(given: dict[str, Frames]) -> dict[str, Callable[..., None]]:
    """Return the loop over dicts, and the frames of each library."""
    first = next(iter(given.values()))
    rows = []
    for X, y in first:
        rows += zip(X.to_dict("records"), y.tolist(), strict=True)
    return {
        "loop": functools.partial(loop, rows),
        **{name: functools.partial(many, each) for name, each in given.items()},
    }


TASKS: dict[str, dict[str, bool]] = {
    "learn_many": {"answers": False, "learns": True},
    "predict_many": {"answers": True, "learns": False},
    "predict_learn_many": {"answers": True, "learns": True},
}


def show_learners(names: list[str], n: int, repeats: int, **parameters: int) -> None:
    """Print a table for each task."""
    for title, task in TASKS.items():
        lines = []
        for name in names:
            regression = issubclass(LEARNERS[name], base.Regressor)
            given = {each: frames(numeric, each, n, regression) for each in LIBRARIES}
            make = functools.partial(LEARNERS[name], seed=1, **parameters)
            times = measured(make, ways_of(given), n, repeats, **task)
            one = times.pop("loop")
            lines.append([name, f"{one:.2f}", *(f"{time / one:.2f}" for time in times.values())])
        tables.show([title, "loop, µs per row", *LIBRARIES], lines)


def show_kinds(name: str, n: int, repeats: int, random_targets: bool, **parameters: int) -> None:
    """Print the times of other columns as multiples of those of numeric ones."""
    lines = []
    regression = issubclass(LEARNERS[name], base.Regressor)
    make = functools.partial(LEARNERS[name], seed=1, **parameters)
    for library in ("pandas", "polars", "pyarrow"):
        times = {
            kind.__name__: measured(
                make,
                {
                    library: functools.partial(
                        many, frames(kind, library, n, regression, random_targets)
                    )
                },
                n,
                repeats,
                answers=True,
                learns=True,
            )[library]
            for kind in (numeric, nominal, dictionary, missing, changing)
        }
        one = times.pop("numeric")
        lines.append([library, f"{one:.2f}", *(f"{time / one:.2f}" for time in times.values())])
    heads = [
        "nominal, 1,000 values",
        "as a dictionary",
        "a tenth missing",
        "other columns in each frame",
    ]
    tables.show([f"predict_learn_many of {name}", "numeric, µs per row", *heads], lines)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("learner", nargs="*", choices=[[], *LEARNERS], help="all by default")
    parser.add_argument("--rows", type=int, default=20_000, help="that each learner reads")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument(
        "--random-targets", action="store_true", help="in the tables of other columns"
    )
    parser.add_argument("--n-models", type=int, help="trees of the forests that are named")
    options = parser.parse_args()
    parameters = {} if options.n_models is None else {"n_models": options.n_models}
    names = options.learner or list(LEARNERS)
    show_learners(names, options.rows, options.repeats, **parameters)
    for name in options.learner or ["StreamDecisionTreeClassifier"]:
        show_kinds(name, options.rows, options.repeats, options.random_targets, **parameters)


if __name__ == "__main__":
    main()
