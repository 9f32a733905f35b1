"""Damaged and forged model files: they are refused, or hold a sound model."""

import itertools
import json
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from river import base

import river_extra_trees as ret
from river_extra_trees import persistence
from tests.tools import damage
from tests.tools.crowded import crowded

TREE = "StreamDecisionTreeClassifier"


def test_every_truncation_and_every_flipped_bit_is_noticed() -> None:
    """Each raises `ModelFileError`. One function reads all files, so one file is enough."""
    content = damage.small_file(TREE)
    truncations = (content[:n] for n in range(len(content)))
    for damaged in itertools.chain(truncations, damage.flips(content)):
        with pytest.raises(persistence.ModelFileError):
            persistence.load_bytes(damaged)


def test_what_is_no_model_file_is_refused(tmp_path: Path) -> None:
    """The error names the file; lengths are compared with it before anything is allocated."""
    content = damage.small_file(TREE)
    lengths = (length.to_bytes(8, "little") for length in (0, 2**40, 2**63, 2**64 - 1))
    for other in (
        *(b"", b"{}", bytes(100), *(length + content[8:] for length in lengths)),
        *(safetensors.numpy.save({"a": np.zeros(3)}), safetensors.numpy.save({}, {"a": "b"})),
        damage.signed(content + b"\0"),
    ):
        (tmp_path / "broken").write_bytes(other)
        with pytest.raises(persistence.ModelFileError, match="broken: not a valid model file"):
            persistence.load(tmp_path / "broken")
    with pytest.raises(FileNotFoundError):
        persistence.load(tmp_path / "absent")


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("", "", None),
        (None, "[" * 100_000, "JSON cannot be read"),
        (None, "", "JSON cannot be read"),
        (None, "{}", "another kind of file"),
        (None, "[1]", "another kind of file"),
        (None, '{"sha256": 1, "version": 2, "model": 0}', "its hash is missing"),
        ('"seed":', '"seed":["none",null],"seed":', "JSON cannot be read"),
        ('"version":2', '"version":1', "version 1 of the format; .* train the model again"),
        ('"version":2', '"version":99', "version 99 of the format; .*2"),
        ('"version":2', '"version":true', "version True of the format"),
        ('"version":2', '"version":2,"more":2', "unknown entries"),
    ],
)
def test_descriptions_that_are_not_ours_are_refused(
    before: str | None, after: str, says: str | None
) -> None:
    """Deep nesting, nothing, something else, a name that is there twice, a later format."""
    content = damage.small_file(TREE)
    length = damage.length_of_header(content)
    header = json.loads(content[8:length])
    text = header["__metadata__"]["river_extra_trees"]
    header["__metadata__"]["river_extra_trees"] = text.replace(
        text if before is None else before, after, 1
    )
    changed = json.dumps(header).encode()
    content = damage.signed(len(changed).to_bytes(8, "little") + changed + content[length:])
    if says is None:
        assert persistence.load_bytes(content).n_samples_seen == 19
        return
    with pytest.raises(persistence.ModelFileError, match=says):
        persistence.load_bytes(content)


COUNTS = """
from tests.tools import damage

for name in damage.SMALL:
    for n in damage.AGES:
        document, arrays = file = damage.opened(damage.small_file(name, n))
        for inside, key, _ in damage.places(document):
            if inside[key][0] == "int":
                before = inside[key]
                for count in ("0x1", "0x2", "0x400"):
                    inside[key] = ["int", count]
                    damage.outcome(damage.closed(file), lambda model: None)
                inside[key] = before
print("sound")
"""


def test_no_array_is_copied_beyond_its_memory() -> None:
    """Every count of a file is forged; Python's debug allocator looks behind all memory."""
    done = subprocess.run(
        [sys.executable, "-c", COUNTS],
        env={**os.environ, "PYTHONMALLOC": "debug"},
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.stderr) == ("sound\n", "")


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
    old_and_new = [damage.small_file(name, n) for n in damage.AGES]
    counts = sum((damage.nasty_outcomes(each, 101) for each in old_and_new), Counter())
    assert counts["refused"] > counts["sound"] > 0


def full_file(name: str) -> bytes:
    """The file of a small model whose features and labels have taken the places of others."""
    n_labels, every = (90, 16) if name.startswith("Extra") else (6, 50)
    is_classifier = name.endswith("Classifier")
    model = crowded(damage.small(name), 8, n_labels if is_classifier else None)
    for i in range((n_labels + 9) * every):
        x = {f"n{i // 30}": i % 5, f"m{i // 40}": "ab"[i % 2], "z": i % 7}
        model.learn_one(x, f"label {i // every}" if is_classifier else float(i % 7))
    return persistence.save_bytes(model)


def use_full(model: Any) -> None:
    """Let a model learn features and labels for which it may have no place."""
    is_classifier = isinstance(model, base.Classifier)
    for i in range(12):
        x, y = {f"q{i}": 1.0, "z": i % 7, "m17": "a"}, f"new {i // 2}" if is_classifier else 1.0
        model.predict_one(x)
        try:
            model._check_label(y, set())
            model.learn_one(x, y)
        except ValueError as error:
            assert "one too many" in str(error)
    model._state()["core"].check()
    persistence.save_bytes(model)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the model")
@pytest.mark.parametrize("name", damage.SMALL)
def test_damage_of_full_models_does_no_harm(name: str) -> None:
    """Their files hold free columns and codes, when labels were learned, and what is crowded."""
    said = damage.nasty_outcomes(full_file(name), 97, use_full)
    assert said["refused"] > said["sound"] > 0


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


def exchanged(document: Any, arrays: Any) -> None:
    arrays["state/core/leaf_slots"] = arrays["state/core/leaf_slots"][::-1].copy()


def before_the_first(document: Any, arrays: Any) -> None:
    """The last sample of a window came so early that the difference to others overflows."""
    document[1]["state"][1]["core"][2]["window"][2]["arrival"] = ["array", "arrival"]
    n = arrays["state/core/window/target"].size
    arrays["arrival"] = np.array([*range(35 - n, 34), -(2**63)])


SEEDS: list[Any] = [
    *(None, [], ["?"], ["int", 3], ["int", "x"], ["int"], ["str", 1], ["float", "1e"]),
    *(["bytes", "0"], ["bool", 1], ["none", 0], ["list", 1], ["array", "a"], ["numpy", "x"]),
    *(["numpy", "int8", "int", "0x80"], ["numpy", "int8", "str", "a"], ["object", "X", {}]),
    *(["numpy", "float16", "float", "0x1p+20"], ["numpy", "uint8", "int", "-0x1"], ["dict", 1]),
    *(["numpy", "str", "int", "0x1"], ["numpy", "int64", "none", None]),
]
FORGERIES: dict[str, dict[str, Any]] = {
    "StreamDecisionTreeClassifier": {
        "an array less": (lambda _, arrays: arrays.pop("state/core/root_statistics/left"), VAGUE),
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
        "a smaller batch": put(
            *("state", 1, "core", 2, "batch_size", ["int", "0x1"]), says="too many samples"
        ),
        "an early sample": (before_the_first, "not in order of arrival"),
        **{f"seed: {code}": put("parameters", 1, "seed", code) for code in SEEDS},
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
    # Points of one label are alike to the sums of the leaves.
    "DynamicTreeClassifier": {
        "class weights": number("rows", ..., 1.7e308),
        "a point twice": number("leaf_slots", ..., 0, "not where its features lead"),
        "points of other leaves": (exchanged, "not where its features lead"),
    },
    "ShrubEnsembleClassifier": {
        "gram": number("gram", ..., 1e200),
        "faint node": number("trees/threshold", ..., 1e-310),
        "empty node": number("trees/threshold", ..., 0.0, "a node was grown on no sample"),
    },
}


@pytest.mark.parametrize(
    ("name", "what"), [(name, what) for name, kinds in FORGERIES.items() for what in kinds]
)
def test_forgeries_are_refused(name: str, what: str) -> None:
    """Whatever a description says that is not so, and numbers that no samples have."""
    content = damage.small_file(name, 35)
    change, says = FORGERIES[name][what]
    with pytest.raises(persistence.ModelFileError, match=says):
        persistence.load_bytes(damage.changed(content, change))


def test_a_leaf_that_is_older_than_its_samples_is_refused() -> None:
    """Their weights would grow without limit, where weights decay."""
    model = damage.learn(
        ret.DynamicTreeClassifier(n_particles=4, window=8, forgetting_factor=0.9, seed=1),
        damage.stream(("DynamicTreeClassifier", 0), 35),
    )
    change, _ = put("state", 1, "core", 2, "pool", 2, "n_seen", ["int", "0x100000"])
    with pytest.raises(persistence.ModelFileError, match="a leaf is older"):
        persistence.load_bytes(damage.changed(persistence.save_bytes(model), change))


def squares_of_none(document: Any, arrays: Any) -> None:
    """Sums of squares overflow, so that any are read; what is learned from answers is sound."""
    for place, array in arrays.items():
        if place.endswith("trees/moments"):
            array[:, -1] = np.nan


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("ExtraTreesRegressor", squares_of_none),
        *(("ShrubEnsembleClassifier", number("gram", ..., sum)[0]) for sum in (1e150, 0.0)),
        ("ShrubEnsembleClassifier", number("hits", ..., -1e150)[0]),
    ],
)
def test_sums_that_no_samples_have_do_no_harm(name: str, change: Any) -> None:
    """No file can promise their truth; none overflows, and the model can be saved again."""
    for n in (19, 35):
        assert damage.outcome(damage.changed(damage.small_file(name, n), change)) == "sound"


def nominal_splits(arrays: Any) -> tuple[Any, Any, Any]:
    """The features and cuts of the nodes of some tree, and which nodes have a split."""
    for path, links in arrays.items():
        if path.endswith("links") and (links[:, 0] >= 0).any():  # of a particle filter
            return links[:, 0], arrays[path.replace("links", "cuts")], links[:, 0] >= 0
        if path.endswith("turns") and links.any():
            features, cuts = (arrays[path.replace("turns", to)] for to in ("feature", "threshold"))
            return features, cuts, links > 0
    raise AssertionError("there is no split")


@pytest.mark.parametrize("name", damage.SMALL)
def test_splits_that_no_stream_brings_do_no_harm(name: str) -> None:
    """By a column that is not there, they are refused.

    By a code that no value has, they may also part missing values from all others.
    """
    model = damage.small(name)
    for i in range(41):
        target = 100.0 * (i % 2) + 0.1 * (i % 7) if "Regressor" in name else str(i % 2)
        model.learn_one({"c": ("red", "green")[i % 2]}, target)
    content = persistence.save_bytes(model)
    codes = (-(2.0**31), -2.0, 0.5, 3.0, 1e9, 1e300)
    columns = (1, 7, 2**14, 2**16 - 1)  # the only feature has the column 0
    for column, code in (*((0, code) for code in codes), *((column, 1.0) for column in columns)):

        def change(document: Any, arrays: Any, column: int = column, code: float = code) -> None:
            features, cuts, splits = nominal_splits(arrays)
            features[splits], cuts[splits] = column, code

        said = damage.outcome(damage.changed(content, change))
        assert said == "refused" or column == 0, column


LOSSES = [
    *(["int", "0x0"], ["int", hex(2**63)], ["int", hex(2**1600)]),
    *(["float", "inf"], ["float", "-0x1p-1"], ["float", "nan"]),
]


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("code", LOSSES, ids=range(6))
def test_sums_of_losses_that_no_answers_have_are_refused(code: Any, place: int) -> None:
    """Or the model goes on learning: the squares of large losses are infinite."""

    def change(document: Any, arrays: Any) -> None:
        tree = document[1]["state"][1]["core"][2]["parameters"][1][0][1]
        tree["cold_state"] = ["int", "0x0"]
        tree["last"] = ["list", [["int", "0x14"], *(["float", "0x1p+1"],) * 3]]
        tree["last"][1][place] = code

    content = damage.changed(damage.small_file("ForgetfulDecisionTreeRegressor", 40), change)
    is_harmless = (place > 0 and code == LOSSES[0]) or (place == 2 and code == LOSSES[3])
    assert damage.outcome(content) == ("sound" if is_harmless else "refused")
