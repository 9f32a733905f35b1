"""A watched model: the same answers, alarms after changes, and few alarms without."""

import math
import pickle
import random
import statistics
import typing
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from river import base, compose, evaluate, linear_model, metrics, preprocessing

import river_extra_trees as ret
from river_extra_trees._core.watch import STRENGTHS, Answers, Evidence, bet
from river_extra_trees.watch import Alarm
from river_extra_trees.watch.inputs import Inputs, share, words
from tests.naive import evidence as naive

Row = tuple[dict[Any, Any], Any]


def stream(
    n: int,
    seed: int = 0,
    change: Callable[[dict[Any, Any], Any], Row] | None = None,
    at: int = 4_000,
) -> Iterator[Row]:
    """One column that decides, two that do not; changed from sample `at` on."""
    rng = random.Random(seed)
    for i in range(n):
        x: dict[Any, Any] = {"a": rng.random(), "b": rng.gauss(0, 1), "c": rng.choice("uvw")}
        y: Any = (x["a"] > 0.5) ^ (rng.random() < 0.1)
        yield change(x, y) if change is not None and i >= at else (x, y)


def fed(model: Any, rows: Iterator[Row]) -> Any:
    for x, y in rows:
        model.predict_one(x)
        model.learn_one(x, y)
    return model


def tree(**parameters: Any) -> Any:
    return ret.StreamDecisionTreeClassifier(seed=1, **parameters)


# Evidence


def test_p_values_are_conformal() -> None:
    """The share of the numbers before, except those that wait, that are as large."""
    rng, draws = random.Random(0), random.Random(1)
    evidence, numbers = Evidence(math.inf, draws, 4), []
    for _ in range(naive.LEAST + naive.WAITING + naive.MOST + 40):
        number = rng.choice([0.0, 1.0, 2.0, rng.random()])
        before = numbers[: max(0, len(numbers) - naive.WAITING)][-naive.MOST :]
        state = draws.getstate()
        p = evidence.p_value(number)
        draws.setstate(state)
        ties = draws.random() * (before.count(number) + 1)
        assert p == (sum(each > number for each in before) + ties) / (len(before) + 1)
        evidence.keep(number)
        numbers.append(number)


SIGNALS: dict[str, Callable[[random.Random, int], float]] = {
    "normal": lambda rng, i: rng.gauss(0, 1),
    "runs": lambda rng, i: rng.gauss(i // 5 % 2, 0.2),
    "ties": lambda rng, i: float(rng.random() < 0.1),
    "steps": lambda rng, i: rng.gauss(i // 700, 1),
    "drift": lambda rng, i: rng.gauss(i / 400, 1),
}


@pytest.mark.parametrize("signal", SIGNALS)
def test_evidence_is_that_of_the_naive_version(signal: str) -> None:
    """Alarms, lengths of blocks and evidence, number by number, also after a pickle."""
    numbers, rng = random.Random(0), random.Random(1)
    fast, slow = Evidence(500.0, rng, 4), naive.Evidence(500.0, random.Random(1), 4)
    for i in range(2_500):
        if i % 400 == 0:
            fast = pickle.loads(pickle.dumps(fast))
        number = SIGNALS[signal](numbers, i)
        assert fast.ends(i) == slow.ends(i)
        if fast.ends(i):
            found = fast.update(number)
            assert found == slow.update(number)
            if found:
                assert fast.means() == pytest.approx(slow.means(), rel=1e-12)
                fast.restart()
                slow.restart()
        assert (fast.level, fast.n, fast.is_tested) == (slow.level, slow.n, slow.is_tested)
        assert fast.state()["ratios"] == pytest.approx(slow.ratios, rel=1e-12)


@pytest.mark.parametrize("unit", [2.0**-400, 2.0**-130, 2.0**130, 2.0**400])
def test_evidence_does_not_depend_on_the_unit_of_a_loss(unit: float) -> None:
    one, other = (Evidence(500.0, random.Random(1), 4) for _ in range(2))
    rng = random.Random(0)
    for i in range(600):
        number = abs(rng.gauss(1.0 if i < 500 else 3.0, 1.0))
        assert one.update(number) == other.update(unit * number)
    assert other.means() == tuple(unit * mean for mean in one.means())


def test_a_bet_earns_one_on_average() -> None:
    """Over uniform p-values: the integral of the bets from 0 to 1 is 1."""
    for i, strength in enumerate(STRENGTHS):
        # Over the logits of the p-values, both tails of the integrand fall exponentially.
        odds = [math.exp(-each / 100) for each in range(-20_000, 20_000)]
        earned = sum(0.01 * p * (1 - p) * bet(p, i) for p in (o / (1 + o) for o in odds))
        assert 0.99 < earned < 1.0 + 1e-9  # of p-values below 1e-12, less
        assert bet(0.01, i) == pytest.approx(naive.bet(0.01, strength), rel=1e-12)


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: rng.gauss(0, 1),
        lambda rng: rng.paretovariate(0.5),
        lambda rng: rng.random() < 0.1,
        lambda rng: 0.0,
    ],
    ids=["normal", "heavy tail", "rare", "constant"],
)
def test_run_lengths_reach_the_promise(draw: Callable[[random.Random], float]) -> None:
    """Whatever the distribution: on average at least 200 numbers until a false alarm."""
    rng = random.Random(3)
    lengths = []
    for _ in range(40):
        evidence, n = Evidence(200.0, rng, 4), 0
        while not evidence.update(float(draw(rng))) and n < 2_000:
            n += 1
        lengths.append(n)
    assert statistics.fmean(lengths) > 200


@pytest.mark.parametrize(
    ("before", "after", "n"),
    [(0.12, 0.2, 1_000), (0.0, 0.4, 48)],
    ids=["small, and lasts", "large, and is over soon"],
)
def test_changes_of_every_size_are_found(before: float, after: float, n: int) -> None:
    """Of the share of errors, from 4,000 to 4,000 + n; nothing is found before."""
    rng = random.Random(0)
    answers, found = Answers(False, Evidence(12_500.0, rng, 5)), []
    for i in range(5_000):
        share = after if 4_000 <= i < 4_000 + n else before
        if answers.judge(True, rng.random() >= share):
            found.append(i)
            answers.restart()
    assert len(found) == 1
    assert 4_000 <= found[0] < 4_500


def test_dependence_is_told_from_a_trend() -> None:
    """Numbers that come in runs are; a model that learns is not."""
    rng = random.Random(0)
    runs = [rng.gauss(i // 5 % 2, 0.2) for i in range(120)]
    trend = [rng.gauss(5 * math.exp(-i / 40), 0.5) for i in range(120)]
    assert naive.depend(runs)
    assert not naive.depend(trend)


# Changes

CHANGES: dict[str, tuple[Callable[[dict[Any, Any], Any], Row], str, Any]] = {
    "labels": (lambda x, y: (x, not y), "loss", None),
    "missing": (lambda x, y: ({**x, "b": None}, y), "inputs", "b"),
    "absent": (lambda x, y: ({"a": x["a"], "c": x["c"]}, y), "inputs", "b"),
    "unit": (lambda x, y: ({**x, "b": 1_000 * x["b"]}, y), "inputs", "b"),
    "shift": (lambda x, y: ({**x, "b": x["b"] + 2}, y), "inputs", "b"),
    "value": (lambda x, y: ({**x, "c": "z"}, y), "inputs", "c"),
    "text": (lambda x, y: ({**x, "b": "?"}, y), "inputs", "b"),
    "name": (lambda x, y: ({**x, "d": 1}, y), "inputs", None),
}


@pytest.mark.parametrize("case", CHANGES)
def test_a_change_is_found_and_named(case: str) -> None:
    """Within 1,500 samples; the first alarm names it, and there was none before."""
    change, kind, column = CHANGES[case]
    watch = ret.Watch(tree(batch_size=10_000), seed=1)
    fed(watch, stream(5_500, change=change))
    assert watch.alarms
    assert all(alarm.n_samples > 4_000 for alarm in watch.alarms)
    assert (kind, column) in [(alarm.kind, alarm.column) for alarm in watch.alarms]
    assert all(0 < alarm.size < math.inf for alarm in watch.alarms)


def test_the_order_of_columns_is_no_change() -> None:
    """Samples have their columns in any order; some lack one."""
    inputs = [Inputs(1e9, random.Random(0)) for _ in range(2)]
    rng = random.Random(1)
    for i, (x, _) in enumerate(stream(640)):
        x = {name: value for name, value in x.items() if rng.random() < 0.8}
        names = rng.sample(sorted(x), len(x)) if i >= 64 else list(x)
        for each, row in zip(inputs, (x, {name: x[name] for name in names}), strict=True):
            each.add(row)
            if i % 8 == 7:
                each.end_block()
    states = [pickle.dumps(each.state()) for each in inputs]
    assert states[0] == states[1]
    assert inputs[0].counts.sum() == 0.0 < inputs[0].usual.sum()


def test_values_are_counted_in_their_bins() -> None:
    """A number by the edges below it, even one on an edge; a copy in a block counts the same."""
    inputs, rng = Inputs(1e9, random.Random(0)), random.Random(1)
    for x, _ in stream(64):
        inputs.add(x)
    inputs.end_block()
    edges, known = inputs.edges[2].copy(), inputs.values[3]
    assert known is not None
    expected = np.zeros_like(inputs.counts)
    for i in range(20):
        b: Any = rng.choice([*edges, -9.0, 9.0, 2, None, "?", rng.gauss(0, 1)])
        c = rng.choice(["u", "w", "z", None])
        inputs.add({"b": b, "c": c})
        is_number = isinstance(b, float | int)
        expected[0, 1] += 1
        expected[1, 0] += 1
        expected[2, 1 + np.searchsorted(edges, b) if is_number else 0] += 1
        expected[3, 0 if c is None else known.get(c, 1)] += 1
        if i == 13:
            inputs = pickle.loads(pickle.dumps(inputs))
    inputs.count()
    assert np.array_equal(inputs.counts, expected)


class AddsAnother(float):
    """A number that adds a sample to inputs while it is read."""

    inputs: Inputs

    def __float__(self) -> float:
        self.inputs.add({"a": 0.5, "b": 0.5, "c": "u"})
        return 0.5


def test_a_value_may_add_another_sample() -> None:
    """There is room for eight that are held, and the ninth would not be in it."""
    inputs = AddsAnother.inputs = Inputs(1e9, random.Random(0))
    for x, _ in stream(64):
        inputs.add(x)
    inputs.end_block()
    for _ in range(7):
        inputs.add({"b": 0.5})
    inputs.add({"b": AddsAnother(0.5)})
    inputs.count()
    assert inputs.counts[2].sum() == 8.0


def test_the_effective_memory_is_watched() -> None:
    """Weights that move to small windows are a signal of their own."""
    watch = ret.Watch(ret.ExtraTreesClassifier(n_models=10, window_sizes=(30, 3_000), seed=1))
    before = fed(watch, stream(3_000)).model.effective_memory
    flips = stream(3_000, seed=1, change=lambda x, y: (x, not y), at=0)
    assert fed(watch, flips).alarms
    assert watch.model.effective_memory < before <= 3_000


def test_a_loss_that_falls_is_no_alarm() -> None:
    """A model that begins to learn late becomes better."""
    watch = ret.Watch(tree(batch_size=3_000), seed=1)
    assert not fed(watch, stream(9_000)).alarms


class Right(base.Classifier):
    """It is right, or wrong, at every sample."""

    def __init__(self, answer: bool) -> None:
        self.answer = answer

    def learn_one(self, x: Any, y: Any) -> None:
        """Learn nothing."""

    def predict_one(self, x: Any) -> Any:
        return self.answer


@pytest.mark.parametrize("answer", [True, False])
def test_what_never_moves_raises_no_alarm(answer: bool) -> None:
    """However often the draws that break ties look like a change; nor do columns of infinities."""
    x = {"one": 1.0, "word": "k", "none": None, "low": -math.inf, 5: 10**30}
    watch = ret.Watch(Right(answer), 64)
    rows = (({**x, "inf": (-1) ** i * math.inf}, True) for i in range(20_000))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert {alarm.column for alarm in fed(watch, rows).alarms} <= {"inf"}


def test_alarms_name_numbers_in_words() -> None:
    """A bin by its ends, the lowest by its least number; small shares with two digits."""
    inputs = Inputs(1e9, random.Random(0))
    for i in range(64):
        inputs.add({"flag": i % 2, "size": float(i)})
    inputs.end_block()
    assert {words(inputs, 1, i) for i in range(2, 10)} > {"0"}
    assert words(inputs, 2, 2) == "between 0 and 4.84615"
    assert words(inputs, 2, 3) == "above 4.84615 and at most 9.69231"
    assert [share(each) for each in (0.0, 0.0012, 0.04, 0.56, 1.0)] == [
        *("0%", "0.12%", "4%", "56%", "100%")
    ]


def test_a_column_that_moves_by_itself_is_soon_left_alone() -> None:
    """A level that lasts for some hundred samples: its blocks become longer."""
    watch, level = ret.Watch(tree(batch_size=100_000), seed=1), random.Random(1)
    rows = list(stream(40_000))
    for i, (x, _) in enumerate(rows):
        x["level"] = level.random() if i % 700 == 0 else rows[i - 1][0]["level"]
    fed(watch, iter(rows))
    alarms = [alarm for alarm in watch.alarms if alarm.kind == "inputs"]
    assert {alarm.column for alarm in alarms} == {"level"}
    assert len(alarms) <= 5


def test_what_follows_a_change_is_usual() -> None:
    """One alarm when a unit changes, and one when it changes back."""
    watch, alarms = ret.Watch(tree(batch_size=100_000), seed=1), []
    for i, (x, y) in enumerate(stream(19_000)):
        x["b"] *= 1_000 if 5_000 <= i < 15_000 else 1
        watch.predict_one(x)
        watch.learn_one(x, y)
        alarms = [alarm.n_samples for alarm in watch.alarms if alarm.kind == "inputs"]
    assert [at // 5_000 for at in alarms] == [1, 3]


def test_late_labels_are_no_alarm() -> None:
    """Answers are judged as they were given, and the loss begins anew when labels become late."""
    watch, questions = ret.Watch(tree(batch_size=10_000), seed=1), []
    for i, (x, y) in enumerate(stream(8_000)):
        questions.append((x, y, watch.predict_one(x)))
        if i < 4_000:
            watch.learn_one(*questions.pop()[:2])
        elif len(questions) > 300:
            watch.learn_one(*questions.pop(0)[:2])
    assert not watch.alarms


# As the model alone


@pytest.mark.parametrize(
    "model",
    [
        tree(),
        ret.ExtraTreesRegressor(n_models=6, seed=1),
        compose.Pipeline(preprocessing.StandardScaler(), linear_model.LogisticRegression()),
    ],
    ids=["classifier", "regressor", "pipeline of river"],
)
def test_a_watched_model_predicts_as_it_would_alone(model: Any) -> None:
    rows = [
        ({"a": x["a"], "b": x["b"]}, float(y) if "Reg" in str(model) else y) for x, y in stream(600)
    ]
    if "Logistic" not in str(model):
        rows = [(x, float(y)) for x, y in rows] if "Regressor" in str(model) else rows
    alone, watch = model.clone(), ret.Watch(model.clone())
    for x, y in rows:
        assert watch.predict_one(x) == alone.predict_one(x)
        watch.learn_one(x, y)
        alone.learn_one(x, y)


class Counting(Right):
    """It counts its predictions."""

    n = 0

    def predict_one(self, x: Any) -> Any:
        Counting.n += 1
        return self.answer


@pytest.mark.parametrize("is_around", [True, False])
def test_a_pipeline_is_asked_once(is_around: bool) -> None:
    """With the watch around it, or behind what changes no sample."""
    scaler, model, Counting.n = preprocessing.StandardScaler(), Counting(True), 0
    watch = ret.Watch(scaler | model) if is_around else ret.ColumnKinds() | ret.Watch(model)
    for i in range(50):
        watch.predict_one({"a": float(i)})
        watch.learn_one({"a": float(i)}, True)
    assert Counting.n <= 50 + 1  # the first sample that is not the object that was asked


def test_watch_is_a_model_of_river() -> None:
    """Metrics, clones, pickles and pipelines take it."""
    watch = ret.Watch(tree(), false_alarms_per=5_000, seed=3)
    score = evaluate.progressive_val_score(stream(800), watch, metrics.Accuracy())
    alone = evaluate.progressive_val_score(stream(800), tree(), metrics.Accuracy())
    assert score.get() == alone.get()
    probabilities = evaluate.progressive_val_score(stream(500), watch.clone(), metrics.LogLoss())
    assert probabilities.get() > 0
    assert watch.clone()._get_params().keys() == watch._get_params().keys()
    copy = pickle.loads(pickle.dumps(watch))
    more = list(stream(4_000, seed=2, change=lambda x, y: (x, not y), at=1_000))
    assert list(fed(copy, iter(more)).alarms) == list(fed(watch, iter(more)).alarms) != []


def test_frames_are_read_as_rows() -> None:
    """`learn_many` is a loop of `learn_one`."""
    rows = list(stream(3_500, change=lambda x, y: ({**x, "b": 1e3}, not y), at=2_800))
    frame = pd.DataFrame([x for x, _ in rows])
    loop, frames = ret.Watch(tree(), 1_000), ret.Watch(tree(), 1_000)
    for x, y in rows:
        loop.learn_one(x, y)
    for i in range(0, len(rows), 700):
        frames.learn_many(frame[i : i + 700], [y for _, y in rows[i : i + 700]])
    assert list(loop.alarms) == list(frames.alarms) != []
    assert list(frames.predict_many(frame[:5])) == [loop.predict_one(x) for x, _ in rows[:5]]
    asked = frames.n_samples
    assert frames.predict_proba_many(frame[:5]).to_dict("records") == [
        loop.predict_proba_one(x) for x, _ in rows[:5]
    ]
    assert frames.n_samples == asked + 5


def test_refused_samples_are_not_watched() -> None:
    """Neither a question nor a sample that the model refuses leaves a trace."""
    watch = fed(ret.Watch(tree()), stream(100))
    before = pickle.dumps(watch)
    with pytest.raises(ValueError, match="finite"):
        watch.predict_one({"a": math.inf})
    for x, y, w in [({"a": math.inf}, True, 1.0), ({"a": 1.0}, None, 1.0), ({"a": 1.0}, True, -1)]:
        with pytest.raises((TypeError, ValueError)):
            watch.learn_one(x, y, w)
    assert pickle.dumps(watch) == before


def test_frames_are_refused_as_by_the_model() -> None:
    """Before anything is learned if the lengths differ, or at a row that is named."""
    watch, frame = ret.Watch(tree()), pd.DataFrame({"a": [1.0, 2.0, math.inf]})
    with pytest.raises(ValueError, match="X has 3 rows and y has 2"):
        watch.learn_many(frame, [True, False])
    assert watch.model.n_samples_seen == 0
    with pytest.raises(ValueError, match="row 2: feature 'a'"):
        watch.learn_many(frame, [True, False, True])
    assert watch.n_samples == watch.model.n_samples_seen == 2


def test_distributions_are_judged_by_their_means() -> None:
    """Questions for intervals are questions, too, of samples and of frames."""
    plain, dists, frames = (ret.Watch(ret.ExtraTreesRegressor(n_models=6, seed=1)) for _ in "abc")
    for x, y in stream(60):
        x, y = {"a": x["a"]}, x["a"] + y
        plain.predict_one(x)
        assert dists.predict_one(x, with_dist=True).mean == plain._answers.answer
        (found,) = frames.predict_many(pd.DataFrame([x]), with_dist=True)
        assert found.mean == plain._answers.answer
        for each in (plain, dists, frames):
            each.learn_one(x, y)
        assert dists._answers.total == plain._answers.total
    assert frames._answers.answer == plain._answers.answer


def test_what_is_no_sample_is_refused_by_the_model() -> None:
    """Also where the answers of late labels are looked up by the sample."""
    watch = ret.Watch(tree())
    for x, y in stream(20):
        watch.predict_one(x)
        watch.learn_one(dict(x), y)
    with pytest.raises(TypeError, match="x must be a mapping"):
        watch.learn_one(typing.cast(Any, 5), True)


def test_the_callback_gets_each_alarm() -> None:
    got: list[Alarm] = []
    watch = ret.Watch(tree(), on_alarm=got.append)
    fed(watch, stream(6_000, change=lambda x, y: (x, not y)))
    assert got == list(watch.alarms) != []
    assert str(got[0]).startswith(
        f"sample {got[0].n_samples:,}: the error of the latest 256 samples"
    )


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"model": preprocessing.StandardScaler()}, "model must be a classifier"),
        ({"false_alarms_per": 0}, "false_alarms_per"),
        ({"on_alarm": 1}, "on_alarm must be a function"),
        ({"seed": -1}, "seed"),
    ],
)
def test_parameters_are_checked(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ret.Watch(**{"model": tree(), **parameters})


@pytest.mark.parametrize("missing", ["_answers", "_inputs"])
def test_a_watch_without_its_parts_raises(missing: str) -> None:
    """The methods of every sample are compiled, where None has to be told from an object."""
    watched = ret.watch.Watch(ret.ExtraTreesClassifier())
    delattr(watched, missing)
    with pytest.raises(AttributeError):
        watched.predict_one({"a": 1})
