"""Models and metrics from what the user types: ``Name`` or ``Name:key=value,key=value``.

Steps of a pipeline are joined by ``|``. ``DynamicTree`` means `DynamicTreeClassifier` or
`DynamicTreeRegressor`, whichever the task asks for.
"""

from __future__ import annotations

import ast
import difflib
import importlib
import inspect
import pkgutil
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import river
from river import base, compose

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
OTHER: Mapping[Task, Task] = {"classification": "regression", "regression": "classification"}
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
        A class of this package or of river, or the dotted name of any class, with parameters;
        before it, transformers of river.
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
    *first, last = spec.split("|")
    name, parameters = parse(last.strip())
    model_class = _find_learner(name, task)
    if "seed" in inspect.signature(model_class).parameters:
        parameters.setdefault("seed", seed)
    model: base.Estimator = _make(name, model_class, parameters)
    return compose.Pipeline(*map(_make_transformer, first), model) if first else model


def _make_transformer(spec: str) -> base.Transformer:
    """Create a step of a pipeline."""
    name, parameters = parse(spec.strip())
    known = short_names(base.Transformer)
    if name not in known:
        raise UserError(f"there is no transformer {name!r}{_meant(name, known)}")
    transformer: base.Transformer = _make(name, known[name], parameters)
    return transformer


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
        raise UserError(f"there is no metric {name!r}{_meant(name, known)}")
    metric: metrics.base.Metric = _make(name, getattr(metrics, name), parameters)
    if not _is_single_number(metric):
        raise UserError(f"the metric {name} does not give a single number")
    if not metric.works_with(model):
        raise UserError(f"the metric {name} cannot score {type(model).__name__}")
    return metric


def single_numbers() -> dict[str, type[metrics.base.Metric]]:
    """Return river's metrics that are single numbers and can be made without parameters."""
    from river import metrics

    found = {}
    for name, kind in _classes(metrics, metrics.base.Metric).items():
        try:
            metric = kind()
        except TypeError:
            continue
        if _is_single_number(metric):
            found[name] = kind
    return found


def _is_single_number(metric: metrics.base.Metric) -> bool:
    try:
        float(metric.get())
    except (NotImplementedError, TypeError, ValueError):
        return False
    return True


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


def _find_learner(name: str, task: Task) -> type[base.Estimator]:
    """Return the class of a short name (this package first) or of a dotted one."""
    found = _dotted(name) if "." in name else _named(name, task)
    if not issubclass(found, KINDS[task]):
        raise UserError(f"{name} is not a learner for {task}")
    return found


def _dotted(name: str) -> type[base.Estimator]:
    module_name, _, class_name = name.rpartition(".")
    for path in (f"river.{module_name}", module_name):
        try:
            found = getattr(importlib.import_module(path), class_name, None)
        except ImportError:
            continue
        if inspect.isclass(found) and issubclass(found, base.Estimator):
            return found
    raise UserError(f"there is no learner {name!r}")


def _named(name: str, task: Task) -> type[base.Estimator]:
    known = short_names((base.Classifier, base.Regressor))
    fitting = {each: made for each, made in known.items() if issubclass(made, KINDS[task])}
    suffix, other = SUFFIXES[task], SUFFIXES[OTHER[task]]
    found = fitting.get(name) or fitting.get(name + suffix)
    if found is not None:
        return found
    if name in known:
        twin = name.removesuffix(other) + suffix
        meant = f"did you mean {twin}, or" if twin in fitting else "did you mean"
        raise UserError(f"{name} is not a learner for {task}; {meant} --task {OTHER[task]}?")
    stems = (each.removesuffix(suffix) for each in fitting)
    raise UserError(f"there is no learner {name!r}{_meant(name, fitting) or _meant(name, stems)}")


def short_names(kind: type | tuple[type, ...]) -> dict[str, type[base.Estimator]]:
    """Return every class of river and of this package that is of a kind, by its name."""
    found = {}
    for entry in pkgutil.iter_modules(river.__path__):
        module = importlib.import_module(f"river.{entry.name}")
        found.update(_classes(module, kind))
    found.update(_classes(river_extra_trees, kind))
    return found


def _classes(module: Any, kind: type | tuple[type, ...]) -> dict[str, Any]:
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


def _meant(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]}?" if close else ""
