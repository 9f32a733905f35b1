"""Pipelines in model files: they go on as before, and hold nothing but what the format knows."""

import copy
import decimal
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from river import compose, feature_extraction, linear_model, preprocessing, stats

import river_extra_trees as ret
from river_extra_trees import persistence
from river_extra_trees.persistence import pipelines
from tests.tools import damage


def stream(n: int, seed: int = 1, gaps: bool = False) -> Iterator[Any]:
    """Two numbers, one of them large, and two words; with `gaps`, some are missing."""
    rng = random.Random(seed)
    for _ in range(n):
        x = {
            **{"a": rng.gauss(3.0, 2.0), "b": rng.randrange(1000)},
            **{"c": rng.choice("uvw"), "d": rng.choice(("x", "y"))},
        }
        y = (x["a"] > 3.0) ^ (x["c"] == "u")
        if gaps:
            x |= {name: None for name in x if rng.random() < 0.2}
        yield x, y


def imputer() -> Any:
    return preprocessing.StatImputer(
        *(("a", stats.Mean()), ("b", stats.Sum()), ("c", stats.Mode(k=2)), ("d", "none"))
    )


def numbers(step: Any) -> Any:
    return compose.Select("a", "b") | step


def words(step: Any) -> Any:
    return compose.Select("c", "d") | step


def learner() -> Any:
    return ret.StreamDecisionTreeClassifier(batch_size=8, seed=1)


STEPS: dict[str, Any] = {
    "kinds": ret.ColumnKinds({"b": "nominal"}),
    "standard": numbers(preprocessing.StandardScaler()),
    "named": compose.Pipeline(("my columns", compose.Select("a", "b"))),
    "min-max": numbers(preprocessing.MinMaxScaler()),
    "max-abs": numbers(preprocessing.MaxAbsScaler()),
    "one-hot": words(preprocessing.OneHotEncoder()),
    "one-hot, first dropped": words(preprocessing.OneHotEncoder(drop_first=True)),
    "one-hot, fixed": words(preprocessing.OneHotEncoder({"c": {"u", "v"}, "d": {"x"}})),
    "ordinal": words(preprocessing.OrdinalEncoder(unknown_value=None)),
    "ordinal, fixed": words(preprocessing.OrdinalEncoder(categories={"c": {"u": 4}, "d": {}})),
    "hashed": preprocessing.FeatureHasher(n_features=7),
    "discard": compose.Discard("b", "d"),
    "renamed": compose.Prefixer("before ") | compose.Suffixer(" after"),
    "latest": preprocessing.PreviousImputer(),
    "imputed": imputer(),
    "union": numbers(preprocessing.StandardScaler())
    + words(preprocessing.OneHotEncoder())
    + compose.Select("b"),
    "long": imputer()
    | numbers(preprocessing.MinMaxScaler()) + words(preprocessing.OneHotEncoder())
    | compose.Discard("a"),
}


def made(name: str, n: int) -> tuple[Any, bool]:
    """A pipeline after n samples, and whether its samples have gaps."""
    gaps = name in ("latest", "imputed", "long")
    model = copy.deepcopy(STEPS[name]) | learner()
    for x, y in stream(n, gaps=gaps):
        model.learn_one(x, y)
    return model, gaps


@pytest.mark.parametrize("n", [0, 1, 150])
@pytest.mark.parametrize("name", STEPS)
def test_loaded_pipelines_go_on_alike(name: str, n: int, tmp_path: Path) -> None:
    """A saved pipeline answers and goes on learning as the original does, to the last bit."""
    model, gaps = made(name, n)
    persistence.save(model, tmp_path / "model")
    other = persistence.load(tmp_path / "model")
    assert list(other.steps) == list(model.steps)
    assert str(other) == str(model)
    # A file does not depend on how a pipeline came to be.
    content = persistence.save_bytes(model)
    assert persistence.save_bytes(copy.deepcopy(model)) == content
    for x, y in stream(150, seed=2, gaps=gaps):
        assert other.predict_proba_one(x) == model.predict_proba_one(x)
        model.learn_one(x, y)
        other.learn_one(x, y)
    assert persistence.save_bytes(other) == persistence.save_bytes(model)
    if name != "hashed":  # without a seed, each one draws another
        assert persistence.save_bytes(made(name, n)[0]) == content
        assert persistence.save_bytes(other.clone()) == persistence.save_bytes(model.clone())


def test_equal_sets_give_equal_files() -> None:
    """Sets that were filled in another order are written in the same one."""
    assert list({0, 8}) != list({8, 0})
    files = [persistence.save_bytes(compose.Discard(*v) | learner()) for v in ((0, 8), (8, 0))]
    assert files[0] == files[1]


class Scaler(preprocessing.StandardScaler):
    """Not river's own: it may do anything."""


MORE = preprocessing.StandardScaler()
MORE.more = 1  # type: ignore[attr-defined]
OTHER, UNFIT = ".*StandardScaler, .*save the learner alone", "Pipeline cannot be saved: .*"


@pytest.mark.parametrize(
    ("step", "says"),
    [
        (compose.FuncTransformer(dict), f"'type', a river.compose.func.FuncTransformer{OTHER}"),
        (compose.Select("a") + compose.FuncTransformer(dict), f"FuncTransformer{OTHER}"),
        (Scaler(), f"'Scaler', a tests.persistence.test_pipelines.Scaler{OTHER}"),
        (preprocessing.RobustScaler(), f"RobustScaler{OTHER}"),
        (preprocessing.AdaptiveStandardScaler(), f"AdaptiveStandardScaler{OTHER}"),
        (compose.SelectType(float), f"SelectType{OTHER}"),
        (feature_extraction.PolynomialExtender(), f"PolynomialExtender{OTHER}"),
        (preprocessing.StandardScaler(window_size=5), f"{UNFIT}'StandardScaler'.*: window_size"),
        (preprocessing.MinMaxScaler(window_size=5), f"{UNFIT}'MinMaxScaler'.*: window_size must"),
        (preprocessing.StatImputer(("a", stats.Quantile())), f"{UNFIT}'StatImputer'.* not .*Quan"),
        (preprocessing.StatImputer(("a", decimal.Decimal(1))), f"{UNFIT}decimal.Decimal"),
        (compose.Prefixer(decimal.Decimal(1)), f"{UNFIT}'Prefixer'.*: prefix must hold plain"),
        (MORE, rf"{UNFIT}unexpected or missing fields: \{{'more'"),
    ],
    ids=str,
)
def test_steps_that_no_file_can_hold_are_named(step: Any, says: str) -> None:
    """Those of other classes, and parameters that need one."""
    error = persistence.ModelFileError if says.startswith(UNFIT) else TypeError
    with pytest.raises(error, match=says):
        persistence.save_bytes(step | learner())


def test_the_last_step_is_ours() -> None:
    """A pipeline of river alone is no model of ours."""
    scaler = preprocessing.StandardScaler()
    for last in (linear_model.LogisticRegression(), preprocessing.MinMaxScaler()):
        with pytest.raises(TypeError, match=r"last step of a pipeline .*river_extra_trees, not "):
            persistence.save_bytes(scaler | last)
    with pytest.raises(TypeError, match="last step of a pipeline"):
        persistence.save_bytes(compose.Pipeline())


def use(model: Any) -> None:
    """Ask and teach a pipeline; river's steps may refuse a forged sum, but nothing breaks."""
    for x, y in stream(12, seed=3):
        try:
            model.predict_proba_one(x)
            model.learn_one(x, y)
        except (ValueError, TypeError, KeyError, ArithmeticError):
            break  # as it would with a pipeline that had learned such numbers
    (model._last_step if isinstance(model, compose.Pipeline) else model)._core.check()
    copy.deepcopy(model)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["one-hot", "imputed", "union", "standard", "ordinal", "long", "hashed"]
)
def test_damage_of_the_right_hash_does_no_harm(name: str) -> None:
    """A forger's file is refused, or is a pipeline of known steps and a sound model."""
    content = persistence.save_bytes(made(name, 10)[0])
    rng = random.Random(name)
    length = damage.length_of_header(content)
    flipped = (bad + content[length:] for bad in damage.flips(content[:length], 8, 197))
    said = {damage.outcome(damage.signed(bad), use) for bad in flipped}
    said |= {damage.outcome(damage.scrambled(content, rng), use) for _ in range(15)}
    assert said == {"refused", "sound"}
    assert damage.nasty_outcomes(content, 7, use).keys() == {"refused", "sound"}


@pytest.mark.parametrize("place", ["present/values/0", "n_samples", "n_complete"])
@pytest.mark.parametrize(
    "value", [["none", None], ["str", "1"], ["float", "0x1p-1"], ["int", "-0x1"], ["int", "0x14"]]
)
def test_forged_counts_of_column_kinds_are_refused(place: str, value: Any) -> None:
    """Counts are whole numbers up to that of the samples."""
    model = ret.ColumnKinds() | ret.StreamDecisionTreeClassifier(seed=1)
    for i in range(8):
        model.learn_one({"a": i}, i % 2)
    model.learn_one({}, 1)
    content = persistence.save_bytes(model)
    if place == "n_samples" and value == ["int", "0x14"]:
        persistence.load_bytes(damage.with_value(content, "0/1/state/" + place, value))
        return
    with pytest.raises(persistence.ModelFileError, match=r"no number of samples|another type"):
        persistence.load_bytes(damage.with_value(content, "0/1/state/" + place, value))


@pytest.mark.parametrize("kind", ["FuncTransformer", "Pipeline", "Mean", "os.system", 7, None])
def test_forged_classes_are_refused(kind: Any) -> None:
    """A name in a file is looked up in a table, and nowhere else."""
    document = pipelines.document_of(made("standard", 10)[0], lambda model: {})
    document["state"]["steps"][1][1]["class"] = kind
    state = pipelines.State("the file", document, pipelines.FIELDS)
    with pytest.raises(pipelines.StateError):
        pipelines.restored(state, lambda learner: None)
