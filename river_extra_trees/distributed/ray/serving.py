"""A model served to many clients while it learns."""

from __future__ import annotations

import asyncio
import time
import typing
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor

from ..._estimator.extras import import_extra
from ..._estimator.frames import Sample
from ..._estimator.parameters import check_parameter, check_whole
from ..._estimator.snapshot import ClassifierSnapshot, RegressorSnapshot
from .replica import ONGOING, SHELF, Answer, Replica, Shelf
from .workers import connected

__all__ = ["Answer", "SnapshotServer"]

LOOPBACK = ("localhost", "127.0.0.1", "::1", "[::1]")
SECONDS_BETWEEN_CHECKS = 5.0
SECONDS_TO_RESTART = 60.0  # a replica


class SnapshotServer:
    """Several processes that answer with snapshots of a model while the model learns elsewhere.

    It is an application of Ray Serve[^1], with the paths and the JSON of the command `serve`:
    `POST /predict`, `GET /info`, `/health`, `/metrics`, `/status` and `/`. Requests to learn are
    refused with status 403. Serve shares the requests out among the replicas, refuses those above
    the queue with status 503, and restarts a replica that dies.

    The process that trains the model publishes snapshots. Each replica replaces its snapshot
    between two answers, so that every answer comes from one whole snapshot; `ask`, and the header
    `Samples-Seen` of an answer over HTTP, say from which. The server can be passed to any task or
    actor of Ray.

    Parameters
    ----------
    snapshot
        The first snapshot, as `snapshot()` of a learner returns it.
    n_replicas
        Number of processes that answer.
    host
        Address on which the server of HTTP listens. Only this machine reaches the default. If Serve
        runs in this Ray already, its address and port stay.
    port
        Port of the server of HTTP.
    queue
        Number of requests that wait, at each server of HTTP and in each process that asks.
    name
        Name of the application. It replaces an application of this name without a pause.
    route
        What all paths begin with, such as `/bank`. Two applications need different ones.

    References
    ----------
    [^1]: Moritz, P. et al., 2018. Ray: A Distributed Framework for Emerging AI Applications.
        13th USENIX Symposium on Operating Systems Design and Implementation, pp. 561-577.

    Examples
    --------
    >>> import river_extra_trees as ret
    >>> from river import datasets
    >>> from river_extra_trees.distributed import SnapshotServer

    >>> model = ret.StreamDecisionForestClassifier(seed=42)
    >>> with SnapshotServer(model.snapshot()) as server:  # doctest: +SKIP
    ...     for x, y in datasets.Phishing():
    ...         model.learn_one(x, y)
    ...     server.publish(model.snapshot())
    ...     server.ask("predict_one", x)
    Answer(value=False, n_samples_seen=1250)
    """

    def __init__(
        self,
        snapshot: typing.Any,
        n_replicas: int = 2,
        *,
        host: str = "127.0.0.1",
        port: int = 8000,
        queue: int = 64,
        name: str = "snapshot",
        route: str = "/",
    ) -> None:
        check_whole("n_replicas", n_replicas, 1)
        check_whole("queue", queue, 1)
        check_snapshot(snapshot)
        ray = connected()
        for module in ("ray.serve", "starlette", "prometheus_client"):
            import_extra(module, "ray")
        from ray import serve

        self.name = name
        self._number = 0  # of the latest snapshot
        quiet = {"log_level": "WARNING", "enable_access_log": False}
        serve.start(http_options={"host": host, "port": port}, logging_config=quiet)
        deployment: typing.Any = serve.deployment(
            serve.ingress()(Replica),
            name="replica",
            num_replicas=int(n_replicas),
            ray_actor_options={"num_cpus": 0},  # as the other actors of this package
            max_ongoing_requests=ONGOING,
            max_queued_requests=int(queue),
            backpressure_config={"retry_after_s": 1},
            max_surge_percent=100,
            health_check_period_s=SECONDS_BETWEEN_CHECKS,
            logging_config=quiet,
            deployment_actors=[
                {
                    "name": SHELF,
                    "actor_class": ray.remote(Shelf),
                    "actor_options": {"num_cpus": 0},
                }
            ],
        )
        application = deployment.bind(snapshot, shelf, LOOPBACK if host in LOOPBACK else ("*",))
        self._handle = serve.run(application, name=name, route_prefix=route)

    def publish(self, snapshot: typing.Any) -> None:
        """Let all replicas answer with a snapshot, and wait until they do.

        A replica that is just starting may answer with the one before for up to five seconds.

        Parameters
        ----------
        snapshot
            A snapshot, as `snapshot()` of a learner returns it.
        """
        check_snapshot(snapshot)
        # By the clock: copies of the server, in tasks and actors, do not know each other's numbers.
        self._number = max(self._number + 1, time.time_ns())
        self._of_all("take", self._number, connected().put(snapshot))

    def ask(self, method: str, x: typing.Any) -> Answer:
        """Call a method of the snapshot, and say from which snapshot the answer is.

        Parameters
        ----------
        method
            Name of the method, such as `predict_one`.
        x
            Its argument: features, or a data frame.

        Raises
        ------
        ray.serve.exceptions.BackPressureError
            If as many questions of this process wait as the queue holds.
        """
        answer = self._repeated(lambda: self._handle.answer.remote(method, x).result())
        if isinstance(answer, Exception):
            raise answer
        return typing.cast(Answer, answer)

    def predict_one(self, x: Sample) -> typing.Any:
        """Predict the target of a sample.

        Parameters
        ----------
        x
            Features.
        """
        return self.ask("predict_one", x).value

    def predict_proba_one(self, x: Sample) -> dict[Hashable, float]:
        """Predict the probabilities of the labels of a sample.

        Parameters
        ----------
        x
            Features.
        """
        answer: dict[Hashable, float] = self.ask("predict_proba_one", x).value
        return answer

    def predict_many(self, X: typing.Any) -> typing.Any:
        """Predict the rows of a data frame, as the model does.

        Parameters
        ----------
        X
            A data frame of any kind that narwhals knows.
        """
        return self.ask("predict_many", X).value

    def predict_proba_many(self, X: typing.Any) -> typing.Any:
        """Predict the class probabilities of the rows of a data frame, as the model does.

        Parameters
        ----------
        X
            A data frame of any kind that narwhals knows.
        """
        return self.ask("predict_proba_many", X).value

    def n_samples_seen(self) -> list[int]:
        """For each replica, the samples that the model had learned for its snapshot."""
        return self._of_all("n_samples_seen")

    def processes(self) -> list[int]:
        """The process id of each replica."""
        return self._of_all("process")

    def _of_all(self, method: str, *arguments: typing.Any) -> list[typing.Any]:
        """The answers of all replicas that run; one that starts takes its snapshot by itself."""
        return self._repeated(lambda: self._handle.broadcast(method, *arguments).results())

    def _repeated(self, ask: Callable[[], typing.Any]) -> typing.Any:
        """An answer; asked again if replicas die after they have accepted the question.

        Serve repeats only what no replica has accepted, as it cannot know what may be repeated.
        """
        from ray.serve.exceptions import DeploymentUnavailableError

        deaths = (connected().exceptions.RayActorError, DeploymentUnavailableError)
        deadline = time.monotonic() + SECONDS_TO_RESTART
        while True:
            try:
                return result_of(ask)
            except deaths as error:
                if time.monotonic() > deadline:
                    raise RuntimeError(
                        f"no replica has answered for {SECONDS_TO_RESTART:.0f} seconds; Serve's "
                        "logs say why they die"
                    ) from error
                time.sleep(0.1)

    def close(self) -> None:
        """Stop the replicas. Serve itself runs as long as its Ray."""
        from ray import serve

        serve.delete(self.name)

    def __enter__(self) -> typing.Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def result_of(ask: Callable[[], typing.Any]) -> typing.Any:
    """What a call returns. Serve refuses to wait in a thread with an event loop, as Jupyter's."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return ask()
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(ask).result()


def shelf() -> typing.Any:
    """The shelf, seen from a replica."""
    from ray import serve

    return serve.get_deployment_actor(SHELF)


def check_snapshot(snapshot: typing.Any) -> None:
    """Raise a ValueError unless this is a snapshot."""
    check_parameter(
        isinstance(snapshot, ClassifierSnapshot | RegressorSnapshot),
        "snapshot",
        snapshot,
        "a snapshot, as snapshot() of a learner returns it",
    )
