"""Services to ask: in this process without a network, or in a process of their own."""

import asyncio
import contextlib
import http.client
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families
from river import datasets

import river_extra_trees as ret

JSON = "application/json"
LINES = "application/x-ndjson"
SAMPLES = [{"x": x, "y": y} for x, y in datasets.Phishing().take(600)]


def learned(n: int, kind: Any = ret.StreamDecisionTreeClassifier) -> Any:
    """A model that has learned the first samples without a service."""
    model = kind(seed=1)
    for sample in SAMPLES[:n]:
        model.learn_one(**sample)
    return model


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.body.splitlines()]


async def ask(
    app: Any,
    path: str,
    body: bytes | list[bytes] | None = None,
    *,
    kind: str | None = JSON,
    method: str | None = None,
    headers: dict[str, str] | None = None,
    ends: bool = True,
) -> Answer:
    """Ask a web application; a body of several chunks has no stated length.

    If the body does not end, the client sends no more of it, and waits.
    """
    path, _, query = path.partition("?")
    chunks = [body] if isinstance(body, bytes) else list(body or [])
    sent = {"host": "localhost", **({"content-type": kind} if kind else {}), **(headers or {})}
    if isinstance(body, bytes):
        sent["content-length"] = str(len(body))
    scope = {
        "type": "http",
        "method": method or ("GET" if body is None else "POST"),
        "path": path,
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in sent.items()],
    }
    messages: list[Any] = []

    async def receive() -> Any:
        if chunks:
            chunk = chunks.pop(0)
            return {"type": "http.request", "body": chunk, "more_body": bool(chunks) or not ends}
        if body is None:
            return {"type": "http.request", "body": b"", "more_body": False}
        await asyncio.sleep(60)  # a client that sends no more

    async def send(message: Any) -> None:
        messages.append(message)

    await app(scope, receive, send)
    found = {name.decode(): value.decode() for name, value in messages[0]["headers"]}
    content = b"".join(message.get("body", b"") for message in messages[1:])
    return Answer(messages[0]["status"], found, content)


def asked(app: Any, *arguments: Any, **options: Any) -> Answer:
    """Ask an application of the package, and wait for the answer."""
    return asyncio.run(ask(app.asgi, *arguments, **options))


def metrics_of(app: Any) -> dict[str, float]:
    """The metrics as Prometheus reads them: by their names, and their labels after spaces."""
    found: dict[str, float] = {}
    for family in text_string_to_metric_families(asked(app, "/metrics").body.decode()):
        for name, labels, value, *_ in family.samples:
            found[" ".join([name.removeprefix("river_extra_trees_"), *labels.values()])] = value
    return found


def ask_port(port: int, path: str, body: bytes | None = None, *, kind: str = JSON) -> Answer:
    """Ask a service on this machine."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    with contextlib.closing(connection):
        method = "GET" if body is None else "POST"
        connection.request(method, path, body, {"Content-Type": kind})
        response = connection.getresponse()
        headers = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, headers, response.read())


@dataclass
class Served:
    """A service in a process of its own."""

    process: subprocess.Popen[str]
    port: int

    def ask(self, path: str, body: bytes | None = None, **sent: Any) -> Answer:
        return ask_port(self.port, path, body, **sent)


@contextlib.contextmanager
def served(path: Path, *options: object) -> Iterator[Served]:
    """Serve a model file by the command line, on a free port."""
    command = [sys.executable, "-m", "river_extra_trees", "serve", str(path), "--port", "0"]
    process = subprocess.Popen(
        [*command, *map(str, options)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        bufsize=1,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)", line)
        assert found, (line, process.communicate())
        yield Served(process, int(found[1]))
    finally:
        process.kill()
        process.communicate()


def body_of(*samples: Any) -> bytes:
    """The samples as JSON lines."""
    return "".join(json.dumps(sample) + "\n" for sample in samples).encode()
