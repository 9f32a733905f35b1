"""Models and metrics from what the user types: ``Name`` or ``Name:key=value,key=value``.

``DynamicTree`` means `DynamicTreeClassifier` or `DynamicTreeRegressor`, whichever the task asks
for.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import river
from river import base

import river_extra_trees
from river_extra_trees.cli import UserError
from river_extra_trees.cli.streams import Task

if TYPE_CHECKING:  # importing it takes over a second, which most commands need not wait
    from river import metrics

KINDS: Mapping[Task, type[base.Estimator]] = {
    "classification": base.Classifier,
    "regression": base.Regressor,
}
SUFFIXES: Mapping[Task, str] = {"classification": "Classifier", "regression": "Regressor"}
# River's usual trees, and the simplest predictor as a baseline.
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
        A class of this package or of river, or the dotted name of any class, with parameters.
    task
        The task of the model.
    seed
        Seed for a model that takes one, unless the specification has its own.

    Examples
    --------
    >>> from river_extra_trees.cli import learners
    >>> learners.make_learner("HoeffdingTreeClassifier:max_depth=3", "classification", 1).max_depth
    3

    """
    name, parameters = parse(spec)
    found = _dotted(name) if "." in name else _named(name, task)
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


def _dotted(name: str) -> Any:
    """Return the class of a dotted name, below `river` or as it is; None if there is none."""
    module_name, _, class_name = name.rpartition(".")
    for path in (f"river.{module_name}", module_name):
        try:
            found = getattr(importlib.import_module(path), class_name, None)
        except (ImportError, TypeError, ValueError):  # the others for a name that begins with a dot
            continue
        if inspect.isclass(found):
            return found
    return None


def _named(name: str, task: Task) -> Any:
    """Return a class of this package or of river by its name, which may lack the task."""
    known: dict[str, Any] = {}
    for entry in pkgutil.iter_modules(river.__path__):
        module = importlib.import_module(f"river.{entry.name}")
        known |= _classes(module, base.Estimator)
    known |= _classes(river_extra_trees, base.Estimator)
    return known.get(name) or known.get(name + SUFFIXES[task])


def _classes(module: Any, kind: type) -> dict[str, Any]:
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
    except Exception as error:  # a learner of any origin may raise anything
        text = " ".join(str(error).split())
        raise UserError(f"cannot create {name}: {text or type(error).__name__}") from error
