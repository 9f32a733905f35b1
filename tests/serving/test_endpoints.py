"""Requests and answers, without a network."""

import asyncio
import pickle
import random
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from river import datasets, evaluate, metrics, preprocessing

import river_extra_trees as ret
from river_extra_trees import persistence
from river_extra_trees.serving.answers import Answers
from river_extra_trees.serving.description import explained
from river_extra_trees.serving.endpoints import Application, Limits
from river_extra_trees.serving.schema import Sample
from river_extra_trees.serving.service import Service
from tests.tools.command_line import done
from tests.tools.crowded import crowded
from tests.tools.estimators import learn
from tests.tools.http_service import JSON, LINES, SAMPLES, Answer, ask, asked, body_of, metrics_of

MOST_LABELS = 1024


def classifier(**parameters: Any) -> Any:
    return ret.StreamDecisionTreeClassifier(seed=1, **parameters)


def scaled() -> Any:
    return preprocessing.StandardScaler() | classifier()


def application(folder: Path, model: Any = None, **limits: int) -> Application:
    """A service of a model, which is on disk, too."""
    path = folder / "m.model"
    model = classifier() if model is None else model
    persistence.save(model, path)
    return Application(Service(model, path), Limits(**limits))


def content(app: Application) -> bytes:
    return persistence.save_bytes(app.service.model)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (classifier, "StreamDecisionTreeClassifier"),
        (scaled, "StandardScaler | StreamDecisionTreeClassifier"),
    ],
)
def test_the_service_learns_and_answers_as_the_model_does(
    tmp_path: Path, make: Any, name: str
) -> None:
    """Test-then-train gives the same answers and the same model, one by one and in lines.

    Weights count, and probabilities come when they are wanted.
    """
    one, many, later = (application(tmp_path, make()) for _ in range(3))
    alone, expected = make(), []
    weighted = [{**sample, "w": 1 + i % 3} for i, sample in enumerate(SAMPLES)]
    for sample in weighted:
        expected.append({"y": alone.predict_one(sample["x"])})
        alone.learn_one(sample["x"], sample["y"], w=sample["w"])
    assert [asked(one, "/predict-learn", body_of(s)).json for s in weighted] == expected
    answer = asked(many, "/predict-learn", body_of(*weighted), kind=LINES)
    assert answer.lines == expected
    assert answer.headers["content-type"] == LINES
    learned = asked(later, "/learn", body_of(*weighted), kind=LINES)
    assert learned.json == {"learned": 600, "samples_seen": 600}
    x = {"x": SAMPLES[7]["x"]}
    assert asked(later, "/predict", body_of(x)).json["y"] == alone.predict_one(x["x"])
    found = asked(later, "/predict?probabilities=true", body_of(x, x), kind=LINES).lines
    probabilities = {each["label"]: each["probability"] for each in found[1]["probabilities"]}
    assert probabilities == alone.predict_proba_one(x["x"])
    assert {content(app) for app in (one, many, later)} == {persistence.save_bytes(alone)}
    hits = [e["y"] == s["y"] for e, s in zip(expected, SAMPLES, strict=True) if e["y"] is not None]
    assert many.service.monitor.score == sum(hits) / len(hits)
    info = asked(one, "/status").json["info"]
    assert (info["model"], info["samples_seen"]) == (name, 600)


def test_explanations(tmp_path: Path) -> None:
    """An answer says on request what contributed most, of a pipeline what reaches its learner."""
    scaler, tree = preprocessing.StandardScaler(), ret.StreamDecisionTreeRegressor(seed=1)
    pipeline = scaler | tree
    for i in range(300):
        pipeline.learn_one({"a": i % 7, "b": i % 3}, float(i % 7 > 3))
    for model in (pipeline, pipeline["StreamDecisionTreeRegressor"]):
        app = application(tmp_path, model)
        x = {"a": 6.0, "b": 1.0}
        asked_for = asked(app, "/predict?explain=1", body_of({"x": x})).json
        found = asked_for["explanation"]
        wanted = explained(model, x)
        assert found["base_value"] == wanted.base_value
        assert found["output"] == pytest.approx(asked_for["y"])
        assert [(each["feature"], each["contribution"]) for each in found["contributions"]] == [
            (name, part) for name, _, part in wanted.largest(1)
        ]
        assert "explanation" not in asked(app, "/predict", body_of({"x": x})).json
        # The page asks for one of the latest predictions.
        latest = asked(app, "/status").json["latest"][0]
        shown = asked(app, f"/explanation?time={latest['time']!r}").json
        wanted = asked(app, "/predict?explain=10", body_of({"x": x})).json["explanation"]
        assert {each["feature"]: each["value"] for each in wanted["contributions"]} == x
        assert shown == wanted
        for query, status in (("time=1.5", 404), ("", 400), ("time=x", 400)):
            assert asked(app, f"/explanation?{query}").status == status


@pytest.mark.parametrize("path", ["/predict", "/predict-learn"])
def test_a_date_is_shown_as_it_was_sent(tmp_path: Path, path: str) -> None:
    """The page explains it when it is clicked, and its watch looks at what the model reads."""
    model = ret.ColumnKinds({"day": "date parts %d.%m.%Y"}) | classifier(batch_size=20)
    for day in range(1, 29):
        model.learn_one({"day": f"{day}.02.2026"}, day > 14)
    app, sent = application(tmp_path, model), {"day": "17.02.2026"}
    y = {"y": True} if path == "/predict-learn" else {}
    assert asked(app, path, body_of({"x": sent, **y})).status == 200
    (latest,) = asked(app, "/status").json["latest"]
    assert latest["x"] == "day 17.02.2026"
    explained = asked(app, f"/explanation?time={latest['time']!r}")
    assert explained.json["contributions"][0]["feature"].startswith("day")
    assert sent["day"] in [each["value"] for each in explained.json["contributions"]]
    answer = asked(app, f"{path}?explain=9", body_of({"x": sent, **y})).json
    assert sent["day"] in [each["value"] for each in answer["explanation"]["contributions"]]
    seen: list[dict[str, Any]] = []
    app.service.monitor.watch._see = seen.append  # type: ignore[method-assign]
    asked(app, path, body_of({"x": sent, **y}))
    assert {type(x["day"]) for x in seen} == {float}


@pytest.mark.parametrize(
    "model",
    [ret.DynamicTreeRegressor(n_particles=20, seed=1), ret.ExtraTreesRegressor(n_models=8, seed=1)],
    ids=lambda model: type(model).__name__,
)
def test_intervals(tmp_path: Path, model: Any) -> None:
    """Learners that predict distributions give intervals; others say that they do not."""
    rows = list(datasets.TrumpApproval().take(100))
    x, y = rows[-1]
    app = application(tmp_path, learn(model, rows))
    answer = asked(app, "/predict?interval=0.9", body_of({"x": x})).json
    low, high = answer["interval"]
    assert low < answer["y"] < high
    assert [low, high] == list(model.predict_one(x, with_dist=True).interval(0.9))
    refused = asked(app, "/predict?probabilities=1", body_of({"x": x}))
    assert (refused.status, "use a classifier" in refused.json["error"]) == (400, True)
    other = application(tmp_path, ret.StreamDecisionForestRegressor())
    for path, sample in (("/predict", {"x": x}), ("/predict-learn", {"x": x, "y": y})):
        refused = asked(other, f"{path}?interval=0.9", body_of(sample))
        assert (refused.status, "predicts no intervals" in refused.json["error"]) == (400, True)


def test_a_model_that_has_learned_nothing(tmp_path: Path) -> None:
    """It answers null, and its pages are there."""
    app = application(tmp_path)
    assert asked(app, "/predict", body_of({"x": {"a": 1}})).json["y"] is None
    for path in ("/health", "/info", "/status", "/metrics", "/"):
        assert asked(app, path).status == 200


@pytest.mark.parametrize("queue", [2, 1000])
def test_many_clients_at_once(tmp_path: Path, queue: int) -> None:
    """Requests that come together are learned, each completely, as far as the queue reaches.

    Those beyond it are told to come back; others than the model's are answered all the same.
    """
    app = application(tmp_path, queue=queue)

    async def storm() -> list[Answer]:
        parts = [body_of(*SAMPLES[i : i + 3]) for i in range(0, 300, 3)]
        all_came = threading.Event()
        app.thread.submit(all_came.wait)
        requests = [
            asyncio.create_task(ask(app.asgi, "/learn", part, kind=LINES)) for part in parts
        ]
        health = await ask(app.asgi, "/health")
        while sum(request.done() for request in requests) + app.waiting < len(requests):
            await asyncio.sleep(0)
        all_came.set()
        return [*await asyncio.gather(*requests), health]

    *answers, health = asyncio.run(storm())
    assert health.status == 200
    learned = [answer.json["samples_seen"] for answer in answers if answer.status == 200]
    assert sorted(learned) == [*range(3, 3 * min(queue, 100) + 1, 3)]
    refused = [answer for answer in answers if answer.status != 200]
    assert all((a.status, a.headers["retry-after"]) == (503, "1") for a in refused)
    assert asked(app, "/info").json["samples_seen"] == 3 * len(learned)  # there is room again


@pytest.mark.parametrize("bad", ['"text"', "9" * 400, "[1]"])
def test_one_bad_sample_of_many_refuses_all(tmp_path: Path, bad: str) -> None:
    """No step of a pipeline learns anything; the message names the line."""
    app = application(tmp_path, scaled())
    asked(app, "/learn", body_of(*SAMPLES[:50]), kind=LINES)
    before = pickle.dumps(app.service.model)
    line = f'{{"x": {{"https": {bad}}}, "y": true}}\n'.encode()
    for path in ("/learn", "/predict-learn"):
        answer = asked(app, path, body_of(*SAMPLES[50:60]) + line, kind=LINES)
        assert answer.status in (400, 422)
        assert answer.json["error"].startswith("line 11: ")
    assert asked(app, "/predict", b'{"x": {"https": "text"}}').status == 422
    assert pickle.dumps(app.service.model) == before


def test_labels_to_come_count(tmp_path: Path) -> None:
    """Samples that bring one label too many together are refused together."""
    model = learn(classifier(batch_size=2000), [({"a": 1.0}, i) for i in range(MOST_LABELS - 1)])
    app = application(tmp_path, model)
    before = content(app)
    new = [{"x": {"a": 1}, "y": f"new {i}"} for i in range(2)]
    for path in ("/learn", "/predict-learn"):
        answer = asked(app, path, body_of(*new), kind=LINES)
        assert (answer.status, answer.json["error"][:7]) == (422, "line 2:")
    assert content(app) == before
    assert asked(app, "/learn", body_of(new[0], new[0]), kind=LINES).status == 200


GOOD = body_of(SAMPLES[0])
WAYS = "the endpoints are POST /predict"
WRONG_LINES = [
    (400, "Invalid JSON", b"\xff"),
    (400, "Invalid JSON", b"[" * 3000),
    (400, "Invalid JSON", b'{"x": {"a": tru}, "y": 1}'),
    (400, "Input should be an object", b"[1]"),
    (400, "x: Input should be an object", b'{"x": [1], "y": 1}'),
    (400, "x: Field required", b'{"y": 1}'),
    (400, "y: Field required", b'{"x": {}}'),
    (400, "y: Value error, must be finite", b'{"x": {}, "y": -Infinity}'),
    (400, "there is no 'z' here, only x, y, w", b'{"x": {}, "y": 1, "z": 1}'),
    (422, "feature 'https': the value must be finite", b'{"x": {"https": 1e999}, "y": 1}'),
    (422, "feature 'a': ", b'{"x": {"a": [1]}, "y": 1}'),
    (422, "a label must not be None", b'{"x": {}, "y": null}'),
    (422, "w must be a number", b'{"x": {}, "y": 1, "w": "1"}'),
    (422, "w must be between 0 and", b'{"x": {}, "y": 1, "w": NaN}'),
]


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Application:
    """A service that takes short requests, with a model that has learned."""
    app = application(tmp_path_factory.mktemp("taught"), body=4000)
    app.service.learn([Sample(1, *sample.values()) for sample in SAMPLES[:100]])
    return app


@pytest.mark.parametrize(
    ("status", "says", "path", "body", "sent"),
    [
        (404, WAYS, "/x", None, {}),
        (404, WAYS, "/learn/", GOOD, {}),
        (404, WAYS, "/learn\x00", GOOD, {}),
        (405, WAYS, "/learn", None, {}),
        (405, WAYS, "/predict-learn", GOOD, {"method": "PUT"}),
        (413, "longer than 4,000 bytes", "/learn", b" " * 4001, {}),
        (413, "send fewer samples", "/learn", [b" " * 2100] * 2, {}),
        (415, JSON, "/learn", GOOD, {"kind": "text/plain"}),
        (415, JSON, "/learn", GOOD, {"kind": None}),
        (415, JSON, "/snapshot", b"", {"kind": None}),  # any page of a browser may send this
        (415, JSON, "/snapshot", b"", {"kind": "text/plain"}),
        (400, "id: Field required", "/labels", GOOD, {}),
        (422, "line 1: no answer waits under the id 'x'", "/labels", b'{"id": "x", "y": 1}', {}),
        (400, "takes no parameters", "/learn?w=1", GOOD, {}),
        (400, "interval: Input should be less than 1", "/predict-learn?interval=1", GOOD, {}),
        (400, "interval: Input should be a valid number", "/predict?interval=x", GOOD, {}),
        (400, "Input should be a valid boolean", "/predict?probabilities=", GOOD, {}),
        (400, "there is no 'proba' here, only probabilities", "/predict?proba=1", GOOD, {}),
        (400, "contains no sample", "/learn", b"\n\n", {"kind": LINES}),
        (400, "line 1: Invalid JSON", "/learn", GOOD + GOOD, {}),
        (400, "line 1: there is no 'y' here, only x", "/predict", GOOD, {}),
        *(
            (status, f"line 3: {says}", path, GOOD + b"\n" + line, {"kind": LINES})
            for path in ("/learn", "/predict-learn")
            for status, says, line in WRONG_LINES
        ),
    ],
)
def test_wrong_requests_change_nothing(
    taught: Application, status: int, says: str, path: str, body: Any, sent: dict[str, Any]
) -> None:
    """Each way to be wrong has its status, and the message says what is wrong, and where."""
    before = content(taught)
    answer = asked(taught, path, body, **sent)
    assert (answer.status, says in answer.json["error"]) == (status, True), answer
    assert content(taught) == before
    assert taught.service.monitor.n_learned == 100


@given(
    start=st.integers(0, 600),
    stop=st.integers(0, 600),
    text=st.binary(max_size=60),
    path=st.sampled_from(["/learn", "/predict-learn"]),
    kind=st.sampled_from([JSON, LINES]),
)
def test_damaged_requests(start: int, stop: int, text: bytes, path: str, kind: str) -> None:
    """Whatever a request holds, all of it is learned, or it is refused and nothing is."""
    app = Application(Service(classifier(), Path()), Limits())
    body = body_of(*SAMPLES[:3])
    answer = asked(app, path, body[:start] + text + body[stop:], kind=kind)
    assert answer.status == 200 or 400 <= answer.status < 500
    assert (app.service.samples_seen > 0) == (answer.status == 200)


def test_hosts(taught: Application) -> None:
    """Pages of other sites reach this machine by another name."""
    guarded = Application(taught.service, taught.limits, hosts=("localhost",))
    for host, status in (("localhost", 200), ("LOCALHOST:8000", 200), ("example.org", 400)):
        assert asked(guarded, "/info", headers={"host": host}).status == status


def test_an_error_of_the_service_is_told_and_counted(tmp_path: Path) -> None:
    """The answer is JSON, and the next request is answered."""
    app = application(tmp_path)
    model, app.service.model = app.service.model, None
    answer = asked(app, "/predict", body_of({"x": {}}))
    assert (answer.status, "its log" in answer.json["error"]) == (500, True)
    app.service.model = model
    assert asked(app, "/predict", body_of({"x": {}})).status == 200
    assert metrics_of(app)["requests_total /predict 500"] == 1


def test_snapshots(tmp_path: Path) -> None:
    """A failed one is told and counted, and the service goes on; the next one is the model."""
    app = application(tmp_path)
    path = app.service.path
    app.service.path = tmp_path / "absent" / "m.model"
    assert asked(app, "/learn", body_of(SAMPLES[0])).status == 200
    app.service.try_save()
    answer = asked(app, "/snapshot", b"")
    assert (answer.status, "cannot save" in answer.json["error"]) == (500, True)
    app.look()
    found = metrics_of(app)
    assert (found["snapshot_failures_total"], found["samples_unsaved"]) == (2, 1)
    assert "absent" in asked(app, "/info").json["save_error"]
    app.service.path = path
    assert asked(app, "/snapshot", b"").json["samples_seen"] == 1
    assert path.read_bytes() == content(app)
    info = asked(app, "/info").json
    assert (info["save_error"], info["unsaved_samples"]) == (None, 0)


def test_metrics(tmp_path: Path) -> None:
    """Prometheus reads counts, times, memory and the score."""
    app = application(tmp_path)
    asked(app, "/predict-learn", body_of(*SAMPLES), kind=LINES)
    asked(app, "/predict-learn", b"x")
    asked(app, "/x")
    app.look()
    app.look()  # nothing is counted twice
    found = metrics_of(app)
    assert found["requests_total /predict-learn 200"] == 1
    assert found["requests_total /predict-learn 400"] == 1
    assert found["requests_total other 404"] == 1
    assert found["request_seconds_count /predict-learn"] == 2
    assert found["samples_learned_total"] == found["samples_predicted_total"] == 600
    assert found["recent_score"] == app.service.monitor.recent_score
    assert found["model_memory_bytes"] == app.service.model._raw_memory_usage


@pytest.mark.filterwarnings("ignore:the model")
@pytest.mark.parametrize("last", ["late", 'a "b"', "two\nlines", "\ud800 is half a character"])
def test_names_without_a_free_place(tmp_path: Path, last: str) -> None:
    """The service and the command name the last one, until there is room again."""
    model = crowded(classifier(batch_size=20), 2, 2)
    learn(model, [({"a": float(i % 2), "b": float(i % 3)}, i % 2) for i in range(60)])
    app = application(tmp_path, model)
    written = last.encode(errors="backslashreplace").decode()
    none = {"crowded": None, "crowded_label": None}
    assert none.items() <= asked(app, "/info").json.items()
    learn(model, [({"a": 1.0, "b": float(i)}, 1) for i in range(30)])
    model.learn_one({last: 1.0}, last)
    persistence.save(model, tmp_path / "m.model")
    named = {"crowded": repr(last), "crowded_label": repr(last)}
    assert named.items() <= model.summary.items()
    assert named.items() <= asked(app, "/info").json.items()
    found = metrics_of(app)
    assert found[f"features_crowded {written}"] == found[f"labels_crowded {written}"] == 1.0
    assert done("info", tmp_path / "m.model").output.count(repr(last)) == 2


def test_columns_of_a_stream(tmp_path: Path) -> None:
    """Features that are missing or unknown, and new nominal values, are counted.

    New columns are learned; refused samples leave them as they were, and do not count.
    """
    model = ret.ColumnKinds() | classifier()
    learn(model, [({"size": i, "colour": "red"}, i % 2) for i in range(30)])
    app = Application(Service(model, tmp_path / "m.model"), Limits())
    new = {"size": "7", "colour": "green", "day": "2026-01-01"}
    for refused, says in (
        ([{"day": "2026-01-01"}, {"day": "x"}], "line 2: column 'day' holds 'x' among dates"),
        ([{"new": 1, "size": "big"}], "line 1: column 'size' holds 'big' among numbers"),
    ):
        before = content(app)
        answer = asked(app, "/learn", body_of(*({"x": x, "y": 1} for x in refused)), kind=LINES)
        assert (answer.status, says in answer.json["error"]) == (422, True)
        assert content(app) == before
    assert asked(app, "/learn", body_of({"x": new, "y": 1})).status == 200
    for x in ({"color": "red"}, {"colour": "blue"}, {"colour": "green"}):
        assert asked(app, "/predict", body_of({"x": x})).status == 200
    app.look()
    found = metrics_of(app)
    assert (found["features_missing_total"], found["features_unknown_total"]) == (7, 2)
    assert found["nominal_values_new_total"] == 2
    columns = asked(app, "/info").json["columns"]
    assert columns["size"] == {"kind": "number", "missing": 0.0}
    assert columns["day"]["kind"] == "date"
    wrong = asked(app, "/predict", body_of({"x": {"size": "large"}}))
    assert (wrong.status, "holds 'large' among numbers" in wrong.json["error"]) == (422, True)


@pytest.mark.parametrize(
    ("kind", "labels"), [("nominal", [7, "7", 7.0]), ("percentage", ["7%", 7])]
)
def test_a_kind_of_the_target(kind: str, labels: list[Any], tmp_path: Path) -> None:
    """What was declared for the table in training reads the labels of requests."""
    path, data = tmp_path / "m.model", tmp_path / "t.csv"
    data.write_text("a,y\n" + "1,7\n2,8\n" * 30)
    options = ("--target", "y", "--kind", f"y={kind}", "--task", "classification", "--save", path)
    done("train", data, "StreamDecisionTree", *options)
    app = application(tmp_path, persistence.load(path))
    known = asked(app, "/info").json["labels"]
    for label in labels:
        answer = asked(app, "/predict", body_of({"x": {"a": 1}})).json
        assert asked(app, "/labels", body_of({"id": answer["id"], "y": label})).status == 200
        assert asked(app, "/predict-learn", body_of({"x": {"a": 1}, "y": label})).status == 200
    assert asked(app, "/info").json["labels"] == known
    app.look()
    assert metrics_of(app)["recent_score"] == 1.0
    if kind != "nominal":
        wrong = asked(app, "/learn", body_of({"x": {"a": 1}, "y": "seven"}))
        assert (wrong.status, "'y' holds 'seven'" in wrong.json["error"]) == (422, True)


@pytest.mark.parametrize("value", [[1], {"q": 1}, [[]]])
@pytest.mark.parametrize("column", ["b", "new"])
def test_nested_values(tmp_path: Path, column: str, value: Any) -> None:
    """A list or an object is refused, in nominal columns, too, and in columns that are new."""
    model = learn(ret.ColumnKinds() | classifier(), [({"b": "p"}, 0), ({"b": "q"}, 1)])
    app = Application(Service(model, tmp_path / "m.model"), Limits())
    before = content(app), metrics_of(app)["features_unknown_total"]
    for path in ("/learn", "/predict-learn", "/predict"):
        if path != "/predict" or column == "b":  # the model ignores columns that it does not know
            sample = {"x": {column: value}, "y": 1}
            body = body_of({"x": sample["x"]} if path == "/predict" else sample)
            answer = asked(app, path, body)
            assert (answer.status, f"{column!r}" in answer.json["error"]) == (422, True)
    assert (content(app), metrics_of(app)["features_unknown_total"]) == before


def test_numbers_in_nominal_columns_of_a_learner(tmp_path: Path) -> None:
    """Without `ColumnKinds`, a number in a column that holds names alone is a name."""
    rows = [({"zip": zips, "mixed": "p"}, zips == "10115") for zips in ("10115", "10117") * 30]
    model = learn(ret.ExtraTreesClassifier(n_models=5, seed=1), [*rows, ({"mixed": 7}, True)])
    app = application(tmp_path, model)
    for code in ("10115", "10117"):
        answers = [
            asked(app, "/predict?probabilities=1", body_of({"x": {"zip": each}})).json
            for each in (code, int(code))
        ]
        assert answers[0]["probabilities"] == answers[1]["probabilities"]
    both = body_of({"x": {"zip": 10115}}, {"x": {"zip": 10117}})
    assert [each["y"] for each in asked(app, "/predict", both, kind=LINES).lines] == [True, False]
    before = content(app)
    assert asked(app, "/learn", body_of({"x": {"zip": 10115}, "y": True})).status == 200
    model.learn_one({"zip": "10115"}, True)
    assert content(app) == persistence.save_bytes(model) != before


def late(app: Application, samples: list[Any], delay: int) -> list[tuple[Any, Any]]:
    """Ask and label, each label `delay` samples late; return the answers and labels."""
    asked_for: list[Any] = []
    pairs = []
    for i in range(len(samples) + delay):
        if i < len(samples):
            asked_for.append(asked(app, "/predict", body_of({"x": samples[i]["x"]})).json)
        if i >= delay:
            answer, y = asked_for[i - delay], samples[i - delay]["y"]
            found = asked(app, "/labels", body_of({"id": answer["id"], "y": y}))
            assert (found.status, found.json["learned"]) == (200, 1)
            pairs.append((answer["y"], y))
    return pairs


@pytest.mark.parametrize("delay", [0, 1, 40])
def test_the_answers_that_were_sent_are_scored(tmp_path: Path, delay: int) -> None:
    """However late the labels come, the score is that of river's delayed evaluation.

    Labels repeat here, so that an answer given when the label comes would be right more often.
    """
    kind = partial(ret.ExtraTreesClassifier, n_models=5, seed=1)
    samples = [{"x": {"a": i % 7}, "y": "pq"[i // 30 % 2]} for i in range(300)]
    app = application(tmp_path, kind())
    pairs = late(app, samples, delay)
    right = sum(found == y for found, y in pairs)
    assert app.service.monitor.score == right / sum(found is not None for found, _ in pairs)
    rows, alone = [(s["x"], s["y"]) for s in samples], kind()
    metric = evaluate.progressive_val_score(rows, alone, metrics.Accuracy(), delay=delay + 1)
    assert metric.get() == app.service.monitor.score
    assert content(app) == persistence.save_bytes(alone)
    shown = asked(app, "/status").json["latest"]
    assert [each["target"] for each in shown] == [s["y"] for s in samples[:-11:-1]]


def test_labels_are_learned_all_or_none(tmp_path: Path) -> None:
    """An id counts once; weights count; a refused request leaves its answers waiting."""
    app = application(tmp_path, ret.ColumnKinds() | classifier())
    x = [{"x": {"a": i, "b": "q"}} for i in range(3)]
    one, two, three = (each["id"] for each in asked(app, "/predict", body_of(*x), kind=LINES).lines)
    before = content(app)
    for second, says in (
        ({"id": one, "y": 1}, f"line 2: the id '{one}' came before"),
        ({"id": "other", "y": 1}, "line 2: no answer waits under the id 'other'"),
        ({"id": two, "y": None}, "line 2: a label must not be None"),
        ({"id": two, "y": 1, "w": -1}, "line 2: w must be"),
    ):
        answer = asked(app, "/labels", body_of({"id": one, "y": 1}, second), kind=LINES)
        assert (answer.status, answer.json["error"][: len(says)]) == (422, says)
    assert (content(app), metrics_of(app)["answers_waiting"]) == (before, 3)
    labels = body_of({"id": one, "y": 0}, {"id": two, "y": 1, "w": 2})
    for status in (200, 422):
        assert asked(app, "/labels", labels, kind=LINES).status == status
    alone = ret.ColumnKinds() | classifier()
    alone.learn_one(x[0]["x"], 0)
    alone.learn_one(x[1]["x"], 1, w=2)
    assert persistence.save_bytes(app.service.whole) == persistence.save_bytes(alone)
    assert (metrics_of(app)["answers_waiting"], three != two) == (1, True)


def test_answers_without_labels_are_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After some time, and when newer ones need their memory."""
    app = application(tmp_path)
    app.service.answers = Answers(hours=1.0, memory=20_000)
    body = body_of(*({"x": {"a": "v" * 500}} for _ in range(100)))
    ids = [each["id"] for each in asked(app, "/predict", body, kind=LINES).lines]
    found = metrics_of(app)
    assert 15 <= found["answers_waiting"] <= 20_000 / 500
    assert found["answers_waiting"] + found["answers_forgotten_total"] == 100
    assert asked(app, "/labels", body_of({"id": ids[0], "y": 1})).status == 422
    assert asked(app, "/labels", body_of({"id": ids[-2], "y": 1})).status == 200
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 3601.0)
    assert asked(app, "/labels", body_of({"id": ids[-1], "y": 1})).status == 422
    assert metrics_of(app)["answers_waiting"] == 0


def test_slow_clients_keep_nobody_waiting(tmp_path: Path) -> None:
    """Half a request takes no place in the queue, and is refused after a while.

    Bodies that are being read have a bounded size in all.
    """
    app = application(tmp_path, queue=1, body=1000, seconds=0.2)

    async def storm() -> list[Answer]:
        half = [ask(app.asgi, "/learn", b"{", ends=False) for _ in range(5)]
        big = [ask(app.asgi, "/learn", b" " * 600, ends=False) for _ in range(2)]
        return await asyncio.gather(*half, ask(app.asgi, "/learn", GOOD), *big)

    *half, good, first, second = (answer.status for answer in asyncio.run(storm()))
    assert (half, good, first, second) == ([408] * 5, 200, 408, 503)


def test_curves_stay_short(tmp_path: Path) -> None:
    """A service that runs for ever keeps a bounded number of points, the first among them."""
    app = application(tmp_path)
    first = app.service.look().time
    for _ in range(2000):
        app.service.look()
    curve = app.service.monitor.curve
    assert 180 <= len(curve) <= 360
    assert curve[0].time == first


def test_alarms(tmp_path: Path) -> None:
    """A service counts and shows alarms, and saves its watch only if the file has one."""
    rng = random.Random(0)
    rows = [{"x": {"sensor": rng.random()}} for _ in range(4_500)]
    samples = [{**each, "y": each["x"]["sensor"] > 0.5} for each in rows]
    watched = ret.Watch(classifier(batch_size=10_000))
    apps = [application(tmp_path, model) for model in (classifier(batch_size=10_000), watched)]
    for app in apps:
        asked(app, "/predict-learn", body_of(*samples[:4_000]), kind=LINES)
        assert asked(app, "/status").json["alarms"] == []
        asked(app, "/predict", body_of(*({"x": {"sensor": 9}} for _ in range(600))), kind=LINES)
        app.look()
        (alarm,) = asked(app, "/status").json["alarms"]
        assert (alarm["kind"], alarm["samples"] > 4_000) == ("inputs", True)
        assert "'sensor' is above its usual maximum" in alarm["text"]
        assert metrics_of(app)["alarms_total inputs"] == 1
        wrong = [{**each, "y": rng.random() > 0.5} for each in samples[:1_000]]
        asked(app, "/predict-learn", body_of(*wrong), kind=LINES)
        app.look()
        assert metrics_of(app)["alarms_total loss"] == 1
        app.service.save()
        saved = persistence.load(app.service.path)
        assert isinstance(saved, ret.Watch) == (app is apps[1])
    assert [each.kind for each in watched.alarms] == ["inputs", "loss"]
    forest = application(tmp_path, ret.ExtraTreesClassifier(n_models=6))
    forest.look()
    assert metrics_of(forest)["effective_memory"] > 0
