"""Models from their specifications: ``Name`` or ``Name:key=value,key=value``.

``DynamicTree`` is `DynamicTreeClassifier` or `DynamicTreeRegressor`, according to the task.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import itertools
import pkgutil
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import river
from river import base

import river_extra_trees
from river_extra_trees._estimator.fit import near
from river_extra_trees.cli import UserError
from river_extra_trees.cli.streams import Task

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


def usual_learners(task: Task, imbalanced: bool = False) -> list[str]:
    """Return the learners of this package for the task, the default first, and river's trees.

    If most labels are equal, the learner that always predicts it is among them.
    """
    default = f"ExtraTrees{SUFFIXES[task]}"
    others = (name for name in classes_in(river_extra_trees, KINDS[task]) if name != default)
    return [default, *others, *YARDSTICKS[task], *["PriorClassifier"] * imbalanced]


def usual_metrics(task: Task, specs: Collection[str], by_loss: bool) -> list[str]:
    """Return the metrics of a race; by the loss only if all learners predict probabilities."""
    usual = USUAL_METRICS[task]
    if not by_loss:
        return usual
    made = (_class_of(parse(spec)[0], task) for spec in specs)
    no_method = base.Classifier.predict_proba_one
    has_shares = all(
        getattr(each, "predict_proba_one", no_method) is not no_method for each in made
    )
    return ["LogLoss", *usual] if has_shares else usual


def make_learner(spec: str, task: Task, seed: int) -> base.Estimator:
    """Create a model from its specification.

    Parameters
    ----------
    spec
        The name of a class of this package or of river, or the dotted name of any other, with
        parameters.
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
        known = [each for module in _modules() for each in classes_in(module, KINDS[task])]
        bare = [each.removesuffix(SUFFIXES[task]) for each in known]
        ours = classes_in(river_extra_trees, KINDS[task])
        raise UserError(f"there is no learner {name!r}{near(name, [*known, *bare], ours)}")
    if not issubclass(found, KINDS[task]):
        raise UserError(f"{name} is not a learner for {task}; --task sets the task")
    if "seed" in inspect.signature(found).parameters:
        parameters.setdefault("seed", seed)
    model: base.Estimator = created(name, found, parameters)
    return model


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
        raise UserError(
            f"cannot read {spec!r}; write it as Name:key=value,key=value, with quotation marks "
            "around a text that is no word"
        ) from error


def _value(node: ast.expr) -> Any:
    return node.id if isinstance(node, ast.Name) else ast.literal_eval(node)


def _class_of(name: str, task: Task) -> Any:
    """Return a class of this package or of river; its name may omit the suffix of the task.

    The dotted name of a class finds it in any package.
    """
    if "." in name:
        try:
            found = pkgutil.resolve_name(name)
        except (ImportError, AttributeError, ValueError) as error:
            raise UserError(f"there is no learner {name!r}: {error}") from error
        return found if inspect.isclass(found) else None
    for module in _modules():
        known = classes_in(module, base.Estimator)
        if found := known.get(name) or known.get(name + SUFFIXES[task]):
            return found
    return None


def _modules() -> Iterator[Any]:
    """Yield this package and the modules of river."""
    of_river = (f"river.{entry.name}" for entry in pkgutil.iter_modules(river.__path__))
    return map(importlib.import_module, itertools.chain(["river_extra_trees"], of_river))


def classes_in(module: Any, kind: type) -> dict[str, Any]:
    """Return the public classes of a module that are of a kind and can be created."""
    public = {name: getattr(module, name, None) for name in getattr(module, "__all__", ())}
    return {
        name: value
        for name, value in public.items()
        if inspect.isclass(value) and issubclass(value, kind) and not inspect.isabstract(value)
    }


def created(name: str, made: type, parameters: dict[str, Any]) -> Any:
    """Create an object; raise a UserError if its class does not accept the parameters."""
    accepted = inspect.signature(made).parameters
    for parameter in parameters:
        if parameter not in accepted:
            raise UserError(f"{name} has no parameter {parameter!r}{near(parameter, accepted)}")
    try:
        return made(**parameters)
    except Exception as error:  # a learner of river may raise anything
        text = " ".join(str(error).split())
        raise UserError(f"cannot create {name}: {text or type(error).__name__}") from error
