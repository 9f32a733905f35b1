"""Evaluation on frames gives what river's gives on their rows."""

import datetime
import functools
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import narwhals
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river import compose, dummy, evaluate, linear_model, metrics, preprocessing, tree, utils

import river_extra_trees as ret
from river_extra_trees import persistence, streams
from river_extra_trees.evaluate import iter_progressive_val_score, progressive_val_score
from river_extra_trees.evaluate.batches import batches_of, samples_of
from tests.tools.estimators import frozen
from tests.tools.tables import write

KINDS: dict[str, Any] = {
    "pandas": pd.DataFrame,
    "pandas, nullable": lambda data: pd.DataFrame(data).convert_dtypes(),
    "pandas of arrow": lambda data: pd.DataFrame(data).convert_dtypes(dtype_backend="pyarrow"),
    "pandas, one block": lambda data: pd.DataFrame(data).copy(),
    "polars": pl.DataFrame,
    "narwhals": lambda data: narwhals.from_native(pl.DataFrame(data)),
    "pyarrow": pa.table,
    "record batch": pa.RecordBatch.from_pydict,
}


class ContraryClassifier(ret.StreamDecisionTreeClassifier):
    """A model derived from one of ours, whose methods are called for each row."""

    def predict_one(self, x: Any) -> Any:
        return not super().predict_one(x)


OURS: dict[str, dict[str, Any]] = {
    "StreamDecisionTree": {"batch_size": 10},
    "ExtraTrees": {"n_models": 2, "batch_size": 10, "window_sizes": (20, 30)},
    "DynamicTree": {"n_particles": 3},
    "ShrubEnsemble": {},
    "ForgetfulDecisionTree": {},
    "ForgetfulRandomForest": {"n_models": 2},
}
LEARNERS: dict[str, Any] = {
    **{
        name + task: functools.partial(getattr(ret, name + task), **parameters, seed=1)
        for name, parameters in OURS.items()
        for task in ("Classifier", "Regressor")
    },
    "ContraryClassifier": ContraryClassifier,
    "NoChangeClassifier": dummy.NoChangeClassifier,
    "HoeffdingTreeClassifier": lambda: tree.HoeffdingTreeClassifier(grace_period=10),
    "HoeffdingTreeRegressor": lambda: tree.HoeffdingTreeRegressor(grace_period=10),
    "pipeline of ours, a Classifier": lambda: (
        compose.Discard("b") | ret.StreamDecisionTreeClassifier(seed=1)
    ),
    "pipeline of river, a Regressor": lambda: (
        preprocessing.StandardScaler() | linear_model.LinearRegression()
    ),
}
TREE, SHRUBS = (LEARNERS[f"{name}Classifier"] for name in ("StreamDecisionTree", "ShrubEnsemble"))
OF_LABELS: list[Any] = [
    metrics.Accuracy,
    metrics.F1,
    lambda: metrics.BalancedAccuracy() + metrics.CohenKappa() + metrics.MacroF1(),
    metrics.ROCAUC,
    metrics.CrossEntropy,
    lambda: metrics.Accuracy() + metrics.LogLoss(),
    lambda: utils.Rolling(metrics.Accuracy, window_size=20),
]
OF_NUMBERS: list[Any] = [metrics.MAE, lambda: metrics.RMSE() + metrics.R2() + metrics.SMAPE()]


def table_of(n: int, seed: int) -> tuple[dict[str, Any], list[Any]]:
    """Columns of numbers with gaps, and of names; and labels."""
    rng = np.random.default_rng(seed)
    gaps = [None if value < 0.1 else float(value) for value in rng.random(n)]
    data = {"a": rng.normal(size=n).tolist(), "b": rng.choice(["x", "y"], n).tolist(), "c": gaps}
    return data, [value > 0 for value in data["a"]]


def rows_of(data: dict[str, Any], targets: list[Any]) -> Iterator[tuple[dict[str, Any], Any]]:
    for i, y in enumerate(targets):
        yield {name: column[i] for name, column in data.items() if column[i] is not None}, y


def pieces_of(data: dict[str, Any], targets: list[Any], size: int, kind: str) -> Iterator[Any]:
    """Pairs of frames and targets."""
    for start in range(0, len(targets), size):
        part = slice(start, start + size)
        frame = KINDS[kind]({name: column[part] for name, column in data.items()})
        yield frame, targets[part]


def same(
    data: Any,
    rows: Any,
    make: Any,
    metric: Any = metrics.Accuracy,
    target: Any = None,
    weight: str | None = None,
    **options: Any,
) -> None:
    """Check that data in any form score as their rows do, and teach the model the same."""
    model, by_rows = make(), make()
    found = progressive_val_score(data, model, metric(), target=target, weight=weight, **options)
    expected = evaluate.progressive_val_score(rows, by_rows, metric(), **options)
    assert frozen(found) == frozen(expected)
    if hasattr(model, "snapshot"):
        assert persistence.save_bytes(model) == persistence.save_bytes(by_rows)


@pytest.mark.parametrize("name", LEARNERS)
@settings(max_examples=15)
@given(st.data())
def test_results_are_those_of_river(name: str, data: Any) -> None:
    """Bit for bit, at every step, whatever the frames, the model and the metric."""
    draw = data.draw
    columns, targets = table_of(draw(st.integers(1, 150)), draw(st.integers(0, 9)))
    of_task = OF_LABELS[:2] if name == "NoChangeClassifier" else OF_LABELS
    if "Regressor" in name:
        targets, of_task = columns["a"], OF_NUMBERS
        if name.removesuffix("Regressor") not in OURS:  # others take complete numbers only
            del columns["b"], columns["c"]
    kind, size = draw(st.sampled_from(sorted(KINDS))), draw(st.integers(1, 200))
    make_metric = draw(st.sampled_from(of_task))
    options = {
        "delay": draw(st.sampled_from([None, None, 5])),
        "step": draw(st.sampled_from([0, 1, 7, 32, 50, 100])),
        **draw(st.sampled_from([{}, {"yield_predictions": True}])),
    }

    def reports(evaluated: Any, samples: Any) -> tuple[list[Any], bytes]:
        metric = make_metric()
        found = evaluated(samples, LEARNERS[name](), metric, **options)
        return [(report["Step"], repr(report)) for report in found], frozen(metric)

    found = reports(iter_progressive_val_score, pieces_of(columns, targets, size, kind))
    assert found == reports(evaluate.iter_progressive_val_score, rows_of(columns, targets))


@pytest.mark.parametrize("labels", [("x", "y"), (0, 1), (1.5, "one"), (True, 2)])
def test_new_labels_in_the_middle_of_a_frame(labels: tuple[Any, Any]) -> None:
    """Of any kind; before it was learned, a label had no probability."""
    data, _ = table_of(120, 1)
    targets = [labels[i >= 50 and i % 3 > 0] for i in range(120)]
    for metric in (metrics.CrossEntropy, metrics.ConfusionMatrix):
        same(pieces_of(data, targets, 64, "pyarrow"), rows_of(data, targets), TREE, metric)


def test_a_whole_frame_with_its_target() -> None:
    """The target is one of its columns, or stands beside it."""
    data, targets = table_of(100, 2)
    frame, features = pd.DataFrame({**data, "y": targets}), pd.DataFrame(data)
    halves = [frame[:60], frame[60:]]
    for given_as, target in ((frame, "y"), (halves, "y"), ((features, frame["y"]), None)):
        same(given_as, rows_of(data, targets), SHRUBS, target=target)


def test_arrays_and_samples() -> None:
    """An array has numbered columns; samples one by one are evaluated as river does."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(90, 3))
    y = X[:, 0] > X[:, 1]
    rows = [(dict(enumerate(x)), bool(label)) for x, label in zip(X.tolist(), y, strict=True)]
    for name in ("StreamDecisionTreeClassifier", "HoeffdingTreeClassifier"):
        for data in ((X, y), [(X[:40], y[:40]), (X[40:], y[40:])], rows):
            same(data, rows, LEARNERS[name])


def test_tables(tmp_path: Path) -> None:
    """A table is read batch by batch, as far as the model has come."""
    data, labels = table_of(300, 3)
    targets = ["no" if label else "yes" for label in labels]
    for path in (tmp_path / "table.parquet", tmp_path / "table.csv"):
        write(pd.DataFrame({**data, "y": targets}), path)
        for name in ("StreamDecisionTreeClassifier", "NoChangeClassifier"):
            table = streams.open_table(path, target="y", batch_size=70)
            same(table, rows_of(data, targets), LEARNERS[name])


def test_delays_by_moments() -> None:
    """They are river's, moments in a column included."""
    data, targets = table_of(80, 4)
    data["when"] = [datetime.datetime(2026, 1, 1) + datetime.timedelta(hours=i) for i in range(80)]
    make = lambda: compose.Discard("when") | TREE()  # noqa: E731
    delay = datetime.timedelta(hours=9)
    pieces = pieces_of(data, targets, 30, "polars")
    same(pieces, rows_of(data, targets), make, moment="when", delay=delay)


def test_printed_lines_are_those_of_river(capsys: pytest.CaptureFixture[str]) -> None:
    """With the time and the memory of the model itself, if they are wanted."""
    data, targets = table_of(100, 5)
    pieces = pieces_of(data, targets, 64, "pandas")
    same(pieces, rows_of(data, targets), SHRUBS, print_every=40, show_memory=True)
    lines = capsys.readouterr().out.splitlines()
    assert lines[: len(lines) // 2] == lines[len(lines) // 2 :]
    assert lines[0].endswith("iB")


@pytest.mark.parametrize("form", [*KINDS, "table"])
def test_weights_are_learned(form: str, tmp_path: Path) -> None:
    """The model and the score are those of river on samples with weights."""
    columns: dict[str, Any] = {"a": [i % 7 for i in range(300)]}
    columns["w"] = [float(i % 3) for i in range(300)]
    columns["y"] = [(i % 7 + i % 2) > 3 for i in range(300)]
    samples = [({"a": a}, y, {"w": w}) for a, w, y in zip(*columns.values(), strict=True)]
    if form == "table":
        write(pd.DataFrame(columns), tmp_path / "t.csv")
        same(streams.open_table(tmp_path / "t.csv", target="y", weight="w"), samples, TREE)
    else:
        same(KINDS[form](columns), samples, TREE, target="y", weight="w")


def test_what_is_refused() -> None:
    """With what to do instead; a bad row leaves the model as it was before its frame."""
    model = TREE()
    frame = pd.DataFrame({"a": [1.0, np.inf], "y": [1, 0]})
    with pytest.raises(ValueError, match="row 1"):
        progressive_val_score(frame, model, metrics.Accuracy(), target="y")
    assert model.n_samples_seen == 0
    with pytest.raises(ValueError, match="target="):
        progressive_val_score(frame, model, metrics.Accuracy())
    for names in ({"target": "z"}, {"target": "y", "weight": "z"}):
        with pytest.raises(ValueError, match="no column 'z'; the frame has a, y"):
            progressive_val_score(frame, model, metrics.Accuracy(), **names)
    for metric in (metrics.MAE(), utils.Rolling(metrics.MAE, window_size=9)):
        with pytest.raises(ValueError, match="is not compatible with StreamDecisionTreeClassifier"):
            progressive_val_score(frame, model, metric, target="y")
    with pytest.raises(ValueError, match="X has 2 rows and y has 1"):
        progressive_val_score((frame, [1]), model, metrics.Accuracy())
    with pytest.raises(ValueError, match="X has 2 rows, y has 2 and w has 1"):
        progressive_val_score([(frame, [1, 0], [1.0])], model, metrics.Accuracy())
    for dataset, name in (([()], "tuple"), ("t.csv", "str"), (Path("t.csv"), "Posix|Windows")):
        with pytest.raises(TypeError, match=f"cannot evaluate on '({name}).*open_table"):
            progressive_val_score(dataset, model, metrics.Accuracy())
    lazy = pl.LazyFrame({"a": [1]})
    for dataset in (lazy, [lazy], (lazy, [1]), [(lazy, [1])], narwhals.from_native(lazy)):
        with pytest.raises(TypeError, match=r"call \.collect\(\)"):
            progressive_val_score(dataset, model, metrics.Accuracy(), target="a")
    assert progressive_val_score([], model, metrics.Accuracy()).get() == 0


@pytest.mark.parametrize(("x", "y"), [(0, 1), (("a", 1), ("y", 0))])
def test_names_of_any_kind(x: Any, y: Any) -> None:
    """Whole numbers name columns, not rows; names of several levels are tuples."""
    frame = pd.DataFrame({y: [0, 1] * 50, x: [0.0, 1.0] * 50})
    rows = [({x: float(i % 2)}, i % 2) for i in range(100)]
    same(frame, rows, TREE, target=y)
    with pytest.raises(ValueError, match="no column 7; the frame has "):
        progressive_val_score(frame, TREE(), metrics.Accuracy(), target=7)


@pytest.mark.parametrize("step", [0, 100, 32])
@pytest.mark.parametrize("library", ["pandas", "numpy"])
def test_a_refused_row_of_a_frame_is_named_whatever_the_steps(library: str, step: int) -> None:
    """Nothing is learned after the last result, and the number is that of the row in the frame."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 2))
    y = ["p" if value > 0 else "q" for value in X[:, 0]]
    X[250, 0] = np.inf
    good = (X[:120], y[:120])
    model = ret.StreamDecisionTreeClassifier(seed=1)
    bad: Any = X if library == "numpy" else pd.DataFrame(X)
    with pytest.raises(ValueError, match=r"^row 250: feature 0: the value must be finite"):
        progressive_val_score([good, (bad, y)], model, metrics.Accuracy(), print_every=step)
    assert model.n_samples_seen == (120 + 250) // step * step if step else 120


@pytest.mark.parametrize("batch_size", [40, 1000])
def test_a_refused_row_of_a_table_is_named(tmp_path: Path, batch_size: int) -> None:
    """By its number in the table, which counts from 1 as other errors of tables do."""
    path = tmp_path / "t.csv"
    path.write_text("a,y\n" + "".join(f"{i},{1e200 if i == 71 else i}\n" for i in range(1, 101)))
    table = streams.open_table(path, target="y", batch_size=batch_size)
    model = ret.StreamDecisionTreeRegressor(seed=1)
    said = r"^row 71: the target must be .* not 1e\+200"
    with pytest.raises(ValueError, match=said):
        progressive_val_score(table, model, metrics.MAE(), print_every=50)


FEATURES = {"a": [0.5, None, 2.5, -1.0], "b": [1, 2, 3, 4], "c": ["x", None, "y", "x"]}
TARGETS: dict[str, list[Any]] = {
    "floats": [1.0, 2.5, 1.0, 0.5],
    "integers": [3, -1, 3, 2**60],
    "booleans": [True, False, True, True],
    "texts": ["no", "yes", "no", "no"],
    "moments": [datetime.datetime(2026, 11, 22, hour) for hour in (1, 2, 1, 3)],
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("targets", TARGETS.values(), ids=TARGETS)
def test_a_column_of_targets_is_split_off(kind: str, targets: list[Any]) -> None:
    """Wherever it stands, and whatever it holds; the rows are those of the rest of the frame."""
    samples = list(rows_of(FEATURES, targets))
    for names in ("yabc", "abyc", "abcy"):
        (batch,) = batches_of(
            KINDS[kind]({name: {**FEATURES, "y": targets}[name] for name in names}), "y"
        )
        assert batch.targets == targets
        assert list(samples_of(batch)) == samples
        assert list(samples_of(batch[1:3])) == samples[1:3]


@pytest.mark.parametrize("scalars", [np.array([1, 0], object), [np.int64(1), np.int64(0)]])
def test_numpy_scalars_become_numbers_of_python(scalars: Any) -> None:
    """In a series of objects, too: as predictions of a model that has learned them."""
    for targets in (scalars, pd.Series([np.int64(1), np.int64(0)], dtype=object)):
        (batch,) = batches_of((pd.DataFrame({"a": [0.5, 1.5]}), targets), None)
        assert [type(y) for y in batch.targets] == [int, int]


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_decimal_targets_are_scored_as_numbers(kind: str) -> None:
    """A regressor learns them as floats; labels they stay for a classifier."""
    columns = {"a": [i % 5 / 2 for i in range(60)], "y": [i % 4 / 2 for i in range(60)]}
    frame = KINDS[kind](columns | {"y": [Decimal(str(y)) for y in columns["y"]]})
    rows = rows_of({"a": columns["a"]}, columns["y"])
    same(frame, rows, LEARNERS["StreamDecisionTreeRegressor"], metrics.MAE, "y")
    model = TREE()
    progressive_val_score(frame, model, metrics.Accuracy(), target="y")
    assert {type(label) for label in model.predict_proba_one({})} == {Decimal}


@pytest.mark.parametrize("targets", [[], [1.0, Decimal(2), 3]])
def test_a_frame_without_rows_and_targets_of_several_types(targets: list[Any]) -> None:
    """A regressor learns them as river does."""
    data = pd.DataFrame({"a": [0.5] * len(targets)}), targets
    rows = [({"a": 0.5}, float(y)) for y in targets]
    same(data, rows, LEARNERS["StreamDecisionTreeRegressor"], metric=metrics.MAE)
