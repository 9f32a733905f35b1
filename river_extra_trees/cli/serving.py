"""The command `serve`: a saved model behind HTTP."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from river_extra_trees.cli import UserError, models, outputs

MODULES = ("starlette", "pydantic", "uvicorn", "prometheus_client", "filelock")


@outputs.refusing()
def serve(
    file: Annotated[Path, typer.Argument(help="A saved model. Snapshots replace the file.")],
    host: Annotated[
        str, typer.Option(help="Address to listen on. Only this machine can reach 127.0.0.1.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 chooses a free one.")] = 8000,
    snapshot_every: Annotated[
        float | None,
        typer.Option(
            min=0.1,
            help="Seconds between two saves of the model, if it has learned anything. It is always "
            "saved at the end.",
        ),
    ] = None,
    max_body: Annotated[
        float, typer.Option(min=0.001, max=1e6, help="Largest request body in megabytes.")
    ] = 4.0,
    queue: Annotated[int, typer.Option(min=1, help="Largest number of waiting requests.")] = 64,
    answer_hours: Annotated[
        float, typer.Option(min=0.0, help="Hours for which an answer waits for its label.")
    ] = 24.0,
    answer_memory: Annotated[
        float, typer.Option(min=0.0, help="Megabytes of answers that wait for their labels.")
    ] = 64.0,
    fixed_labels: Annotated[
        bool, typer.Option("--fixed-labels", help="Refuse samples with labels new to the model.")
    ] = False,
    log_requests: Annotated[
        bool, typer.Option("--log-requests", help="Write each request and its status to stderr.")
    ] = False,
) -> None:
    """Serve a saved model over HTTP, to predict, to learn and, at /, to monitor it.

    Ctrl-C or SIGTERM stops the service and saves the model.
    """
    _require_packages()
    from river_extra_trees.serving import answers, endpoints, server, service

    models.require_model_file(file)
    with _locked(file):
        model = models.open_model(file)
        limits = endpoints.Limits(body=int(max_body * 1e6), queue=queue)
        waiting = answers.Answers(answer_hours, int(answer_memory * 1e6))
        served = service.Service(model, file, fixed_labels, waiting)
        if fixed_labels and not served.has_labels:
            raise UserError("--fixed-labels needs a model that has learned labels")
        listener, announce = partial(_listener, host, port), partial(_announce, file)
        server.serve(served, listener, limits, snapshot_every, announce, log_requests)
        try:
            if served.unsaved:
                served.save()
        except service.FAILURES as error:
            reason = str(error) or "out of memory"
            typer.echo(f"error: cannot save to {file}: {reason}", err=True)
            raise typer.Exit(outputs.FAILED) from error
    typer.echo(
        f"stopped; the model in {file} has learned {served.learner.n_samples_seen:,} samples"
    )


def _announce(file: Path, listener: socket.socket) -> None:
    """Say where a model is served, and who can train it."""
    from river_extra_trees.serving.server import is_loopback

    address, number, *_ = listener.getsockname()
    name = f"[{address}]" if ":" in address else address
    typer.echo(f"serving {file} on http://{name}:{number} (Ctrl-C stops it and saves)")
    if not is_loopback(address):
        typer.echo(
            "note: anyone who can reach this address can train the model: there is no password "
            "and no encryption",
            err=True,
        )


def _require_packages() -> None:
    import importlib.util

    missing = [name for name in MODULES if importlib.util.find_spec(name) is None]
    if missing:
        raise UserError(f"serve needs more packages: pip install {' '.join(missing)}")


@contextlib.contextmanager
def _locked(file: Path) -> Iterator[None]:
    """Lock the file of a model; the system ends the lock with the process, if not before."""
    from filelock import FileLock, Timeout

    path = file.resolve()
    lock = FileLock(path.with_name(f".{path.name}.serving"))
    try:
        lock.acquire(blocking=False)
    except Timeout:
        raise UserError(f"another service has {file} open; serve a copy of it") from None
    except OSError as error:
        raise UserError(f"cannot lock {path}: {error.strerror}") from error
    try:
        yield
    finally:
        lock.release()


def _listener(host: str, port: int) -> socket.socket:
    from river_extra_trees.serving.server import listen

    try:
        return listen(host, port)
    except OSError as error:
        reason = (error.strerror or str(error)).partition(" (")[0]
        raise UserError(
            f"cannot listen on {host}:{port}: {reason}; name another --host or --port (0 chooses "
            "a free port)"
        ) from error
