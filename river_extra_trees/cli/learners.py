"""Models and metrics from their specifications: ``Name`` or ``Name:key=value,key=value``.

``DynamicTree`` is `DynamicTreeClassifier` or `DynamicTreeRegressor`, according to the task.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import itertools
import pkgutil
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import river
from river import base

import river_extra_trees
from river_extra_trees.cli import UserError
from river_extra_trees.cli.streams import Task

if TYPE_CHECKING:  # importing it takes over a second, and most commands do not need it
    from river import metrics

KINDS: Mapping[Task, type[base.Estimator]] = {
    "classification": base.Classifier,
    "regression": base.Regressor,
}
SUFFIXES: Mapping[Task, str] = {"classification": "Classifier", "regression": "Regressor"}
# River's usual trees, and the simplest classifier as a baseline.
YARDSTICKS: Mapping[Task, list[str]] = {
    "classification": ["NoChangeClassifier", "HoeffdingTreeClassifier", "ARFClassifier"],
    "regression": ["HoeffdingTreeRegressor", "ARFRegressor"],
}
USUAL_METRICS: Mapping[Task, list[str]] = {
    "classification": ["Accuracy", "MacroF1"],
    "regression": ["MAE", "R2"],
}


def usual_learners(task: Task) -> list[str]:
    """Return the learners of this package for the task, the default first, and river's trees."""
    default = f"ExtraTrees{SUFFIXES[task]}"
    others = (name for name in _classes(river_extra_trees, KINDS[task]) if name != default)
    return [default, *others, *YARDSTICKS[task]]


def make_learner(spec: str, task: Task, seed: int) -> base.Estimator:
    """Create a model from its specification.

    Parameters
    ----------
    spec
        The name of a class of this package or of river, with parameters.
    task
        The task of the model.
    seed
        Seed of a model that has a seed, unless the specification sets it.

    Examples
    --------
    >>> from river_extra_trees.cli import learners
    >>> learners.make_learner("HoeffdingTreeClassifier:max_depth=3", "classification", 1).max_depth
    3

    """
    name, parameters = parse(spec)
    found = _class_of(name, task)
    if found is None:
        known = ", ".join(_classes(river_extra_trees, KINDS[task]))
        raise UserError(f"there is no learner {name!r}; this package has {known}")
    if not issubclass(found, KINDS[task]):
        raise UserError(f"{name} is not a learner for {task}; --task sets the task")
    if "seed" in inspect.signature(found).parameters:
        parameters.setdefault("seed", seed)
    model: base.Estimator = _make(name, found, parameters)
    return model


def make_metric(spec: str, model: base.Estimator) -> metrics.base.Metric:
    """Create a metric from river's name, if it can score the model with one number.

    Examples
    --------
    >>> from river import dummy
    >>> from river_extra_trees.cli import learners
    >>> learners.make_metric("FBeta:beta=2", dummy.NoChangeClassifier())
    FBeta: 0.00%

    """
    from river import metrics

    name, parameters = parse(spec)
    known = _classes(metrics, metrics.base.Metric)
    if name not in known:
        raise UserError(f"there is no metric {name!r}; river has {', '.join(known)}")
    metric: metrics.base.Metric = _make(name, known[name], parameters)
    try:
        float(metric.get())
    except (NotImplementedError, TypeError, ValueError):
        raise UserError(f"the metric {name} does not give a single number") from None
    if not metric.works_with(model):
        raise UserError(f"the metric {name} cannot score {type(model).__name__}")
    return metric


def parse(spec: str) -> tuple[str, dict[str, Any]]:
    """Split ``Name:key=value,key=value``; a bare word as a value is a string.

    Examples
    --------
    >>> from river_extra_trees.cli import learners
    >>> learners.parse("Tree:max_depth=3,leaf=linear,rate=None")
    ('Tree', {'max_depth': 3, 'leaf': 'linear', 'rate': None})

    """
    name, _, arguments = spec.partition(":")
    try:
        call = ast.parse(f"f({arguments})", mode="eval").body
        if not isinstance(call, ast.Call) or call.args:
            raise ValueError
        return name, {str(keyword.arg): _value(keyword.value) for keyword in call.keywords}
    except (SyntaxError, ValueError) as error:
        raise UserError(f"cannot read {spec!r}; write it as Name:key=value,key=value") from error


def _value(node: ast.expr) -> Any:
    return node.id if isinstance(node, ast.Name) else ast.literal_eval(node)


def _class_of(name: str, task: Task) -> Any:
    """Return a class of this package or of river; its name may omit the suffix of the task."""
    of_river = (f"river.{entry.name}" for entry in pkgutil.iter_modules(river.__path__))
    for module in itertools.chain(["river_extra_trees"], of_river):
        known = _classes(importlib.import_module(module), base.Estimator)
        if found := known.get(name) or known.get(name + SUFFIXES[task]):
            return found
    return None


def _classes(module: Any, kind: type) -> dict[str, Any]:
    """Return the public classes of a module that are of a kind and can be created."""
    public = {name: getattr(module, name, None) for name in getattr(module, "__all__", ())}
    return {
        name: value
        for name, value in public.items()
        if inspect.isclass(value) and issubclass(value, kind) and not inspect.isabstract(value)
    }


def _make(name: str, made: type, parameters: dict[str, Any]) -> Any:
    accepted = inspect.signature(made).parameters
    for parameter in parameters:
        if parameter not in accepted:
            raise UserError(f"{name} has no parameter {parameter!r}; it has {', '.join(accepted)}")
    try:
        return made(**parameters)
    except Exception as error:  # a learner of river may raise anything
        text = " ".join(str(error).split())
        raise UserError(f"cannot create {name}: {text or type(error).__name__}") from error
