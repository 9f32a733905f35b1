"""Random sequences of everything that may be done with a learner, beside an oracle.

The machine learns one by one or in frames, is refused items, interrupted, pickled, saved, copied
and asked in between; the oracle only ever learns valid items one by one. After each step the
structures are sound and the oracle agrees: a plain twin in its whole state, a naive algorithm in
the trees, the statistics and the answers. `make machine` takes 100,000 steps per family.
"""

import contextlib
import copy
import os
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from river_extra_trees import persistence
from tests.tools.estimators import frozen
from tests.tools.inputs import Interruption, Loud, LoudNumber
from tests.tools.oracles import (
    CrowdedTwin,
    DynamicTree,
    ExtraTrees,
    ForgetfulTree,
    Oracle,
    RenamedTwin,
    Row,
    ShrubEnsemble,
    StreamTree,
    Twin,
)

STEPS_PER_RUN = 30
# Steps per family: few in the suite, as many as asked for by `make machine`.
N_STEPS = int(os.environ.get("RIVER_EXTRA_TREES_STEPS") or 300)
MANY = 10_000  # samples: more than a run has
BAD = ("feature", "target", "weight", "sample")  # what is refused
LOUD = ("number", "value", "name", "target", "weight")  # what is interrupted
COPIES: tuple[Callable[[Any], Any], ...] = (
    copy.deepcopy,
    lambda model: pickle.loads(pickle.dumps(model)),
    lambda model: persistence.load_bytes(persistence.save_bytes(model)),
)

_BATCHES = {"batch_size": 9, "warm_size": 16, "max_retained": 50, "seed": 1}
_WINDOWS = {"n_models": 6, "batch_size": 4, "window_sizes": (9, 30), "seed": 1}

FAMILIES: dict[str, dict[str, Callable[[], Oracle]]] = {
    "dynamic": {
        "crowded": lambda: CrowdedTwin(("DynamicTreeRegressor", 3)),
        "renamed": lambda: RenamedTwin("DynamicTreeClassifier", 8, n_particles=9, window=8),
        "twin_classifier": lambda: Twin(("DynamicTreeClassifier", 1)),
        "twin_regressor": lambda: Twin(("DynamicTreeRegressor", 3)),
        "trees": lambda: DynamicTree(
            "DynamicTreeClassifier", window=MANY, forgetting_factor=0.97, rejuvenate_every=50
        ),
        "leaf": lambda: DynamicTree(
            "DynamicTreeClassifier", window=8, alpha=0.0, forgetting_factor=0.9, discard="entropy"
        ),
    },
    "extra": {
        "crowded": lambda: CrowdedTwin(("ExtraTreesClassifier", 2)),
        "twin_classifier": lambda: Twin(("ExtraTreesClassifier", 2)),
        "twin_regressor": lambda: Twin(("ExtraTreesRegressor", 2)),
        "forest": lambda: ExtraTrees("ExtraTreesClassifier", **_WINDOWS),
        "forest_of_numbers": lambda: ExtraTrees("ExtraTreesRegressor", **_WINDOWS),
    },
    "forgetful": {
        "crowded": lambda: CrowdedTwin(("ForgetfulRandomForestClassifier", 3)),
        "renamed": lambda: RenamedTwin(
            "ForgetfulRandomForestClassifier",
            40,
            n_models=2,
            batch_size=8,
            warm_size=12,
            max_retained=16,
        ),
        "twin_classifier": lambda: Twin(("ForgetfulRandomForestClassifier", 3)),
        "twin_regressor": lambda: Twin(("ForgetfulDecisionTreeRegressor", 2)),
        "tree": lambda: ForgetfulTree(
            "ForgetfulDecisionTreeClassifier", criterion="gini", **_BATCHES
        ),
        "tree_of_numbers": lambda: ForgetfulTree("ForgetfulDecisionTreeRegressor", **_BATCHES),
    },
    "shrubs": {
        "crowded": lambda: CrowdedTwin(("ShrubEnsembleClassifier", 4)),
        "renamed": lambda: RenamedTwin(
            "ShrubEnsembleClassifier", 9, n_models=3, window_size=9, step_size=50.0
        ),
        "twin_classifier": lambda: Twin(("ShrubEnsembleClassifier", 4)),
        "twin_regressor": lambda: Twin(("ShrubEnsembleRegressor", 1)),
        "shrubs": lambda: ShrubEnsemble(
            "ShrubEnsembleClassifier",
            **{"n_models": 4, "window_size": 9, "step_size": 0.311, "l2": 0.0213, "l1": 0.5},
            **{"retrain": "error"},
        ),
        "shrubs_of_numbers": lambda: ShrubEnsemble(
            "ShrubEnsembleRegressor",
            **{"n_models": 3, "window_size": 7, "step_size": 0.137, "max_depth": 3, "l0": 0.01},
            **{"update_interval": 2, "node_penalty": 0.002},
        ),
    },
    "stream": {
        "crowded": lambda: CrowdedTwin(("StreamDecisionForestClassifier", 4)),
        "renamed": lambda: RenamedTwin(
            "StreamDecisionForestClassifier", 14, n_models=3, batch_size=7
        ),
        "twin_classifier": lambda: Twin(("StreamDecisionForestClassifier", 4)),
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


class Machine(RuleBasedStateMachine):
    """A learner under test and its oracle."""

    new_oracle: Callable[[], Oracle]

    def __init__(self) -> None:
        super().__init__()
        self.oracle = type(self).new_oracle()
        self.model = self.oracle.learner()
        self.asked: list[Row] = []
        self.target = 1.0 if self.oracle.regression else "low"
        self.sample = st.tuples(self.oracle.samples, self.oracle.targets, self.oracle.weights)

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

    def frame(self, xs: list[Row]) -> tuple[list[Row], pd.DataFrame]:
        """What a frame of these samples holds, as rows and as the frame."""
        rows = [{name: x.get(name) for name in self.oracle.in_frames} for x in xs]
        return rows, pd.DataFrame(rows, dtype=object)

    @contextlib.contextmanager
    def unchanged(self) -> Iterator[None]:
        """The whole state of the model is afterwards what it was."""
        before = frozen(self.model)
        yield
        assert frozen(self.model) == before

    @rule(data=st.data())
    def learn_many(self, data: Any) -> None:
        samples = data.draw(st.lists(self.sample, min_size=1, max_size=30))
        xs, ys, ws = (list(column) for column in zip(*samples, strict=True))
        rows, frame = self.frame(xs)
        self.model.learn_many(frame, pd.Series(ys, dtype=object), w=pd.Series(ws))
        for x, y, w in zip(rows, ys, ws, strict=True):
            self.oracle.learn(x, y, w)

    @precondition(lambda self: self.asked)
    @rule()
    def ask_many(self) -> None:
        """A frame is answered row by row."""
        rows, frame = self.frame(self.asked)
        # Copies are asked, because extra trees remember the questions.
        model, one = copy.deepcopy(self.model), copy.deepcopy(self.model)
        assert model.predict_many(frame).to_list() == [one.predict_one(x) for x in rows]
        if not self.oracle.regression:
            shares = [one.predict_proba_one(x) for x in rows]
            assert model.predict_proba_many(frame).to_dict("list") == {
                label: [share[label] for share in shares] for label in shares[0]
            }
        assert frozen(model) == frozen(self.model)

    @rule(data=st.data(), bad=st.sampled_from(BAD))
    def refuse(self, data: Any, bad: str) -> None:
        x = data.draw(self.oracle.samples)
        y = None if bad == "target" else self.target
        sample: Any = {**x, "new": 1.0}
        if bad == "feature":
            sample["worse"] = float("inf")
        elif bad == "sample":
            sample = list(sample)
        with self.unchanged(), pytest.raises((TypeError, ValueError)):
            self.model.learn_one(sample, y, w=-1 if bad == "weight" else 1)

    @rule(data=st.data())
    def refuse_many(self, data: Any) -> None:
        """The last row of a frame is refused, and so are those before it."""
        xs = data.draw(st.lists(self.oracle.samples, min_size=2, max_size=5))
        _, frame = self.frame(xs)
        frame["new"] = [1.0] * (len(xs) - 1) + [float("inf")]
        with self.unchanged(), pytest.raises(ValueError, match=f"row {len(xs) - 1}: feature 'new'"):
            self.model.learn_many(frame, [self.target] * len(xs))

    @rule(data=st.data(), loud=st.sampled_from(LOUD))
    def interrupt(self, data: Any, loud: str) -> None:
        """An interruption in any call of a sample's own code: the model is as before the sample."""
        x = {**data.draw(self.oracle.samples), "new": "thing"}
        of_a_label = loud == "target" and not self.oracle.regression
        one = Loud() if loud in ("value", "name") or of_a_label else LoudNumber()
        if loud in ("number", "value"):
            x["zzz"] = one
        elif loud == "name":
            x[one] = 1.0
        y = one if loud == "target" else self.target
        w = one if loud == "weight" else 1.0
        one.n_calls = 0
        copy.deepcopy(self.model).learn_one(x, y, w=w)
        one.be_interrupted(data.draw(st.integers(1, one.n_calls)))
        with self.unchanged(), pytest.raises(Interruption):
            self.model.learn_one(x, y, w=w)

    @rule(way=st.sampled_from(COPIES))
    def copied(self, way: Callable[[Any], Any]) -> None:
        self.model = way(self.model)

    @rule(n=st.integers(0, 60), seed=st.integers(0, 10**6))
    def clone(self, n: int, seed: int) -> None:
        """A clone is a new learner with the same parameters: it learns what that one learns."""
        clone, new = self.oracle.cloned(self.model), self.oracle.learner()
        assert clone._get_params() == new._get_params()
        for x, y in self.oracle.stretch(n, seed):
            clone.learn_one(x, y)
            new.learn_one(x, y)
        assert persistence.save_bytes(clone) == persistence.save_bytes(new)

    @invariant()
    def same(self) -> None:
        self.model._state()["core"].check()
        self.oracle.assert_agrees(self.model, self.asked)


ALL = [(family, name) for family, oracles in FAMILIES.items() for name in oracles]
pytestmark = pytest.mark.filterwarnings("ignore:the model holds", "ignore:the model tells")
COMMON = {
    "deadline": None,
    "derandomize": True,
    "phases": [Phase.generate],  # to shrink a failing sequence takes minutes
    "suppress_health_check": list(HealthCheck),
}


def machine_of(family: str, oracle: str) -> type[Machine]:
    new_oracle = staticmethod(FAMILIES[family][oracle])
    return type(f"Machine of {oracle} in {family}", (Machine,), {"new_oracle": new_oracle})


@pytest.mark.slow
@pytest.mark.parametrize(("family", "oracle"), ALL)
def test_machine(family: str, oracle: str) -> None:
    """Whatever happens to a learner, it is one to which only the samples happened."""
    test = machine_of(family, oracle).TestCase
    n_runs = N_STEPS // STEPS_PER_RUN // len(FAMILIES[family])
    test.settings = settings(
        max_examples=max(1, n_runs), stateful_step_count=STEPS_PER_RUN, **COMMON
    )
    test().runTest()


@pytest.mark.parametrize(("family", "oracle"), ALL)
def test_every_rule(family: str, oracle: str) -> None:
    """Few random steps may leave rules out, so that each is taken once at least."""

    @settings(max_examples=2, **COMMON)
    @given(st.data())
    def take_all(data: Any) -> None:
        machine = machine_of(family, oracle)()
        machine.learn_stretch(40, seed=1)
        machine.asked = [x for x, _ in machine.oracle.stretch(4, 2)]
        for bad in BAD:
            machine.refuse(data, bad)
        for loud in LOUD:
            machine.interrupt(data, loud)
        for way in (machine.learn, machine.learn_many, machine.refuse_many):
            way(data)
        for copied in COPIES:
            machine.copied(copied)
        machine.ask_many()
        machine.clone(40, seed=3)
        machine.learn_stretch(40, seed=4)
        machine.same()

    take_all()
