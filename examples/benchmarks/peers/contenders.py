"""The learners to compare: ours, river's and CapyMOA's, all with their default parameters.

River's learners that take only numbers get one column per nominal value; nearest neighbours also
get scaled features. CapyMOA's learners run in an interpreter of their own.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from river import base, compose, dummy, ensemble, forest, neighbors, preprocessing, stats, tree

import river_extra_trees
from examples.benchmarks.common import prequential
from examples.benchmarks.common.prequential import Run
from examples.benchmarks.common.streams import Rows
from examples.benchmarks.peers import arff
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
        "river ExtremelyFastDecisionTreeClassifier": tree.ExtremelyFastDecisionTreeClassifier,
        "river KNNClassifier": lambda: neighbors.KNNClassifier(engine=neighbors.SWINN(seed=1)),
        "river LeveragingBaggingClassifier": lambda: ensemble.LeveragingBaggingClassifier(
            tree.HoeffdingTreeClassifier(), seed=1
        ),
        "river SRPClassifier": lambda: ensemble.SRPClassifier(seed=1),
    },
    "regression": {
        "running mean": lambda: dummy.StatisticRegressor(stats.Mean()),
        "river HoeffdingTreeRegressor": tree.HoeffdingTreeRegressor,
        "river HoeffdingAdaptiveTreeRegressor": lambda: tree.HoeffdingAdaptiveTreeRegressor(seed=1),
        "river AMFRegressor": lambda: forest.AMFRegressor(seed=1),
        "river OXTRegressor": lambda: forest.OXTRegressor(seed=1),
        "river ARFRegressor": lambda: forest.ARFRegressor(seed=1),
        "river KNNRegressor": lambda: neighbors.KNNRegressor(engine=neighbors.SWINN(seed=1)),
        "river SRPRegressor": lambda: ensemble.SRPRegressor(seed=1),
    },
}
# Label -> name of the class, of those that CapyMOA has.
CAPYMOA: dict[Task, dict[str, str]] = {
    "classification": {
        "CapyMOA ARF": "AdaptiveRandomForestClassifier",
        "CapyMOA SGBT": "StreamingGradientBoostedTrees",
        "CapyMOA Shrubs": "ShrubsClassifier",
        "CapyMOA SRP": "StreamingRandomPatches",
    },
    "regression": {
        "CapyMOA ARF": "AdaptiveRandomForestRegressor",
        "CapyMOA SGBR": "StreamingGradientBoostedRegression",
        "CapyMOA SOKNL": "SOKNL",
        "CapyMOA Shrubs": "ShrubsRegressor",
    },
}
NUMBERS_ONLY = (
    forest.AMFClassifier,
    forest.AMFRegressor,
    forest.OXTRegressor,
    forest.ARFRegressor,
    ensemble.SRPRegressor,
    tree.HoeffdingTreeRegressor,
)
NEIGHBORS = (neighbors.KNNClassifier, neighbors.KNNRegressor)


def ours(task: Task) -> list[str]:
    """Return the names of our learners for a task."""
    return [n for n in learners.usual_learners(task) if hasattr(river_extra_trees, n)]


def named(names: list[str], task: Task) -> list[str]:
    """Return the learners asked for; "ours", "river" and "capymoa" stand for all of a kind."""
    kinds = {"ours": ours(task), "river": list(RIVER[task]), "capymoa": list(CAPYMOA[task])}
    found = [each for name in names for each in kinds.get(name, [name])]
    for name in found:
        if name not in RIVER[task] and name not in CAPYMOA[task]:
            learners.make_learner(name, task, seed=1)  # complain now rather than in an hour
    return found


def library(name: str, task: Task) -> str:
    """Return the distribution that a learner comes from."""
    if name in CAPYMOA[task]:
        return "capymoa"
    return "river" if name in RIVER[task] else "river-extra-trees"


def run(name: str, rows: Rows, task: Task, most_seconds: float, capymoa: str | None) -> Run:
    """Run a contender over rows; `capymoa` is the interpreter that has CapyMOA."""
    if name in CAPYMOA[task]:
        if capymoa is None:
            raise UserError("name the Python that has CapyMOA with --capymoa-python")
        return run_capymoa(CAPYMOA[task][name], rows, task, capymoa)
    if name in RIVER[task]:
        model = fed(RIVER[task][name](), rows)
    else:
        model = learners.make_learner(name, task, seed=1)
    return prequential.run(model, rows, task, most_seconds)


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


def run_capymoa(learner: str, rows: Rows, task: Task, python: str) -> Run:
    """Run a learner of CapyMOA in the interpreter that has it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stream.arff"
        labels = arff.write(path, rows, task)
        script = Path(__file__).with_name("capymoa_run.py")
        done = subprocess.run(
            [python, str(script), learner, task, str(path)],
            capture_output=True,
            text=True,
            env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
        )
    if done.returncode:
        raise UserError(f"{learner} of CapyMOA ended with: {done.stderr.strip()[-500:]}")
    found = json.loads(done.stdout.splitlines()[-1])
    answers = found["answers"]
    if task == "classification":
        answers = [None if i is None else labels[i] for i in answers]
    scores = prequential.Scores(task)
    scores.update((y for _, y in rows), answers)
    return Run(len(answers), *scores.get(), found["seconds"], found["memory"], found["error"])


def version(name: str, task: Task, capymoa: str | None) -> str:
    """Return the version of the library that a learner comes from."""
    own = library(name, task)
    if own == "capymoa":
        code = "import importlib.metadata as m; print(m.version('capymoa'))"
        done = subprocess.run([str(capymoa), "-c", code], capture_output=True, text=True)
        return done.stdout.strip()
    try:
        return importlib.metadata.version(own)
    except importlib.metadata.PackageNotFoundError:  # built in place, and not installed
        return "development"
