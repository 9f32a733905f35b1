"""Random sequences of everything that may be done with a learner, beside an oracle.

The machine learns one by one or in frames, is refused items, interrupted, pickled, saved, copied
and asked in between; the oracle only ever learns valid items one by one. After each step the
structures are sound and the oracle agrees: a plain twin to the last bit, a naive algorithm in the
trees, the statistics and the answers. `make machine` takes 100,000 steps per family.
"""

from __future__ import annotations

import copy
import os
import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from river_extra_trees import persistence
from tests.estimators import answers
from tests.oracles import (
    DynamicTree,
    DynamicTreeOfNumbers,
    ForgetfulTree,
    Oracle,
    Row,
    ShrubEnsemble,
    StreamTree,
    Twin,
)

STEPS_PER_RUN = 30
# Steps per family: few in the suite, as many as asked for by `make machine`.
N_STEPS = int(os.environ.get("RIVER_EXTRA_TREES_STEPS") or 480)
MANY = 10_000  # samples: more than a run has

_BATCHES = {"batch_size": 9, "warm_size": 16, "max_retained": 50, "seed": 1}
_FLAT = {"reference": True, "forgetting_factor": 1.0}

FAMILIES: dict[str, dict[str, Callable[[], Oracle]]] = {
    "dynamic": {
        "twin_classifier": lambda: Twin(("DynamicTreeClassifier", 1)),
        "twin_regressor": lambda: Twin(("DynamicTreeRegressor", 3)),
        "trees": lambda: DynamicTree(
            "DynamicTreeClassifier", window=MANY, forgetting_factor=0.97, rejuvenate_every=50
        ),
        "leaf": lambda: DynamicTree(
            "DynamicTreeClassifier", window=8, alpha=0.0, forgetting_factor=0.9, discard="entropy"
        ),
        "trees_of_numbers": lambda: DynamicTreeOfNumbers(
            "DynamicTreeRegressor", leaf="constant", window=MANY, **_FLAT
        ),
        "linear_leaf": lambda: DynamicTreeOfNumbers(
            "DynamicTreeRegressor", leaf="linear", window=8, alpha=0.0, discard="random", **_FLAT
        ),
    },
    "forgetful": {
        "twin_classifier": lambda: Twin(("ForgetfulRandomForestClassifier", 3)),
        "twin_regressor": lambda: Twin(("ForgetfulDecisionTreeRegressor", 2)),
        "tree": lambda: ForgetfulTree(
            "ForgetfulDecisionTreeClassifier", criterion="gini", **_BATCHES
        ),
        "tree_of_numbers": lambda: ForgetfulTree("ForgetfulDecisionTreeRegressor", **_BATCHES),
    },
    "shrubs": {
        "twin_classifier": lambda: Twin(("ShrubEnsembleClassifier", 4)),
        "twin_regressor": lambda: Twin(("ShrubEnsembleRegressor", 1)),
        "shrubs": lambda: ShrubEnsemble(
            "ShrubEnsembleClassifier", n_models=4, window_size=9, step_size=0.311, l2=0.0213
        ),
        "shrubs_of_numbers": lambda: ShrubEnsemble(
            "ShrubEnsembleRegressor", n_models=3, window_size=7, max_depth=3, step_size=0.137
        ),
    },
    "stream": {
        "twin_classifier": lambda: Twin(("StreamDecisionForestClassifier", 3)),
        "twin_regressor": lambda: Twin(("StreamDecisionTreeRegressor", 2)),
        "tree": lambda: StreamTree(
            "StreamDecisionTreeClassifier",
            **{"batch_size": 12, "criterion": "entropy", "min_samples_leaf": 1, "seed": 1},
            leaf_memory=None,
        ),
        "tree_of_numbers": lambda: StreamTree(
            "StreamDecisionTreeRegressor",
            **{"batch_size": 7, "min_samples_leaf": 2, "seed": 1},
            leaf_memory=10.0,
        ),
    },
}


class Interruption(BaseException):
    """What stands for Ctrl-C."""


class Machine(RuleBasedStateMachine):
    """A learner under test and its oracle."""

    new_oracle: Callable[[], Oracle]

    def __init__(self) -> None:
        super().__init__()
        self.oracle = type(self).new_oracle()
        self.model = self.oracle.learner()
        self.folder = tempfile.TemporaryDirectory()
        self.asked: list[Row] = []
        self.target = 1.0 if self.oracle.regression else "low"
        self.sample = st.tuples(self.oracle.samples, self.oracle.targets, self.oracle.weights)

    def teardown(self) -> None:
        self.folder.cleanup()

    @rule(data=st.data())
    def learn(self, data: Any) -> None:
        x, y, w = data.draw(self.sample)
        self.asked = [*self.asked[-3:], x]
        self.model.learn_one(x, y, w=w)
        self.oracle.learn(x, y, w)

    @rule(n=st.integers(1, 40), seed=st.integers(0, 10**6))
    def learn_stretch(self, n: int, seed: int) -> None:
        for x, y in self.oracle.stretch(n, seed):
            self.model.learn_one(x, y)
            self.oracle.learn(x, y, 1.0)

    @rule(data=st.data())
    def learn_many(self, data: Any) -> None:
        samples = data.draw(st.lists(self.sample, min_size=1, max_size=30))
        xs, ys, ws = (list(column) for column in zip(*samples, strict=True))
        rows = [{name: x.get(name) for name in self.oracle.in_frames} for x in xs]
        self.model.learn_many(
            pd.DataFrame(rows, dtype=object), pd.Series(ys, dtype=object), w=pd.Series(ws)
        )
        for x, y, w in zip(rows, ys, ws, strict=True):
            self.oracle.learn(x, y, w)

    @rule(data=st.data(), bad=st.sampled_from(["feature", "target", "weight", "sample"]))
    def refuse(self, data: Any, bad: str) -> None:
        x = data.draw(self.oracle.samples)
        y = None if bad == "target" else self.target
        sample: Any = {**x, "new": 1.0}
        if bad == "feature":
            sample["worse"] = float("inf")
        elif bad == "sample":
            sample = list(sample)
        with pytest.raises((TypeError, ValueError)):
            self.model.learn_one(sample, y, w=-1 if bad == "weight" else 1)

    @rule(data=st.data())
    def interrupt(self, data: Any) -> None:
        """An interruption in the sample's own code, the last bytecode before the core."""

        class Loud:
            def __float__(self) -> float:
                raise Interruption

        x = data.draw(self.oracle.samples)
        with pytest.raises(Interruption):
            self.model.learn_one({**x, "new": "thing", "zzz": Loud()}, self.target)

    @rule()
    def pickle(self) -> None:
        self.model = pickle.loads(pickle.dumps(self.model))

    @rule()
    def save_and_load(self) -> None:
        path = Path(self.folder.name) / "model"
        persistence.save(self.model, path)
        self.model = persistence.load(path)

    @rule()
    def deepcopy(self) -> None:
        self.model = copy.deepcopy(self.model)

    @precondition(lambda self: len(self.asked) > 3)
    @rule()
    def clone(self) -> None:
        empty = [({}, None)]
        assert answers(self.model.clone(), empty) == answers(self.oracle.learner(), empty)

    @invariant()
    def same(self) -> None:
        self.model._state()["core"].check()
        self.oracle.assert_agrees(self.model, self.asked)


@pytest.mark.parametrize(
    ("family", "oracle"),
    [(family, name) for family, oracles in FAMILIES.items() for name in oracles],
)
def test_machine(family: str, oracle: str) -> None:
    """Whatever happens to a learner, it is one to which only the samples happened."""
    new_oracle = staticmethod(FAMILIES[family][oracle])
    kind = type(f"Machine of {oracle} in {family}", (Machine,), {"new_oracle": new_oracle})
    n_runs = N_STEPS // STEPS_PER_RUN // len(FAMILIES[family])
    test = kind.TestCase
    test.settings = settings(
        max_examples=max(1, n_runs),
        stateful_step_count=STEPS_PER_RUN,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    test().runTest()
