"""Damaged and forged model files: they are refused, or hold a sound model."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest

import river_extra_trees as ret
from river_extra_trees import persistence
from tests.tools import damage, nasty

# Their samples are in the slots of a window, not in the order of arrival.
WINDOWED = [name for name in damage.SMALL if not name.startswith("ExtraTrees")]


@pytest.mark.parametrize("name", damage.SMALL)
def test_every_truncation_and_every_flipped_bit_is_noticed(name: str) -> None:
    """Accidents raise the one error, and nothing else.

    One function reads all files: of one every bit is flipped, of the others one bit in 41.
    """
    content = damage.small_file(name)
    step = 1 if name == "StreamDecisionTreeClassifier" else 41
    truncations = itertools.islice(damage.truncations(content), 0, None, step)
    for damaged in itertools.chain(truncations, damage.flips(content, step=step)):
        with pytest.raises(persistence.ModelFileError):
            persistence.load_bytes(damaged)


@pytest.mark.slow
@pytest.mark.parametrize("name", damage.SMALL)
def test_damage_of_the_right_hash_does_no_harm(name: str) -> None:
    """A forger's file is refused, or is a sound model; `make fuzz` tries many more."""
    content, rng = damage.small_file(name), random.Random(name)
    length = damage.length_of_header(content)
    description = damage.flips(content[:length], 8, 5903)
    arrays = damage.flips(content, length, 2851)
    flipped = itertools.chain((bad + content[length:] for bad in description), arrays)
    said = {damage.outcome(damage.signed(bad)) for bad in flipped}
    assert said == {"refused", "sound"}
    for _ in range(15):
        damage.outcome(damage.scrambled(content, rng))


@pytest.mark.slow
@pytest.mark.parametrize("name", damage.SMALL)
def test_nasty_values_of_the_right_hash_do_no_harm(name: str) -> None:
    """Some of them, in each place of the description and in each array."""
    counts = nasty.run(name, step=359, first=len(name))
    assert counts["refused"] > counts["sound"] > 0


VAGUE = "not a valid model file"


def put(*place: Any, says: str = VAGUE) -> Any:
    """A change of the description: the last item takes the place to which the others lead."""
    *path, key, value = place

    def change(document: Any, arrays: Any) -> None:
        inside = document[1]
        for each in path:
            inside = inside[each]
        inside[key] = value

    return change, says


def number(array: str, place: Any, value: float, says: str = VAGUE) -> Any:
    """A change of an array."""

    def change(document: Any, arrays: Any) -> None:
        arrays[f"state/core/{array}"][place] = value

    return change, says


def deep(document: Any, arrays: Any) -> None:
    for _ in range(60):
        document[1]["state"] = ["list", [document[1]["state"]]]


def array_as_class(document: Any, arrays: Any) -> None:
    document[1]["class"] = ["array", "more"]
    arrays["more"] = np.zeros(2)


def retained_by_none(document: Any, arrays: Any) -> None:
    """One sample would keep its place in the window for ever."""
    retained = arrays["state/core/retained"]
    of_tree = np.repeat([0, 1], arrays["state/core/n_retained"])
    kept = retained[:, 0] != retained[0, 0]
    arrays["state/core/retained"] = retained[kept]
    arrays["state/core/n_retained"] = np.bincount(of_tree[kept]).astype(np.int32)


FORGERIES: dict[str, dict[str, Any]] = {
    "StreamDecisionTreeClassifier": {
        "an array less": (lambda _, arrays: arrays.pop("state/core/root_statistics/stats"), VAGUE),
        "an array more": (lambda _, arrays: arrays.update(more=np.zeros(3)), VAGUE),
        "a class of ours": put("class", ["str", "TreeLearner"]),
        "no class": put("class", ["list", []]),
        "an array as class": (array_as_class, VAGUE),
        "another family": put("class", ["str", "DynamicTreeClassifier"]),
        "a parameter more": put("parameters", 1, "depth", ["int", "0x1"]),
        "a wrong parameter": put("parameters", 1, "criterion", ["str", "none"]),
        "another size": put("parameters", 1, "batch_size", ["int", "0x7fffffff"]),
        "another setting": put("parameters", 1, "leaf_memory", ["none", None]),
        "no state": put("state", ["dict", {}]),
        "deep": (deep, VAGUE),
        "a wrong name": put("state", 1, "__class__", ["none", None]),
        "no fields": put("state", 1, "core", 2, []),
        "a core class": put("state", 1, "core", 1, "Splitter"),
    },
    # The squares of a leaf, its weights, all samples, the prior, targets. Means take the place of
    # missing values. In a classifier, infinite evidence once took the interpreter with it.
    "DynamicTreeRegressor": {
        "squares": number("rows", (..., -1), 1.7e308),
        "products": number("rows", (..., 9), -1.7e308),
        "weights": number("rows", (..., 0), 1.7e308),
        "all samples": number("global_statistics", -1, 1.7e308),
        "prior": number("prior", -1, 1.7e308),
        "negative prior": number("prior", -1, -1.7e308),
        "mean": number("rows", (..., 1), 1e200),
        "target": number("pool/target", ..., 1e200),
        "regressors": number("v", ..., 1e200),
        "means beyond all values": number("fill", 0, 1e300, "fill"),
    },
    "DynamicTreeClassifier": {"class weights": number("rows", ..., 1.7e308)},
    "ShrubEnsembleClassifier": {
        "gram": number("gram", ..., 1e200),
        "faint node": number("trees/stats", (..., 1), 1e-300),
        "empty node": number("trees/stats", 0, 0.0, "a node was grown on no sample"),
    },
    "ForgetfulRandomForestClassifier": {
        "a sample less": (retained_by_none, "not those that a tree retains")
    },
}


@pytest.mark.parametrize(
    ("name", "what"), [(name, what) for name, kinds in FORGERIES.items() for what in kinds]
)
def test_forgeries_are_refused(name: str, what: str) -> None:
    """Whatever a description says that is not so, and numbers that no samples have."""
    content = damage.small_file(name, 35)
    assert nasty.changed(content, lambda document, arrays: None) == content
    change, says = FORGERIES[name][what]
    with pytest.raises(persistence.ModelFileError, match=says):
        persistence.load_bytes(nasty.changed(content, change))


def squares_of_none(document: Any, arrays: Any) -> None:
    """Sums of squares overflow, so that any are read; what is learned from answers is sound."""
    for place, array in arrays.items():
        if place.endswith("stats"):
            array[:, -1] = np.nan


@pytest.mark.parametrize(
    ("name", "change"),
    [
        *((name, squares_of_none) for name in ("ExtraTreesClassifier", "ExtraTreesRegressor")),
        *(("ShrubEnsembleClassifier", number("gram", ..., sum)[0]) for sum in (1e150, 0.0)),
        ("ShrubEnsembleClassifier", number("hits", ..., -1e150)[0]),
    ],
)
def test_sums_that_no_samples_have_do_no_harm(name: str, change: Any) -> None:
    """No file can promise their truth; none overflows, and the model can be saved again."""
    for n in (19, 35):
        assert damage.outcome(nasty.changed(damage.small_file(name, n), change)) == "sound"


def forest_of(arrays: Any, name: str) -> Any:
    """The features, the kinds and the cuts of some tree that has a split by a nominal feature."""
    for path in arrays:
        if path.endswith("links"):  # of a particle filter, which asks the schema for the kind
            place = path.removesuffix("links")
            features, nominal, cuts = arrays[path][:, 0], arrays[path][:, 0] >= 0, "cuts"
        elif path.endswith("feature"):
            place = path.removesuffix("feature")
            features, nominal, cuts = arrays[path], arrays[place + "nominal"], "threshold"
        else:
            continue
        if (nominal != 0).any():
            return features, nominal, arrays[place + cuts]
    raise AssertionError(f"{name} has no split by a nominal feature")


def nominal_model(name: str) -> bytes:
    """The file of a model that splits by a nominal feature."""
    model = damage.small(name)
    for i in range(41):
        target = 100.0 * (i % 2)
        model.learn_one(
            {"c": ("red", "green")[i % 2]},
            target + 0.1 * (i % 7) if "Regressor" in name else str(target),
        )
    return persistence.save_bytes(model)


@pytest.mark.parametrize("name", damage.SMALL)
def test_splits_that_no_stream_brings_do_no_harm(name: str) -> None:
    """By a column that is not there, they are refused.

    By a code that no value has, they may also part missing values from all others.
    """
    content = nominal_model(name)

    def changed(column: int | None, code: float | None) -> bytes:
        def change(document: Any, arrays: Any) -> None:
            features, nominal, cuts = forest_of(arrays, name)
            if column is not None:
                features[features >= 0] = column
            if code is not None:
                cuts[nominal != 0] = code

        return nasty.changed(content, change)

    for code in (-(2.0**31), -2.0, 0.5, 3.0, 1e9, 1e300):
        assert damage.outcome(changed(None, code)) in ("refused", "sound"), code
    for column in (1, 7, 2**14, 2**31 - 1):  # the only feature has the column 0
        with pytest.raises(persistence.ModelFileError):
            persistence.load_bytes(changed(column, None))


@pytest.mark.parametrize("name", WINDOWED)
def test_samples_that_came_before_the_first_are_refused(name: str) -> None:
    """The last one, so far before that the difference to the one before it overflows."""

    def change(document: Any, arrays: Any) -> None:
        parts = document[1]["state"][1]["core"][2]
        for name in ("window", "pool"):
            if parts.get(name, [None])[0] == "object":
                n = arrays[f"state/core/{name}/target"].size
                parts[name][2]["arrival"] = ["array", "arrival"]
                arrays["arrival"] = np.arange(19 - n, 19)
        changed = [
            each for place, each in arrays.items() if place.endswith("arrival") and each.size
        ]
        for arrival in changed:
            arrival[-1] = -(2**63)
        assert changed

    with pytest.raises(persistence.ModelFileError, match="order"):
        persistence.load_bytes(nasty.changed(damage.small_file(name), change))


def split_cloud() -> bytes:
    """The file of dynamic trees with splits, and with labels of either kind in every leaf."""
    model = ret.DynamicTreeClassifier(n_particles=8, window=40, forgetting_factor=1.0, seed=1)
    for i in range(60):
        model.learn_one({"a": i % 20}, str((i % 20 > 9) ^ (i % 7 == 3)))
    return persistence.save_bytes(model)


def points_of_leaves(arrays: Any) -> list[Any]:
    """Views of the slots that each leaf of a cloud holds."""
    slots, ends = arrays["state/core/leaf_slots"], np.cumsum(arrays["state/core/n_active"])
    return [
        slots[end - n : end] for end, n in zip(ends, arrays["state/core/n_active"], strict=True)
    ]


def labels_by_slot(arrays: Any) -> dict[int, float]:
    """The codes of the points' labels."""
    return dict(enumerate(arrays["state/core/pool/target"].tolist()))


def hold_twice(arrays: Any) -> None:
    labels = labels_by_slot(arrays)
    for held in points_of_leaves(arrays):
        for i, j in itertools.combinations(range(len(held)), 2):
            if labels[held[i]] == labels[held[j]]:
                held[i] = held[j]
                return


def exchange(arrays: Any) -> None:
    labels, leaves = labels_by_slot(arrays), points_of_leaves(arrays)
    for some, others in itertools.combinations(leaves, 2):
        for i, j in itertools.product(range(len(some)), range(len(others))):
            if not set(some) & set(others) and labels[some[i]] == labels[others[j]]:
                some[i], others[j] = int(others[j]), int(some[i])
                return


def hold_one_less(arrays: Any) -> None:
    """All points of a leaf are retired, in the eyes of its sums."""
    n_active, rows = arrays["state/core/n_active"], arrays["state/core/rows"]
    leaf = int(np.flatnonzero(n_active)[0])
    kept = [each for i, each in enumerate(points_of_leaves(arrays)) if i != leaf]
    arrays["state/core/leaf_slots"] = np.concatenate(kept)
    n_active[leaf] = 0
    rows[leaf, rows.shape[1] // 2 :] = rows[leaf, : rows.shape[1] // 2]


@pytest.mark.parametrize("move", [hold_twice, exchange, hold_one_less])
def test_trees_that_do_not_hold_each_point_once_are_refused(move: Any) -> None:
    """The sums of the leaves cannot tell: points of one label are alike to them."""
    with pytest.raises(persistence.ModelFileError, match="not where its features lead"):
        persistence.load_bytes(nasty.changed(split_cloud(), lambda document, arrays: move(arrays)))


SUMS = {
    "none": ["int", "0x0"],
    "more than there can be": ["int", hex(2**63)],
    "no float": ["int", hex(2**1600)],
    "infinite": ["float", "inf"],
    "negative": ["float", "-0x1p-1"],
    "missing": ["float", "nan"],
}


@pytest.mark.parametrize("what", SUMS)
@pytest.mark.parametrize("place", range(4))
def test_sums_of_losses_that_no_answers_have_are_refused(what: str, place: int) -> None:
    """Or the model goes on learning: the squares of large losses are infinite."""

    def change(document: Any, arrays: Any) -> None:
        tree = document[1]["state"][1]["core"][2]["parameters"][1][0][1]
        tree["cold_state"] = ["int", "0x0"]
        tree["last"] = ["list", [["int", "0x14"], *(["float", "0x1p+1"],) * 3]]
        tree["last"][1][place] = SUMS[what]

    content = nasty.changed(damage.small_file("ForgetfulDecisionTreeRegressor", 40), change)
    harmless = (2, "infinite"), *((place, "none") for place in (1, 2, 3))
    assert damage.outcome(content) == ("sound" if (place, what) in harmless else "refused")
