"""Random sequences of everything that may be done with a learner, in step with a plain twin.

The machine learns one by one or in frames, is refused items, interrupted, pickled, copied and asked
in between; the twin only ever learns valid items one by one. After each step the structures are
sound, and both answer alike to the last bit. `make machine` takes 100,000 steps per family.
"""

from __future__ import annotations

import copy
import os
import pickle
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tests.estimators import answers, is_classifier, make

STEPS_PER_RUN = 30
# Steps per family: few in the suite, as many as asked for by `make machine`.
N_STEPS = int(os.environ.get("RIVER_EXTRA_TREES_STEPS") or 120)

FAMILIES = {
    "dynamic": [("DynamicTreeClassifier", 1), ("DynamicTreeRegressor", 3)],
    "forgetful": [("ForgetfulRandomForestClassifier", 3), ("ForgetfulDecisionTreeRegressor", 2)],
    "shrubs": [("ShrubEnsembleClassifier", 4), ("ShrubEnsembleRegressor", 1)],
    "stream": [("StreamDecisionForestClassifier", 3), ("StreamDecisionTreeRegressor", 2)],
}

VALUES = (
    st.floats(-10, 10)
    | st.integers(-3, 3)
    | st.booleans()
    | st.none()
    | st.sampled_from(["red", "green", "blue"])
)
SAMPLES = st.dictionaries(st.sampled_from(["a", "b", "c", "d", 7, ("e", 1)]), VALUES, max_size=6)
LABELS = st.sampled_from(["low", "high", "middle", 1, 2.5])
NUMBERS = st.floats(-100, 100)


class Interruption(BaseException):
    """What stands for Ctrl-C."""


class Machine(RuleBasedStateMachine):
    """A learner under test and its twin."""

    case: tuple[str, int]

    def __init__(self) -> None:
        super().__init__()
        self.model, self.twin = make(self.case), make(self.case)
        self.targets = LABELS if is_classifier(self.case) else NUMBERS
        self.asked: list[dict[Any, Any]] = [{}]

    @rule(data=st.data(), x=SAMPLES, w=st.sampled_from([1.0, 1.0, 1.0, 0.0, 0.5, 3]))
    def learn(self, data: Any, x: dict[Any, Any], w: float) -> None:
        y = data.draw(self.targets)
        self.asked = [*self.asked[-3:], x]
        self.model.learn_one(x, y, w=w)
        self.twin.learn_one(x, y, w=w)

    @rule(data=st.data(), xs=st.lists(SAMPLES, min_size=1, max_size=30))
    def learn_many(self, data: Any, xs: list[dict[Any, Any]]) -> None:
        rows = [{name: x.get(name) for name in ("a", "b", "c", "d")} for x in xs]
        ys = [data.draw(self.targets) for _ in rows]
        frame = pd.DataFrame(rows, dtype=object)
        self.model.learn_many(frame, pd.Series(ys, dtype=object))
        for x, y in zip(rows, ys, strict=True):
            self.twin.learn_one(x, y)

    @rule(x=SAMPLES, bad=st.sampled_from(["feature", "target", "weight", "sample"]))
    def refuse(self, x: dict[Any, Any], bad: str) -> None:
        y = None if bad == "target" else "low" if is_classifier(self.case) else 1.0
        sample: Any = {**x, "new": 1.0}
        if bad == "feature":
            sample["worse"] = float("inf")
        elif bad == "sample":
            sample = list(sample)
        with pytest.raises((TypeError, ValueError)):
            self.model.learn_one(sample, y, w=-1 if bad == "weight" else 1)

    @rule(x=SAMPLES)
    def interrupt(self, x: dict[Any, Any]) -> None:
        """An interruption in the sample's own code, the last bytecode before the core."""

        class Loud:
            def __float__(self) -> float:
                raise Interruption

        y = "low" if is_classifier(self.case) else 1.0
        with pytest.raises(Interruption):
            self.model.learn_one({**x, "new": "thing", "zzz": Loud()}, y)

    @rule()
    def pickle(self) -> None:
        self.model = pickle.loads(pickle.dumps(self.model))

    @rule()
    def deepcopy(self) -> None:
        self.model = copy.deepcopy(self.model)

    @precondition(lambda self: len(self.asked) > 3)
    @rule()
    def clone(self) -> None:
        assert answers(self.model.clone(), [({}, None)]) == answers(make(self.case), [({}, None)])

    @invariant()
    def same(self) -> None:
        self.model._state()["core"].check()
        rows = [(x, None) for x in self.asked]
        assert answers(self.model, rows) == answers(self.twin, rows)


@pytest.mark.parametrize("case", [c for cases in FAMILIES.values() for c in cases], ids=str)
def test_machine(case: tuple[str, int]) -> None:
    """Whatever happens to a learner, it answers as one to which only the samples happened."""
    kind = type(f"Machine of {case[0]}", (Machine,), {"case": case})
    test = kind.TestCase
    test.settings = settings(
        max_examples=max(1, N_STEPS // STEPS_PER_RUN // 2),
        stateful_step_count=STEPS_PER_RUN,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    test().runTest()
