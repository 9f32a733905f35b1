"""Model files: saved and loaded models are the same, and no bytes do any harm."""

from __future__ import annotations

import decimal
import enum
import fractions
import itertools
import json
import os
import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from river import compose, preprocessing

import river_extra_trees as ret
from river_extra_trees import _atomic, _container, persistence
from tests import damage, stored_models
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
    for model in (pipeline, Mine(), preprocessing.StandardScaler(), None):
        with pytest.raises(TypeError, match="only estimators of river_extra_trees"):
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


def test_every_truncation_and_every_flipped_bit_is_noticed() -> None:
    """Accidents raise the one error, and nothing else."""
    content = damage.small_file("StreamDecisionTreeClassifier")
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


def changed(content: bytes, change: Any) -> bytes:
    """A file whose document and arrays were changed by a function, signed anew."""
    version, document, arrays = _container.unpack(content, persistence.MAGIC, range(1, 2))
    change(document, arrays)
    return _container.pack(persistence.MAGIC, version, document, arrays)


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


def test_every_estimator_has_stored_files() -> None:
    """Of the present version."""
    folder = stored_models.FOLDER / f"version_{persistence.VERSION}"
    assert {path.stem.rsplit("_", 1)[0] for path in folder.glob("*.model")} == set(ret.__all__)
