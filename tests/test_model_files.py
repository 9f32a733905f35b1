"""Model files: saved and loaded models are the same, and no bytes do any harm."""

from __future__ import annotations

import decimal
import enum
import fractions
import hashlib
import itertools
import json
import multiprocessing
import os
import pickle
import random
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from river import compose, preprocessing

import river_extra_trees as ret
from river_extra_trees import _atomic, _container, active, persistence
from tests import damage, nasty, stored_models
from tests.estimators import CASES, answers, learn, make, stream
from tests.killing import kill_often

Case = tuple[str, int]


class Colour(enum.IntEnum):
    """A label that is an int, and is not."""

    RED = 1


# --- The same model


@pytest.mark.parametrize("n", [0, 1, 137])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_loaded_models_go_on_alike(case: Case, n: int, tmp_path: Path) -> None:
    """A model that was saved in mid-stream goes on as the original does, to the last bit."""
    model = learn(make(case), stream(case, n))
    persistence.save(model, tmp_path / "model")
    other = persistence.load(tmp_path / "model")
    assert type(other) is type(model)
    assert other._get_params() == model._get_params()
    asked = list(stream(case, 40, seed=2))
    assert answers(other, asked) == answers(model, asked)
    then = list(stream(case, 90, seed=1))
    assert answers(learn(other, then), asked) == answers(learn(model, then), asked)
    other._state()["core"].check()
    assert persistence.save_bytes(other) == persistence.save_bytes(model)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_equal_models_give_equal_files(case: Case) -> None:
    """Files do not depend on how a model came to be: learned twice, copied, or pickled."""
    rows = list(stream(case, 120))
    content = persistence.save_bytes(learn(make(case), rows))
    again = learn(make(case), rows)
    assert persistence.save_bytes(again) == content
    assert persistence.save_bytes(pickle.loads(pickle.dumps(again))) == content


def test_a_drawn_seed_is_kept() -> None:
    """A model without a seed goes on with the one it drew."""
    for name in ("StreamDecisionForestClassifier", "ShrubEnsembleClassifier"):
        case = (name, 0)
        model = learn(make(case, seed=None), stream(case, 60))
        other = persistence.load_bytes(persistence.save_bytes(model))
        assert other.seed is None
        rows, asked = list(stream(case, 60, seed=1)), list(stream(case, 20, seed=2))
        assert answers(learn(other, rows), asked) == answers(learn(model, rows), asked)


VALUES = [
    *(True, False, 0, -(2**70), 1.5, -0.0, 5e-324, "", "grün\ud800", b"\0\xff", ("a", (1, None))),
    *(np.bool_(True), np.int8(-3), np.uint64(2**64 - 1), np.float32(0.1), np.float64(2.5)),
    *(np.str_("s"), ()),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: f"{type(value).__name__}:{value!a}")
@pytest.mark.parametrize("name", ["StreamDecisionTreeClassifier", "ShrubEnsembleClassifier"])
def test_labels_names_and_values_keep_their_types(name: str, value: Any) -> None:
    """What comes back is what was learned, of the same type, as label, name and nominal value."""
    model = getattr(ret, name)(seed=1)
    for i in range(6):
        model.learn_one({value: float(i), "other": (value,)}, value if i % 2 else "else")
    core = persistence.load_bytes(persistence.save_bytes(model))._state()["core"]
    (label,) = (label for label in core.labels.labels if label != "else" or value == "else")
    (name_again,) = (found for found in core.schema.names if found != "other")
    category = next(iter(next(codes for codes in core.schema.codes if codes)))[0]
    for found in (label, name_again, category):
        assert type(found) is type(value)
        assert repr(found) == repr(value)


# --- What cannot be saved


@pytest.mark.parametrize(
    "label", [decimal.Decimal(1), fractions.Fraction(1, 3), frozenset(), Colour.RED], ids=repr
)
def test_labels_of_other_types_are_refused_by_name(label: Any, tmp_path: Path) -> None:
    """The message names the value and its type, and the file that was there stays."""
    model = ret.StreamDecisionTreeClassifier()
    persistence.save(model, tmp_path / "model")
    model.learn_one({"a": 1.0}, label)
    with pytest.raises(persistence.ModelFileError, match=type(label).__name__):
        persistence.save(model, tmp_path / "model")
    assert persistence.load(tmp_path / "model").n_samples_seen == 0
    model = ret.StreamDecisionTreeClassifier()
    model.learn_one({"a": 1.0}, ((((((((label,),),),),),),),))
    with pytest.raises(persistence.ModelFileError, match=type(label).__name__):
        persistence.save_bytes(model)


def test_too_deep_a_label_is_refused() -> None:
    """Tuples within tuples have an end."""
    label: Any = ()
    for _ in range(100):
        label = (label,)
    model = ret.StreamDecisionTreeClassifier()
    model.learn_one({"a": 1.0}, label)
    with pytest.raises(persistence.ModelFileError, match="deep"):
        persistence.save_bytes(model)


def test_only_estimators_of_this_package_are_saved() -> None:
    """Pipelines and subclasses hold what a file knows nothing of."""

    class Mine(ret.StreamDecisionTreeClassifier):
        pass

    pipeline = compose.Pipeline(preprocessing.StandardScaler(), ret.StreamDecisionTreeClassifier())
    regressor = ret.DynamicTreeRegressor(n_particles=4)
    others = (active.AcquisitionSampler(regressor), regressor.snapshot(), None)
    for model in (pipeline, Mine(), preprocessing.StandardScaler(), *others):
        with pytest.raises(TypeError, match="only the estimators that river_extra_trees exports"):
            persistence.save_bytes(model)  # type: ignore[arg-type]


def test_a_model_that_could_not_be_loaded_is_not_saved(tmp_path: Path) -> None:
    """The bytes are read back before they replace a file."""
    model = ret.StreamDecisionTreeClassifier(batch_size=10)
    persistence.save(model, tmp_path / "model")
    model.batch_size = 11  # no longer what the core was made with
    with pytest.raises(persistence.ModelFileError, match="batch_size"):
        persistence.save(model, tmp_path / "model")
    assert persistence.load(tmp_path / "model").batch_size == 10


# --- Damage


@pytest.mark.parametrize("name", damage.SMALL)
def test_every_truncation_and_every_flipped_bit_is_noticed(name: str) -> None:
    """Accidents raise the one error, and nothing else."""
    content = damage.small_file(name)
    for damaged in itertools.chain(damage.truncations(content), damage.flips(content)):
        with pytest.raises(persistence.ModelFileError):
            persistence.load_bytes(damaged)


@pytest.mark.parametrize("name", damage.SMALL)
def test_flipped_bits_of_the_right_hash_do_no_harm(name: str) -> None:
    """A forger's file is refused, or is a sound model."""
    content = damage.small_file(name)
    n_text = int.from_bytes(content[12:20], "little")
    description = damage.flips(content, 8, 331)
    arrays = damage.flips(content, damage.START_OF_CONTENT + n_text, 149)
    said = {damage.outcome(damage.signed(bad)) for bad in itertools.chain(description, arrays)}
    assert said == {"refused", "sound"}


@pytest.mark.parametrize("name", damage.SMALL)
def test_random_damage_of_the_right_hash_does_no_harm(name: str) -> None:
    """So do other damages, to the description and to the arrays."""
    rng = random.Random(name)
    content = damage.small_file(name)
    for _ in range(60):
        damage.outcome(damage.scrambled(content, rng))


@pytest.mark.parametrize("name", damage.SMALL)
def test_nasty_values_of_the_right_hash_do_no_harm(name: str) -> None:
    """Some of them, in each place of the description and in each array."""
    counts = nasty.run(name, step=19, first=len(name))
    assert counts["refused"] > counts["sound"] > 0


def changed(content: bytes, change: Any) -> bytes:
    """A file whose document and arrays were changed by a function, signed anew."""
    file = nasty.opened(content)
    change(*file)
    return nasty.closed(file)


def drop(document: Any, arrays: Any) -> None:
    arrays.pop("state/core/prior/roots")


def add(document: Any, arrays: Any) -> None:
    arrays["more"] = np.zeros(3)


def rename(document: Any, arrays: Any) -> None:
    document[1]["class"] = ["str", "TreeLearner"]


def unhashable(document: Any, arrays: Any) -> None:
    document[1]["class"] = ["list", []]


def parameter(document: Any, arrays: Any) -> None:
    document[1]["parameters"][1]["depth"] = ["int", "0x1"]


def bad_parameter(document: Any, arrays: Any) -> None:
    document[1]["parameters"][1]["criterion"] = ["str", "none"]


def other_size(document: Any, arrays: Any) -> None:
    document[1]["parameters"][1]["batch_size"] = ["int", "0x7fffffff"]


def other_setting(document: Any, arrays: Any) -> None:
    document[1]["parameters"][1]["leaf_memory"] = ["none", None]


def other_family(document: Any, arrays: Any) -> None:
    document[1]["class"] = ["str", "DynamicTreeClassifier"]


def no_state(document: Any, arrays: Any) -> None:
    document[1]["state"] = ["dict", {}]


def deep(document: Any, arrays: Any) -> None:
    for _ in range(60):
        document[1]["state"] = ["list", [document[1]["state"]]]


def bad_name(document: Any, arrays: Any) -> None:
    document[1]["state"][1]["__class__"] = ["none", None]


def no_fields(document: Any, arrays: Any) -> None:
    document[1]["state"][1]["core"][2] = []


def no_class(document: Any, arrays: Any) -> None:
    document[1]["state"][1]["core"][1] = "Splitter"


@pytest.mark.parametrize(
    "change",
    [
        *(drop, add, rename, unhashable, parameter, bad_parameter, other_size, other_setting),
        *(other_family, no_state, deep, bad_name, no_fields, no_class),
    ],
)
def test_forged_documents_are_refused(change: Any) -> None:
    """Whatever the description says that is not so."""
    content = damage.small_file("StreamDecisionTreeClassifier")
    assert changed(content, lambda document, arrays: None) == content
    with pytest.raises(persistence.ModelFileError, match="not a sound model file"):
        persistence.load_bytes(changed(content, change))


def forest_of(arrays: Any, name: str) -> Any:
    """The links, the flags and the cuts of some tree that has a split by a nominal feature."""
    for path in arrays:
        if path.endswith("links"):
            place = path.removesuffix("links")
            flags = arrays[place + "flags"]
            if (flags[:, 0] != 0).any():
                cuts = "cuts" if place + "cuts" in arrays else "threshold"
                return arrays[path], flags, arrays[place + cuts]
    raise AssertionError(f"{name} has no split by a nominal feature")


def nominal_model(name: str) -> bytes:
    """The file of a model that splits by a nominal feature."""
    model = getattr(ret, name)(**damage.SMALL[name])
    for i in range(41):
        target = 100.0 * (i % 2)
        model.learn_one(
            {"c": ("red", "green")[i % 2]},
            target + 0.1 * (i % 7) if "Regressor" in name else str(target),
        )
    return persistence.save_bytes(model)


@pytest.mark.parametrize("name", damage.SMALL)
def test_a_nominal_leaf_is_refused(name: str) -> None:
    """A leaf has no feature, so there is no value that a code in it could stand for."""

    def change(document: Any, arrays: Any) -> None:
        links, flags, _ = forest_of(arrays, name)
        flags[links[:, 0] < 0, 0] = 1

    content = nominal_model(name)
    with pytest.raises(persistence.ModelFileError):
        persistence.load_bytes(changed(content, change))


@pytest.mark.parametrize("code", [-(2.0**31), -2.0, 0.5, 3.0, 1e9, 1e300])
@pytest.mark.parametrize("name", damage.SMALL)
def test_codes_of_no_value_do_no_harm(name: str, code: float) -> None:
    """A split by a code that no value has is refused, or parts missing values from all others."""

    def change(document: Any, arrays: Any) -> None:
        _, flags, cuts = forest_of(arrays, name)
        cuts[flags[:, 0] != 0] = code

    assert damage.outcome(changed(nominal_model(name), change)) in ("refused", "sound")


@pytest.mark.parametrize("column", [1, 7, 2**14, 2**31 - 1])
@pytest.mark.parametrize("name", damage.SMALL)
def test_splits_by_columns_that_are_not_there_are_refused(name: str, column: int) -> None:
    """The only feature has the column 0."""

    def change(document: Any, arrays: Any) -> None:
        links, _, _ = forest_of(arrays, name)
        links[links[:, 0] >= 0, 0] = column

    with pytest.raises(persistence.ModelFileError):
        persistence.load_bytes(changed(nominal_model(name), change))


def test_a_sample_that_no_tree_retains_is_refused() -> None:
    """It would take its place in the window for ever."""

    def change(document: Any, arrays: Any) -> None:
        for place in ("state/core/retained/0/", "state/core/retained/1/"):
            for name in ("slots", "copies"):
                arrays[place + name] = arrays[place + name][1:].copy()

    content = damage.small_file("ForgetfulRandomForestClassifier")
    with pytest.raises(persistence.ModelFileError, match="retained by no tree"):
        persistence.load_bytes(changed(content, change))


@pytest.mark.parametrize("name", damage.SMALL)
def test_samples_that_came_before_the_first_are_refused(name: str) -> None:
    """The last one, so far before that the difference to the one before it overflows."""

    def change(document: Any, arrays: Any) -> None:
        changed = [
            each for place, each in arrays.items() if place.endswith("arrival") and each.size
        ]
        for arrival in changed:
            arrival[-1] = -(2**63)
        assert changed

    with pytest.raises(persistence.ModelFileError, match="order"):
        persistence.load_bytes(changed(damage.small_file(name), change))


def competing() -> bytes:
    """The file of dynamic trees of several forgetting factors."""
    case = ("DynamicTreeRegressor", 0)
    model = ret.DynamicTreeRegressor(n_particles=8, window=20, forgetting_factor="auto", seed=1)
    return persistence.save_bytes(learn(model, stream(case, 60)))


def turn(roots: Any, stratum: Any) -> None:
    roots[:] = roots[::-1].copy()


def shift(roots: Any, stratum: Any) -> None:
    stratum[1] += 1 if stratum[2] - stratum[1] > 1 else -1


@pytest.mark.parametrize("move", [turn, shift])
def test_trees_of_another_forgetting_factor_are_refused(move: Any) -> None:
    """Each factor has the particles whose leaves forget by it."""

    def change(document: Any, arrays: Any) -> None:
        move(arrays["state/core/roots"], arrays["state/core/stratum"])

    content = competing()
    persistence.load_bytes(content)._state()["core"].check()
    with pytest.raises(persistence.ModelFileError, match="forgets otherwise than its particle"):
        persistence.load_bytes(changed(content, change))


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
    n = len(arrays["state/core/pool/v"])
    slots, codes = arrays["state/core/pool/slots"][:n], arrays["state/core/pool/v"][:, -1]
    return dict(zip(slots.tolist(), codes.tolist(), strict=True))


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
    said = "hold each point once" if move is hold_one_less else "not where its features lead"
    with pytest.raises(persistence.ModelFileError, match=said):
        persistence.load_bytes(changed(split_cloud(), lambda document, arrays: move(arrays)))


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
        tree = document[1]["state"][1]["trees"][1][0][1]
        tree["cold_state"] = ["int", "0x0"]
        tree["last"] = ["list", [["int", "0x14"], *(["float", "0x1p+1"],) * 3]]
        tree["last"][1][place] = SUMS[what]

    content = changed(damage.small_file("ForgetfulDecisionTreeRegressor", 40), change)
    harmless = (2, "infinite"), *((place, "none") for place in (1, 2, 3))
    assert damage.outcome(content) == ("sound" if (place, what) in harmless else "refused")


@pytest.mark.parametrize(
    "code",
    [
        *(None, [], ["?"], ["int", 3], ["int", "x"], ["int"], ["str", 1], ["float", "1e"]),
        *(["bytes", "0"], ["bool", 1], ["none", 0], ["list", 1], ["array", "a"], ["numpy", "x"]),
        *(["numpy", "int8", "int", "0x80"], ["numpy", "int8", "str", "a"], ["object", "X", {}]),
        *(["numpy", "float16", "float", "0x1p+20"], ["numpy", "uint8", "int", "-0x1"], ["dict", 1]),
        *(["numpy", "str", "int", "0x1"], ["numpy", "int64", "none", None]),
    ],
    ids=repr,
)
def test_values_that_are_not_what_their_tags_say_are_refused(code: Any) -> None:
    """A seed of any such form."""
    content = damage.small_file("StreamDecisionTreeClassifier")

    def change(document: Any, arrays: Any) -> None:
        document[1]["parameters"][1]["seed"] = code

    with pytest.raises(persistence.ModelFileError):
        persistence.load_bytes(changed(content, change))


@pytest.mark.parametrize("text", [b"[" * 100_000, b"\xff", b"", b"{}"], ids=len)
def test_descriptions_that_are_no_json_of_ours_are_refused(text: bytes) -> None:
    """Deep nesting, no UTF-8, nothing, something else."""
    block = _container.pack(b"12345678", 1, None, {})[-8:]
    head = _container.HEAD.pack(persistence.MAGIC, 1, len(text), len(block))
    with pytest.raises(persistence.ModelFileError):
        persistence.load_bytes(damage.signed(head + bytes(32) + text + block))


def test_a_name_that_is_there_twice_is_refused() -> None:
    """Two readers could otherwise take one file for two models."""
    content = damage.small_file("StreamDecisionTreeClassifier")
    n_text = int.from_bytes(content[12:20], "little")
    text = content[damage.START_OF_CONTENT :][:n_text]
    block = content[damage.START_OF_CONTENT + n_text :]
    text = text.replace(b'"seed":', b'"seed":["none",null],"seed":', 1)
    head = _container.HEAD.pack(persistence.MAGIC, 1, len(text), len(block))
    with pytest.raises(persistence.ModelFileError, match="description cannot be read"):
        persistence.load_bytes(damage.signed(head + bytes(32) + text + block))


def test_later_formats_are_named() -> None:
    """A file of the future says so."""
    content = bytearray(damage.small_file("StreamDecisionTreeClassifier"))
    content[8:12] = (99).to_bytes(4, "little")
    with pytest.raises(persistence.ModelFileError, match="version 99; this package reads 1 to 1"):
        persistence.load_bytes(damage.signed(bytes(content)))


def test_a_lying_length_takes_no_memory() -> None:
    """Lengths are compared with the file before anything is allocated."""
    content = damage.small_file("StreamDecisionTreeClassifier")
    for start in (12, 20):
        for length in (2**63, 2**64 - 1, 2**40):
            lying = content[:start] + length.to_bytes(8, "little") + content[start + 8 :]
            with pytest.raises(persistence.ModelFileError, match="header says"):
                persistence.load_bytes(damage.signed(lying))


def test_errors_name_the_file(tmp_path: Path) -> None:
    """The path is in the message; a file that is not there is the usual error."""
    (tmp_path / "broken").write_bytes(b"no model")
    with pytest.raises(persistence.ModelFileError, match="broken: not a sound model file"):
        persistence.load(tmp_path / "broken")
    with pytest.raises(FileNotFoundError):
        persistence.load(tmp_path / "absent")


# --- Interruptions


def test_killed_processes_leave_whole_files(tmp_path: Path) -> None:
    """After a kill -9 in the middle of a save the file is whole; the next save cleans up."""
    counts = kill_often(tmp_path, kills=50)
    assert counts["kills"] == 50
    assert counts["unreadable"] == counts["left_after_next_save"] == 0


def test_failed_writes_leave_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No space, an interrupt: the old file and nothing else."""
    path = tmp_path / "model"
    persistence.save(ret.StreamDecisionTreeClassifier(batch_size=7), path)
    for error in (OSError("no space"), KeyboardInterrupt()):

        def fail(file: int, content: Any, error: BaseException = error) -> int:
            raise error

        with monkeypatch.context() as patch:
            patch.setattr(os, "write", fail)
            with pytest.raises(type(error)):
                persistence.save(ret.StreamDecisionTreeClassifier(), path)
        assert os.listdir(tmp_path) == ["model"]
        assert persistence.load(path).batch_size == 7


def test_two_writers_wait_for_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A temporary file that took its final name while it was waited for is not written again."""
    path = tmp_path / "model"
    real, calls = _atomic.is_at, []

    def is_at(file: int, temporary: Path) -> bool:
        calls.append(temporary)
        if len(calls) == 1:
            temporary.unlink()  # as the other writer's rename does
        return real(file, temporary)

    monkeypatch.setattr(_atomic, "is_at", is_at)
    persistence.save(ret.StreamDecisionTreeClassifier(), path)
    assert len(calls) == 2
    assert os.listdir(tmp_path) == ["model"]
    monkeypatch.setattr(_atomic, "is_at", lambda file, temporary: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        persistence.save(ret.StreamDecisionTreeClassifier(), path)


def test_a_longer_file_that_was_left_behind_leaves_nothing(tmp_path: Path) -> None:
    """What an interrupted process has written is not the end of what the next one writes."""
    model = ret.StreamDecisionTreeClassifier(batch_size=7)
    (tmp_path / ".model.saving").write_bytes(bytes(10**6))
    persistence.save(model, tmp_path / "model")
    assert (tmp_path / "model").read_bytes() == persistence.save_bytes(model)
    assert os.listdir(tmp_path) == ["model"]


def test_bytes_are_on_the_disk_before_they_replace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The temporary file is flushed, takes its name, and then the folder is flushed."""
    calls = []

    def spy(name: str) -> None:
        real = getattr(os, name)

        def call(*arguments: Any) -> Any:
            folder = name == "fsync" and stat.S_ISDIR(os.fstat(arguments[0]).st_mode)
            calls.append(f"{name} folder" if folder else name)
            return real(*arguments)

        monkeypatch.setattr(os, name, call)

    for name in ("write", "fsync", "replace"):
        spy(name)
    persistence.save(ret.StreamDecisionTreeClassifier(), tmp_path / "model")
    assert calls == ["write", "fsync", "replace", "fsync folder"]


def save_often(path: Path, content: bytes) -> None:
    for _ in range(25):
        _atomic.replace_file(path, content)


def test_processes_that_save_the_same_file_take_turns(tmp_path: Path) -> None:
    """The file is always that of one of them; none fails, and nothing is left."""
    path = tmp_path / "model"
    contents = (b"a" * 2_000_000, b"b" * 1_500_000)
    path.write_bytes(contents[0])
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=save_often, args=(path, content)) for content in contents]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        assert path.read_bytes() in contents
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert os.listdir(tmp_path) == ["model"]


def test_a_link_in_the_place_of_the_temporary_file_is_not_followed(tmp_path: Path) -> None:
    """Nobody may choose what is written to."""
    (tmp_path / "other").write_text("of somebody else")
    (tmp_path / ".model.saving").symlink_to(tmp_path / "other")
    with pytest.raises(OSError, match="symbolic links"):
        persistence.save(ret.StreamDecisionTreeClassifier(), tmp_path / "model")
    assert (tmp_path / "other").read_text() == "of somebody else"
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o666], ids=oct)
def test_permissions_stay(mode: int, tmp_path: Path) -> None:
    """A file that others may not read is not opened to them; its owner may write."""
    path = tmp_path / "model"
    path.touch()
    path.chmod(mode)
    persistence.save(ret.StreamDecisionTreeClassifier(), path)
    assert stat.S_IMODE(path.stat().st_mode) == mode | 0o600


def test_what_replaces_a_closed_file_is_closed_from_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who opens the temporary file before it is written could read it later."""
    path = tmp_path / "model"
    path.touch()
    path.chmod(0o600)
    real, modes = os.ftruncate, []

    def spy(file: int, length: int) -> None:
        modes.append(stat.S_IMODE(os.fstat(file).st_mode))
        real(file, length)

    monkeypatch.setattr(os, "ftruncate", spy)
    persistence.save(ret.StreamDecisionTreeClassifier(), path)
    assert modes == [0o600]


@pytest.mark.parametrize("allowed", [True, False])
def test_a_group_that_cannot_be_given_gets_nothing(
    allowed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is given the group of the one before it, or closed to the group it has."""
    path = tmp_path / "model"
    path.touch()
    path.chmod(0o640)
    old, given = path.stat(), []

    def fchown(file: int, owner: int, group: int) -> None:
        given.append((owner, group))
        if not allowed:
            raise PermissionError

    fields = list(old)
    fields[stat.ST_GID] = old.st_gid + 1
    monkeypatch.setattr(os, "fchown", fchown)
    monkeypatch.setattr(_atomic, "status_of", lambda path: os.stat_result(fields))
    persistence.save(ret.StreamDecisionTreeClassifier(), path)
    assert given == [(-1, old.st_gid + 1)]
    assert stat.S_IMODE(path.stat().st_mode) == (0o640 if allowed else 0o600)


def test_only_regular_files_are_replaced(tmp_path: Path) -> None:
    """A pipe, a device and a folder stay what they are."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/null")):
        before = path.stat().st_mode
        with pytest.raises(OSError, match="only a regular file can be replaced"):
            persistence.save(ret.StreamDecisionTreeClassifier(), path)
        assert path.stat().st_mode == before
    assert os.listdir(tmp_path) == ["pipe"]


def test_the_longest_names_can_be_saved(tmp_path: Path) -> None:
    """Though nothing can be added to them for the temporary file."""
    for name in ("n" * 255, "ü" * 127):
        persistence.save(ret.StreamDecisionTreeClassifier(), tmp_path / name)
        assert persistence.load(tmp_path / name).n_samples_seen == 0
    assert len(os.listdir(tmp_path)) == 2


def test_links_stay_links(tmp_path: Path) -> None:
    """Saving through a symbolic link replaces what it points to."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real" / "model")
    persistence.save(ret.StreamDecisionTreeClassifier(), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert persistence.load(tmp_path / "real" / "model").n_samples_seen == 0


# --- Files of earlier versions


STORED = sorted(stored_models.FOLDER.glob("*/*.model"))


@pytest.mark.parametrize("path", STORED, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_stored_files_load_for_ever(path: Path) -> None:
    """The files of each version of the format give the answers they gave then, and learn on."""
    case = stored_models.case_of(path)
    expected = json.loads(path.with_suffix(".json").read_text())
    model = persistence.load(path)
    assert np.allclose(stored_models.said(model, case), expected, rtol=1e-9, atol=1e-12)
    learn(model, stream(case, 80, seed=1))
    assert model.n_samples_seen == stored_models.LEARNED + 80
    model._state()["core"].check()


def test_stored_files_stay_as_they_are() -> None:
    """Whoever writes one anew has to change the list of their hashes, too."""
    folder = stored_models.FOLDER
    files = {path for path in folder.glob("*/*") if path.suffix in (".model", ".json")}
    found = {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
    }
    lines = (folder / "SHA256SUMS").read_text().splitlines()
    assert found == {name: digest for digest, name in map(str.split, lines)}


def test_every_estimator_has_stored_files() -> None:
    """Of the present version."""
    folder = stored_models.FOLDER / f"version_{persistence.VERSION}"
    assert {path.stem.rsplit("_", 1)[0] for path in folder.glob("*.model")} == set(ret.__all__)
