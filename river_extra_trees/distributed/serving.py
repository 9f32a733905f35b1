"""Serving the snapshots of a model with Ray Serve."""

from __future__ import annotations

import asyncio
import time
import typing
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor

from .._estimator.extras import import_extra
from .._estimator.frames import Sample
from .._estimator.parameters import check_parameter, check_whole
from .._estimator.snapshot import ClassifierSnapshot, RegressorSnapshot
from .cluster import connected
from .replica import ONGOING, SHELF, Answer, Replica, Shelf

__all__ = ["Answer", "SnapshotServer"]

LOOPBACK = ("localhost", "127.0.0.1", "::1", "[::1]")
SECONDS_BETWEEN_CHECKS = 5.0
SECONDS_TO_RESTART = 60.0  # a replica


class SnapshotServer:
    """Several processes that predict with snapshots of a model while the model learns elsewhere.

    It is an application of Ray Serve[^1], with the paths and the JSON of the command `serve`:
    `POST /predict`, `GET /info`, `/health`, `/metrics`, `/status` and `/`. Requests to learn get
    status 403. Serve distributes the requests to the replicas, rejects those that exceed the queue
    with status 503, and restarts replicas that die.

    The process that trains the model publishes snapshots. Each replica replaces its snapshot
    between two requests, so that every answer comes from one snapshot. `ask`, and the header
    `Samples-Seen` of an HTTP response, tell how many samples this snapshot has learned. The server
    can be passed to any task or actor of Ray.

    Parameters
    ----------
    snapshot
        The first snapshot, from the method `snapshot` of a learner.
    n_replicas
        Number of processes that predict.
    host
        Address of the HTTP server. The default can be reached from this machine only. If Serve runs
        in this Ray already, its address and port do not change.
    port
        Port of the HTTP server.
    queue
        Largest number of waiting requests, at each HTTP server and in each process that asks.
    name
        Name of the application. It replaces an application of this name without interruption.
    route
        Prefix of all paths, such as `/bank`. Two applications need different prefixes.

    References
    ----------
    [^1]: Moritz, P. et al., 2018. Ray: A Distributed Framework for Emerging AI Applications.
        13th USENIX Symposium on Operating Systems Design and Implementation, pp. 561-577.

    Examples
    --------
    >>> import river_extra_trees as ret
    >>> from river import datasets
    >>> from river_extra_trees.distributed import SnapshotServer

    >>> model = ret.ExtraTreesClassifier(seed=42)
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
        """Send a snapshot to all replicas, and wait until they use it.

        A replica that is starting may use the previous snapshot for up to five seconds.

        Parameters
        ----------
        snapshot
            A snapshot, from the method `snapshot` of a learner.
        """
        check_snapshot(snapshot)
        # From the clock, because copies of the server in tasks and actors number independently.
        self._number = max(self._number + 1, time.time_ns())
        self._of_all("take", self._number, connected().put(snapshot))

    def ask(self, method: str, x: typing.Any) -> Answer:
        """Call a method of the snapshot.

        Parameters
        ----------
        method
            Name of the method, such as `predict_one`.
        x
            Its argument: features, or a data frame.

        Returns
        -------
        The result, and the number of samples that the snapshot has learned.

        Raises
        ------
        ray.serve.exceptions.BackPressureError
            If the queue of this process is full.
        """
        answer = self._repeated(lambda: self._handle.answer.remote(method, x).result())
        if isinstance(answer, Exception):
            raise answer
        return typing.cast(Answer, answer)

    def predict_one(self, x: Sample) -> typing.Any:
        """Predict the label or target of a sample.

        Parameters
        ----------
        x
            Features.

        Returns
        -------
        The prediction of the present snapshot.
        """
        return self.ask("predict_one", x).value

    def predict_proba_one(self, x: Sample) -> dict[Hashable, float]:
        """Predict the probability of each label.

        Parameters
        ----------
        x
            Features.

        Returns
        -------
        Probabilities by label.
        """
        answer: dict[Hashable, float] = self.ask("predict_proba_one", x).value
        return answer

    def predict_many(self, X: typing.Any) -> typing.Any:
        """Predict the rows of a data frame.

        Parameters
        ----------
        X
            A data frame of any library that narwhals supports.

        Returns
        -------
        A series of the library of X.
        """
        return self.ask("predict_many", X).value

    def predict_proba_many(self, X: typing.Any) -> typing.Any:
        """Predict the class probabilities of the rows of a data frame.

        Parameters
        ----------
        X
            A data frame of any library that narwhals supports.

        Returns
        -------
        A data frame of the library of X, with one column per label.
        """
        return self.ask("predict_proba_many", X).value

    def n_samples_seen(self) -> list[int]:
        """Return for each replica the number of samples that its snapshot has learned."""
        return self._of_all("n_samples_seen")

    def processes(self) -> list[int]:
        """Return the process id of each replica."""
        return self._of_all("process")

    def _of_all(self, method: str, *arguments: typing.Any) -> list[typing.Any]:
        """Call a method of all running replicas. Starting ones fetch their snapshot themselves."""
        return self._repeated(lambda: self._handle.broadcast(method, *arguments).results())

    def _repeated(self, ask: Callable[[], typing.Any]) -> typing.Any:
        """Call `ask`; repeat it if the replica dies after it has accepted the request.

        Serve itself repeats only requests that no replica has accepted.
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
        """Stop the replicas. Serve itself runs until Ray stops."""
        from ray import serve

        serve.delete(self.name)

    def __enter__(self) -> typing.Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def result_of(ask: Callable[[], typing.Any]) -> typing.Any:
    """Return the result of a call, which Serve cannot wait for in a thread with an event loop."""
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
