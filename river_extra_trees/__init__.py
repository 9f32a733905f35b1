"""Streaming tree learners for river.

**Extra trees** (`ExtraTreesClassifier`, `ExtraTreesRegressor`) are the first choice: extremely
randomised trees, regrown in turn on windows of several sizes, whose weights are learned.

**Stream decision trees and forests** (`StreamDecisionTreeClassifier`,
`StreamDecisionTreeRegressor`, `StreamDecisionForestClassifier`, `StreamDecisionForestRegressor`)
are CART trees that keep growing with each batch of samples (Xu, Dey, Panda and Vogelstein 2022).

**Dynamic trees** (`DynamicTreeClassifier`, `DynamicTreeRegressor`) are a particle filter over
Bayesian trees, which each sample can grow or prune. They predict whole distributions, and the
priors of the leaves keep the statistics of retired samples (Anagnostopoulos and Gramacy 2013).

**Forgetful decision trees and forests** (`ForgetfulDecisionTreeClassifier`,
`ForgetfulDecisionTreeRegressor`, `ForgetfulRandomForestClassifier`,
`ForgetfulRandomForestRegressor`) are CART trees on the newest samples. The accuracy of a tree
decides how many samples it retains (Yuan, Sun and Shasha 2023).

**Shrub ensembles** (`ShrubEnsembleClassifier`, `ShrubEnsembleRegressor`) train a small tree on a
sliding window with every sample, and learn the weights of the best trees by proximal gradient
descent (Buschjaeger, Hess and Morik 2022).

`ColumnKinds` stands in front of a learner and reads the values of each column by its kind, so that
files, requests, frames and dicts get the same answers.

`Watch` is a wrapper of a model that raises an `Alarm` when its losses or its inputs change, at a
stated rate of false alarms.

`explain_one` of every learner divides a prediction among the features (`Explanation`).

Every learner is a river classifier or regressor: `learn_one`, `predict_one`, pipelines, metrics,
drift detectors and `evaluate.progressive_val_score` work as with river's own models.
"""

from __future__ import annotations

import importlib
from importlib import metadata, util
from typing import Any

if util.find_spec("river_extra_trees._core.learner") is None:
    raise ImportError(
        f"{__path__[0]} is a source tree that is not compiled for this Python.\n"
        "To use the tree: run `make build` in it, then .venv/bin/python.\n"
        "To use an installed river_extra_trees: start Python in another folder."
    )

from .column_kinds import ColumnKinds
from .dynamic_tree import DynamicTreeClassifier, DynamicTreeRegressor
from .explanation import Explanation
from .extra_trees import ExtraTreesClassifier, ExtraTreesRegressor
from .forgetful_forest import (
    ForgetfulDecisionTreeClassifier,
    ForgetfulDecisionTreeRegressor,
    ForgetfulRandomForestClassifier,
    ForgetfulRandomForestRegressor,
)
from .shrub_ensemble import ShrubEnsembleClassifier, ShrubEnsembleRegressor
from .stream_forest import StreamDecisionForestClassifier, StreamDecisionForestRegressor
from .stream_tree import StreamDecisionTreeClassifier, StreamDecisionTreeRegressor
from .watch import Alarm, Watch

try:
    __version__ = metadata.version("river-extra-trees")
except metadata.PackageNotFoundError:  # imported from a source tree that is not installed
    __version__ = "0+unknown"

__all__ = [
    "Alarm",
    "ColumnKinds",
    "DynamicTreeClassifier",
    "DynamicTreeRegressor",
    "Explanation",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "ForgetfulDecisionTreeClassifier",
    "ForgetfulDecisionTreeRegressor",
    "ForgetfulRandomForestClassifier",
    "ForgetfulRandomForestRegressor",
    "ShrubEnsembleClassifier",
    "ShrubEnsembleRegressor",
    "StreamDecisionForestClassifier",
    "StreamDecisionForestRegressor",
    "StreamDecisionTreeClassifier",
    "StreamDecisionTreeRegressor",
    "Watch",
]

ROOMS = (
    *("active", "cli", "distributed", "evaluate", "keyed", "persistence", "plotting", "serving"),
    "streams",
)


def __getattr__(name: str) -> Any:
    """Import a submodule when it is first used, because most take long to import."""
    if name in ROOMS:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return what users need."""
    return [*__all__, *ROOMS, "__version__"]
