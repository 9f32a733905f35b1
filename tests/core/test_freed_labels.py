"""New labels take the codes of those that are gone, in every family."""

import contextlib
import math
import pickle
import random
import warnings
from typing import Any

import pandas as pd
import pytest

import river_extra_trees as ret
from river_extra_trees import persistence
from tests.naive.labels import Labels
from tests.tools.crowded import crowded
from tests.tools.estimators import CLASSES, answers, frozen

RETAINED = {"batch_size": 10, "warm_size": 20, "max_retained": 40}
# Few samples are stored, so that labels are gone soon.
SMALL: dict[str, dict[str, Any]] = {
    "DynamicTreeClassifier": {"n_particles": 10, "window": 40},
    "ExtraTreesClassifier": {"n_models": 6, "window_sizes": (20, 60)},
    "ForgetfulDecisionTreeClassifier": RETAINED,
    "ForgetfulRandomForestClassifier": {"n_models": 3, **RETAINED},
    "ShrubEnsembleClassifier": {"n_models": 4, "window_size": 30, "step_size": 2.0},
    "StreamDecisionForestClassifier": {"n_models": 4, "batch_size": 30},
    "StreamDecisionTreeClassifier": {"batch_size": 30},
}
WITH_WINDOWS = [name for name in SMALL if name.startswith(("Forget", "Shrub", "Stream"))]
FULL = "the model tells"
ENTROPY = {"loss": "cross_entropy"}


def small(name: str, n_labels: int, **parameters: Any) -> Any:
    """A learner that stores few samples and tells few labels apart."""
    return crowded(CLASSES[name](seed=1, **SMALL[name], **parameters), n_labels=n_labels)


def passing(n: int, n_labels: int = 3, every: int = 20, seed: int = 1) -> list[tuple[Any, Any]]:
    """Samples of labels that come and go for ever; now and then, one comes back."""
    rng, samples = random.Random(seed), []
    for i in range(n):
        k = rng.randrange(n_labels)
        y = f"y{i // every + k}" if i % 29 else f"y{i // (2 * every)}"
        samples.append(({"a": k + rng.random(), "b": rng.random(), "c": rng.choice("rgb")}, y))
    return samples


def labels_of(model: Any, nodes: Any) -> set[Any]:
    """The labels with a weight in the leaves among some nodes."""
    known = model._core.labels.labels
    return {
        known[code]
        for node in nodes
        if node["left"] < 0
        for code, weight in enumerate(node["values"])
        if weight > 0.0
    }


@pytest.mark.filterwarnings(f"ignore:{FULL}")
@pytest.mark.parametrize("n_labels", [6, 70])
@pytest.mark.parametrize("name", WITH_WINDOWS)
def test_labels_have_the_codes_of_the_naive_ones(name: str, n_labels: int) -> None:
    """Stored samples hold labels; then those make room that no tree has, or the oldest.

    What forgetful trees retain holds none: it is as what trees have.
    """
    model, naive = small(name, n_labels), Labels(n_labels)
    core = model._core
    n_freed = 0
    for x, y in passing(600, every=20 if n_labels < 9 else 2):
        windows = [core.window, *core.state().get("full", [])]
        stored = [
            core.labels.labels[int(window.sample(slot)[1])]
            for window in windows
            for slot in window.slots()
        ]
        n_retained = 0
        if name.startswith("Forget"):
            n_retained = core.window.n_sorted - (core.n_waiting and core.batch_size)
        grown = labels_of(model, [n for t in model._trees() for n in t])
        before = set(naive.codes)
        try:
            naive.learn(y, {*stored[n_retained:]}, grown | {*stored[:n_retained]})
        except ValueError:
            with pytest.raises(ValueError, match=f"the label '{y}' is one too many"):
                model.learn_one(x, y)
            continue
        model.learn_one(x, y)
        while core.growth_is_due if hasattr(core, "growth_is_due") else False:
            model._grow()
        found = {each: code for code, each in enumerate(core.labels.labels) if each is not None}
        assert found == naive.codes
        assert [*model.predict_proba_one(x)] == sorted(found, key=found.get)  # type: ignore[arg-type]
        assert core.labels.crowded == naive.crowded
        n_freed += bool(before - naive.codes.keys())
    core.check()
    assert n_freed > 3


@pytest.mark.filterwarnings(f"ignore:{FULL}")
@pytest.mark.parametrize(
    ("name", "parameters"), [*((name, {}) for name in SMALL), ("ShrubEnsembleClassifier", ENTROPY)]
)
def test_copies_files_frames_and_loops_free_the_same(name: str, parameters: dict[str, Any]) -> None:
    """The state is the same to the last bit, whichever way the samples came, with all answers."""
    n_labels, n = (90, 2200) if name.startswith("Extra") else (8, 500)  # its buffer has blocks
    samples = passing(n)
    one, copied, framed = (small(name, n_labels, **parameters) for _ in range(3))
    learned, given = [], []
    for i, (x, y) in enumerate(samples):
        if i % 60 == 7:
            copied = pickle.loads(pickle.dumps(copied))
        if i % 120 == 9:
            copied = persistence.load_bytes(persistence.save_bytes(copied))
            one._core.check()
            assert frozen(one) == frozen(copied)
        answer = one.predict_proba_one(x)
        assert not answer or abs(sum(answer.values()) - 1.0) < 1e-9
        with contextlib.suppress(ValueError):
            one.learn_one(x, y)
            learned.append((x, y))
            given.append(answer)
            copied.learn_one(x, y)
    assert frozen(copied) == frozen(one)
    assert len(learned) > len(samples) - 100 > 0
    for at in range(0, len(learned), 250):
        frame = pd.DataFrame([x for x, _ in learned[at : at + 250]])
        shares = framed.predict_proba_learn_many(frame, [y for _, y in learned[at : at + 250]])
        for wanted, row in zip(given[at : at + 250], shares.to_dict("records"), strict=True):
            assert wanted == {label: share for label, share in row.items() if share == share}
    assert frozen(framed) == frozen(one)
    tables, rows = framed.predict_many(frame), answers(one, [(x, None) for x, _ in learned[at:]])
    assert [repr(label) for label in tables] == [row.split(",")[0][1:] for row in rows]
    assert [*framed.predict_proba_many(frame).columns] == [*one.predict_proba_one({})]


@pytest.mark.filterwarnings(f"ignore:{FULL}")
@pytest.mark.parametrize("name", SMALL)
def test_labels_are_learned_in_a_long_life(name: str) -> None:
    """After many labels in a life, the next ones are told as well as if there was room for all."""
    n_labels = 90 if name.startswith("Extra") else 12
    n_right = []
    for n_places in (n_labels, 1024):
        model, rng = small(name, n_places), random.Random(2)
        right = 0
        for i in range(2600):
            k = rng.randrange(3)
            x, y = {"a": k + 0.5 * rng.random()}, f"{min(i, 2200) // 15 + k}"
            right += i >= 2400 and model.predict_one(x) == y
            model.learn_one(x, y)
        assert len(model.predict_proba_one(x)) <= n_places
        n_right.append(right)
    assert n_right[0] > max(100, n_right[1] - 20)
    if name.startswith("Shrub"):
        assert n_right[1] > 100  # labels that are gone do not shorten the steps


@pytest.mark.filterwarnings(f"ignore:{FULL}")
@pytest.mark.parametrize("bagging", [False, True])
@pytest.mark.parametrize("name", [name for name in SMALL if name.startswith("Forget")])
def test_retained_samples_make_room_for_new_labels(name: str, bagging: bool) -> None:
    """Trees that retain samples of all labels forget those of the labels that are the oldest."""
    parameters: dict[str, Any] = {"batch_size": 10, "warm_size": 1000}  # they forget nothing else
    if "Forest" in name:
        parameters |= {"n_models": 7, "bagging": bagging}
    model = crowded(CLASSES[name](seed=1, **parameters), n_labels=20)
    for i in range(400):
        x, y = {"a": i // 5, "b": i % 3}, f"y{i // 5}"
        model.learn_one(x, y)
        assert model.predict_proba_one(x)[y] > 0.0
        if i % 30 == 4:
            model._core.check()
            model = persistence.load_bytes(persistence.save_bytes(model))
    known = model._core.labels.labels
    assert {f"y{k}" for k in range(70, 80)} < {*known}
    window = model._core.window
    assert {known[int(window.sample(slot)[1])] for slot in window.slots()} <= {*known} - {None}
    assert max(model.retained_sizes) <= 10 * 100 * (10 if bagging else 1)


def test_a_warning_that_is_an_error_leaves_the_model_as_it_was() -> None:
    model = crowded(ret.StreamDecisionTreeClassifier(seed=1, batch_size=2), n_labels=2)
    for y in "abab":
        model.learn_one({"f": ord(y)}, y)
    before = frozen(model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="For 'c' its trees forget those that it has"):
            model.learn_one({"f": 99}, "c")
        assert frozen(model) == before
        with pytest.raises(ValueError, match="finite"):
            model.learn_one({"f": float("inf")}, "c")
        assert frozen(model) == before
        model.learn_one({"f": 99}, "c")
    assert model._core.labels.labels == ["c", "b"]
    assert model.summary["crowded_label"] == "'c'"
    assert "crowded label" in model._repr_html_()


def test_a_frame_stops_at_the_label_that_finds_no_place() -> None:
    """The rows before it are learned, as by a loop."""
    model, other = (crowded(ret.StreamDecisionTreeClassifier(seed=1), n_labels=3) for _ in range(2))
    X = pd.DataFrame({"a": range(6)})
    with pytest.raises(ValueError, match=r"row 4: the label 'd' is one too many.*are learned$"):
        model.learn_many(X, list("abcade"))
    for a, y in enumerate("abca"):
        other.learn_one({"a": a}, y)
    assert frozen(model) == frozen(other)
    with pytest.raises(ValueError, match="the label 'd' is one too many"):
        other.learn_one({"new": 1}, "d")
    assert frozen(model) == frozen(other)
    other.learn_one({"a": 1}, "d", w=0.0)
    assert frozen(model) == frozen(other)


@pytest.mark.filterwarnings(f"ignore:{FULL}")
def test_samples_that_wait_are_refused_as_they_would_be_in_turn() -> None:
    """A known label that no stored sample has takes a place again, too."""
    model = crowded(ret.StreamDecisionTreeClassifier(seed=1, batch_size=40), n_labels=3)
    for i in range(42):
        model.learn_one({"f": i}, "abc"[i % 3] if i < 40 else "c")
    coming: set[Any] = set()
    for y in "axca":
        model._check_label(y, coming)
    with pytest.raises(ValueError, match="the label 'y' is one too many"):
        model._check_label("y", coming)
    model._check_label("x", coming)
    for i, y in enumerate("axcax"):
        model.learn_one({"f": i}, y)
    with pytest.raises(ValueError, match="the label 'y' is one too many"):
        model.learn_one({"f": 1}, "y")


@pytest.mark.filterwarnings(f"ignore:{FULL}")
@pytest.mark.parametrize("name", SMALL)
def test_explanations_while_codes_are_free(name: str) -> None:
    """They add up to the log odds that the shares say; a free code is no label."""
    model = small(name, 70)
    for i, (x, y) in enumerate(passing(2500)):
        with contextlib.suppress(ValueError):
            model.learn_one(x, y)
        if None not in model._core.labels.labels or i % 7:
            continue
        for label, share in list(model.predict_proba_one(x).items())[:3]:
            if 1e-9 < share < 1.0 - 1e-9:
                found = model.explain_one(x, label=label, method="path")
                total = found.base_value + sum(found.values)
                assert total == pytest.approx(math.log(share / (1.0 - share)), abs=1e-9)
