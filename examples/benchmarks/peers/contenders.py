"""The learners to compare: ours, river's, CapyMOA's and LightGBM, with their default parameters.

River's learners that take only numbers get one column per nominal value; nearest neighbours also
get scaled features. CapyMOA's learners run in an interpreter of their own.
"""

from __future__ import annotations

import importlib.metadata
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

from river import base, compose, dummy, ensemble, forest, neighbors, preprocessing, stats, tree

import river_extra_trees
from examples.benchmarks.common import prequential
from examples.benchmarks.common.prequential import Run
from examples.benchmarks.common.streams import Rows
from examples.benchmarks.peers import capymoa_process
from examples.benchmarks.peers.boosting import WindowLightGBM
from river_extra_trees.cli import UserError, learners
from river_extra_trees.cli.streams import Task

Make = Callable[[], Any]

# Fast ones first: what is not finished in time is then missing for the fewest learners.
RIVER: dict[Task, dict[str, Make]] = {
    "classification": {
        "no change": dummy.NoChangeClassifier,
        "river HoeffdingTreeClassifier": tree.HoeffdingTreeClassifier,
        "river HoeffdingAdaptiveTreeClassifier": lambda: tree.HoeffdingAdaptiveTreeClassifier(
            seed=1
        ),
        "river AMFClassifier": lambda: forest.AMFClassifier(seed=1),
        "river ARFClassifier": lambda: forest.ARFClassifier(seed=1),
        "river KNNClassifier": lambda: neighbors.KNNClassifier(engine=neighbors.SWINN(seed=1)),
        "river SRPClassifier": lambda: ensemble.SRPClassifier(seed=1),
    },
    "regression": {
        "running mean": lambda: dummy.StatisticRegressor(stats.Mean()),
        "river HoeffdingTreeRegressor": tree.HoeffdingTreeRegressor,
        "river HoeffdingAdaptiveTreeRegressor": lambda: tree.HoeffdingAdaptiveTreeRegressor(seed=1),
        "river AMFRegressor": lambda: forest.AMFRegressor(seed=1),
        "river ARFRegressor": lambda: forest.ARFRegressor(seed=1),
        "river KNNRegressor": lambda: neighbors.KNNRegressor(engine=neighbors.SWINN(seed=1)),
        "river SRPRegressor": lambda: ensemble.SRPRegressor(seed=1),
    },
}
# Label -> name of the class.
CAPYMOA: dict[Task, dict[str, str]] = {
    "classification": {
        "CapyMOA LeveragingBagging": "LeveragingBagging",
        "CapyMOA SAMkNN": "SAMkNN",
        "CapyMOA ARF": "AdaptiveRandomForestClassifier",
        "CapyMOA SRP": "StreamingRandomPatches",
        "CapyMOA SGBT": "StreamingGradientBoostedTrees",
    },
    "regression": {
        "CapyMOA ARF": "AdaptiveRandomForestRegressor",
        "CapyMOA SGBR": "StreamingGradientBoostedRegression",
        "CapyMOA SOKNL": "SOKNL",
    },
}
LIGHTGBM = "LightGBM, every 500"
NUMBERS_ONLY = (
    forest.AMFClassifier,
    forest.AMFRegressor,
    forest.ARFRegressor,
    ensemble.SRPRegressor,
    tree.HoeffdingTreeRegressor,
)
NEIGHBORS = (neighbors.KNNClassifier, neighbors.KNNRegressor)


def ours(task: Task) -> list[str]:
    """Return the names of our learners for a task."""
    return [n for n in learners.usual_learners(task) if hasattr(river_extra_trees, n)]


def named(names: list[str], task: Task) -> list[str]:
    """Return the learners asked for; a name of a kind stands for all learners of that kind."""
    kinds = {
        "ours": ours(task),
        "river": list(RIVER[task]),
        "lightgbm": [LIGHTGBM],
        "capymoa": list(CAPYMOA[task]),
    }
    found = [each for name in names for each in kinds.get(name, [name])]
    for name in found:
        if library(name, task) == "river-extra-trees":
            learners.make_learner(name, task, seed=1)  # complain now rather than in an hour
    return found


def library(name: str, task: Task) -> str:
    """Return the distribution that a learner comes from."""
    if name in CAPYMOA[task]:
        return "capymoa"
    if name == LIGHTGBM:
        return "lightgbm"
    return "river" if name in RIVER[task] else "river-extra-trees"


def checkpoints(
    name: str, rows: Rows, task: Task, most_seconds: float, capymoa: str | None, delay: int = 0
) -> Iterator[Run]:
    """Run a contender over rows; `capymoa` is the interpreter that has CapyMOA."""
    if name in CAPYMOA[task]:
        if delay:
            raise UserError("CapyMOA's learners are not run with late labels")
        learner, python = CAPYMOA[task][name], interpreter(capymoa)
        return capymoa_process.checkpoints(learner, rows, task, most_seconds, python)
    return prequential.checkpoints(make(name, rows, task), rows, task, most_seconds, delay)


def interpreter(capymoa: str | None) -> str:
    """Return the interpreter that has CapyMOA."""
    if capymoa is None:
        raise UserError("name the Python that has CapyMOA with --capymoa-python")
    return capymoa


def make(name: str, rows: Rows, task: Task) -> Any:
    """Return a new model that can learn these rows."""
    if name == LIGHTGBM:
        return WindowLightGBM(rows, task)
    if name in RIVER[task]:
        return fed(RIVER[task][name](), rows)
    return learners.make_learner(name, task, seed=1)


def fed(model: base.Estimator, rows: Rows) -> base.Estimator:
    """Put before a learner what it cannot do without."""
    nominal = any(isinstance(value, str) for x, _ in rows for value in x.values())
    if isinstance(model, NEIGHBORS):
        model = preprocessing.StandardScaler() | model
    elif not isinstance(model, NUMBERS_ONLY):
        return model
    if not nominal:
        return model
    numbers = compose.SelectType((bool, int, float))
    return (compose.SelectType(str) | preprocessing.OneHotEncoder()) + numbers | model


def version(name: str, task: Task, capymoa: str | None) -> str:
    """Return the version of the library that a learner comes from."""
    own = library(name, task)
    if own == "capymoa":
        code = "import importlib.metadata as m; print(m.version('capymoa'))"
        done = subprocess.run([interpreter(capymoa), "-c", code], capture_output=True, text=True)
        return done.stdout.strip()
    try:
        return importlib.metadata.version(own)
    except importlib.metadata.PackageNotFoundError:  # built in place, and not installed
        return "development"
