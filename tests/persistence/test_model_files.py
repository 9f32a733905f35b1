"""Model files: saved and loaded models are the same, now and in later versions."""

import decimal
import enum
import fractions
import functools
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from river import ensemble, preprocessing

import river_extra_trees as ret
from river_extra_trees import active, persistence
from river_extra_trees.persistence import files
from tests.tools import stored_models
from tests.tools.estimators import CASES, CLASSES, TIGHTEST, answers, learn, make, stream

Case = tuple[str, int]


class Colour(enum.IntEnum):
    """A label that is an int, and is not."""

    RED = 1


@pytest.mark.parametrize(
    ("case", "n", "changes"),
    [
        *((case, 137, {}) for case in CASES),
        *((case, 0, {}) for case in TIGHTEST),
        *((case, 1, {"seed": None}) for case in TIGHTEST),  # it goes on with the one it drew
    ],
    ids=str,
)
def test_loaded_models_go_on_alike(
    case: Case, n: int, changes: dict[str, Any], tmp_path: Path
) -> None:
    """A model that was saved in mid-stream goes on as the original does, to the last bit."""
    model = learn(make(case, **changes), stream(case, n))
    persistence.save(model, tmp_path / "model")
    other = persistence.load(tmp_path / "model")
    assert type(other) is type(model)
    assert other._get_params() == model._get_params()
    asked = list(stream(case, 40, seed=2))
    assert answers(other, asked) == answers(model, asked)
    then = list(stream(case, 90, seed=1))
    assert answers(learn(other, then), asked) == answers(learn(model, then), asked)
    other._state()["core"].check()
    # Files do not depend on how a model came to be: loaded, learned twice, or pickled.
    content = persistence.save_bytes(model)
    assert persistence.save_bytes(other) == content
    assert persistence.save_bytes(pickle.loads(pickle.dumps(model))) == content
    if not changes:
        twin = learn(make(case), stream(case, n))
        answers(twin, asked)  # which wait for their labels
        answers(learn(twin, then), asked)
        assert persistence.save_bytes(twin) == content


VALUES = [
    *(True, False, 0, -(2**70), 1.5, -0.0, 5e-324, "", "grün\ud800", b"\0\xff", ("a", (1, None))),
    *(np.bool_(True), np.int8(-3), np.uint64(2**64 - 1), np.float32(0.1), np.float64(2.5)),
    *(np.str_("s"), np.bytes_(b"a\0b"), (), np.longlong(-3), np.ulonglong(2**64 - 1)),
]
KEPT: dict[type, Any] = {np.longlong: np.int64, np.ulonglong: np.uint64}  # of the same 64 bits


@pytest.mark.parametrize("value", VALUES, ids=lambda value: f"{type(value).__name__}:{value!a}")
def test_labels_names_and_values_keep_their_types(value: Any) -> None:
    """What comes back is what was learned, of the same type, as label, name and nominal value.

    It finds what was learned.
    """
    model = ret.StreamDecisionTreeClassifier(seed=1)
    for i in range(6):
        model.learn_one({value: float(i), "other": (value,)}, value if i % 2 else "else")
    content = persistence.save_bytes(model)
    loaded = persistence.load_bytes(content)
    assert persistence.save_bytes(loaded) == content
    x = {value: 1.0, "other": (value,)}
    assert loaded.predict_proba_one(x)[value] == model.predict_proba_one(x)[value]
    assert loaded._core.schema.row_of(x) == model._core.schema.row_of(x)
    core, kept = loaded._core, KEPT.get(type(value), type(value))
    (label,) = (label for label in core.labels.labels if label != "else" or value == "else")
    (name_again,) = (found for found in core.schema.names if found != "other")
    (category,) = next(iter(next(codes for codes in core.schema.codes if codes).values()))
    for found in (label, name_again, category):
        assert type(found) is kept
        assert repr(found) == repr(kept(value))


def test_bytes_of_any_kind_are_loaded() -> None:
    """As they come from a socket or a shared memory; what is no bytes is refused."""
    content = persistence.save_bytes(ret.StreamDecisionTreeClassifier(seed=1))
    for kind in (bytes, bytearray, memoryview, np.bytes_):
        assert persistence.save_bytes(persistence.load_bytes(kind(content))) == content
    for other in (None, "text", 7, [1], np.zeros(9, np.uint8)):
        with pytest.raises(TypeError, match=rf"must be bytes, .*, not '{type(other).__name__}'"):
            persistence.load_bytes(other)


ODD = frozenset({1})
DEEP: Any = functools.reduce(lambda label, _: (label,), range(100), ())
OTHERS = [decimal.Decimal(1), fractions.Fraction(1, 3), np.longdouble(0.5), ODD, Colour.RED]


@pytest.mark.parametrize(
    ("x", "y", "says"),
    [
        *(({"a": 1.0}, label, f": a label: .*{type(label).__name__}") for label in OTHERS),
        ({"a": 1.0}, (1, ODD), ": a label: frozenset.* has the type"),
        ({ODD: 1.0}, "red", ": a feature name: frozenset.* has the type"),
        ({"a": ODD}, "red", ": a nominal value: frozenset.* has the type"),
        ({"a": 1.0}, DEEP, ": a label: .* too deep"),
    ],
    ids=range(9),
)
@pytest.mark.parametrize("name", ["StreamDecisionTreeClassifier", "DynamicTreeClassifier"])
def test_what_cannot_be_saved_is_named(
    name: str, x: Any, y: Any, says: str, tmp_path: Path
) -> None:
    """With its place, in the words of whoever gave it; the file that was there stays."""
    model = getattr(ret, name)(seed=1)
    persistence.save(model, tmp_path / "model")
    model.learn_one(x, y)
    with pytest.raises(persistence.ModelFileError, match=says):
        persistence.save(model, tmp_path / "model")
    assert persistence.load(tmp_path / "model").n_samples_seen == 0


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("leaf_memory", decimal.Decimal(10), ": the parameter leaf_memory: Decimal"),
        ("batch_size", 11, "could not be loaded again, because the parameter batch_size differs"),
    ],
)
def test_parameters_that_were_changed_are_named(name: str, value: Any, says: str) -> None:
    """Behind the model's back; the bytes are read back before they replace a file."""
    model = ret.StreamDecisionTreeClassifier(batch_size=10)
    vars(model)[name] = value
    with pytest.raises(persistence.ModelFileError, match=says):
        persistence.save_bytes(model)


def test_only_estimators_of_this_package_are_saved() -> None:
    """Ensembles and subclasses hold what a file knows nothing of."""

    class Mine(ret.StreamDecisionTreeClassifier):
        pass

    bagging = ensemble.BaggingClassifier(ret.StreamDecisionTreeClassifier())
    regressor = ret.DynamicTreeRegressor(n_particles=4)
    others = (active.AcquisitionSampler(regressor), regressor.snapshot(), None)
    for model in (bagging, Mine(), preprocessing.StandardScaler(), *others):
        with pytest.raises(TypeError, match="only the estimators that river_extra_trees exports"):
            persistence.save_bytes(model)  # type: ignore[arg-type]


STORED = sorted(stored_models.FOLDER.glob("version_2/*.model"))


@pytest.mark.parametrize("path", STORED, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_stored_files_load_for_ever(path: Path) -> None:
    """The files of each version of the format give the answers they gave then, and learn on.

    They name core objects by all tags, whatever the classes are called.
    """
    case = stored_models.case_of(path)
    expected = json.loads(path.with_suffix(".json").read_text())
    model = persistence.load(path)
    assert np.allclose(stored_models.predictions(model, case), expected, rtol=1e-9, atol=1e-12)
    learn(model, stream(case, 80, seed=1))
    assert model.n_samples_seen == stored_models.LEARNED + 80
    model._state()["core"].check()


def test_stored_files_stay_as_they_are() -> None:
    """Whoever writes one anew has to change the list of their hashes, too."""
    assert stored_models.hashes() == (stored_models.FOLDER / "SHA256SUMS").read_text()


def test_every_estimator_has_stored_files() -> None:
    """Of the present version."""
    folder = stored_models.FOLDER / f"version_{files.VERSION}"
    assert {path.stem.rsplit("_", 1)[0] for path in folder.glob("*.model")} == set(CLASSES)
