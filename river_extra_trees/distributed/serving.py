"""Serving the snapshots of a model with Ray Serve.

Ray Serve starts, checks and restarts the replicas. A new snapshot goes to every replica, which
exchanges its snapshot between two requests; Serve itself would exchange the processes, which takes
seconds. An actor holds the latest snapshot for replicas that start.
"""

from __future__ import annotations

import importlib
import time
import typing
from collections.abc import Callable

from .._estimator.extras import import_extra
from .._estimator.parameters import check_parameter, check_whole
from .._estimator.snapshot import Snapshot
from .keyed import connected

__all__ = ["Answer", "SnapshotServer"]

LOOPBACK = ("localhost", "127.0.0.1", "::1", "[::1]")
LATEST = "latest snapshot"  # name of the actor that holds it
ONGOING = 8  # requests that a replica accepts at a time: one is processed, others are read
SECONDS_BETWEEN_CHECKS = 5.0
SECONDS_TO_RESTART = 60.0  # a replica


class Answer(typing.NamedTuple):
    """A result, and the number of samples that the snapshot had learned.

    Attributes
    ----------
    value
        The result of the method of the snapshot.
    n_samples_seen
        Number of samples that the model had learned when the snapshot was taken.
    """

    value: typing.Any
    n_samples_seen: int


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
        idle = {"num_cpus": 0}  # as the other actors of this package
        latest = {"name": LATEST, "actor_class": ray.remote(Latest), "actor_options": idle}
        deployment: typing.Any = serve.deployment(
            serve.ingress()(Replica),
            name="replica",
            num_replicas=int(n_replicas),
            ray_actor_options=idle,
            max_ongoing_requests=ONGOING,
            max_queued_requests=int(queue),
            backpressure_config={"retry_after_s": 1},
            max_surge_percent=100,
            health_check_period_s=SECONDS_BETWEEN_CHECKS,
            logging_config=quiet,
            deployment_actors=[latest],
        )
        hosts = LOOPBACK if host in LOOPBACK else ("*",)
        application = deployment.bind(snapshot, latest_snapshot, hosts)
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
        reference = connected().put(snapshot)
        self._repeated(lambda: self._handle.broadcast("take", self._number, reference).results())

    def ask(self, method: str, x: typing.Any) -> Answer:
        """Call a method of the snapshot.

        Parameters
        ----------
        method
            Name of the method: `predict_one`, `predict_proba_one`, `predict_many` or
            `predict_proba_many`.
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

    def _repeated(self, ask: Callable[[], typing.Any]) -> typing.Any:
        """Call `ask`; repeat it if the replica dies after it has accepted the request.

        Serve itself repeats only requests that no replica has accepted.
        """
        from ray.serve.exceptions import DeploymentUnavailableError

        deaths = (connected().exceptions.RayActorError, DeploymentUnavailableError)
        deadline = time.monotonic() + SECONDS_TO_RESTART
        while True:
            try:
                return ask()
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


class Latest:
    """An actor that holds the latest snapshot, and its number, for the replicas that start."""

    def __init__(self) -> None:
        self.number, self.snapshot = -1, None

    def after(self, number: int) -> tuple[int, typing.Any]:
        """Return the number held; with the snapshot, if that is later than a number."""
        return self.number, self.snapshot if self.number > number else None

    def put(self, number: int, snapshot: typing.Any) -> None:
        """Hold a snapshot, unless a later one is here."""
        if number > self.number:
            self.number, self.snapshot = number, snapshot


class Replica:
    """A process that predicts with the latest snapshot, over HTTP and for handles of Serve.

    Parameters
    ----------
    snapshot
        The first snapshot, which has the number 0.
    latest
        Returns the actor `Latest`, which Serve may have restarted since the last call.
    hosts
        Names by which clients may call the server, see `Application`.
    """

    def __init__(
        self, snapshot: typing.Any, latest: Callable[[], typing.Any], hosts: tuple[str, ...]
    ) -> None:
        from river_extra_trees.serving.endpoints import Application, Limits
        from river_extra_trees.serving.service import SnapshotService

        self.number, self.snapshot, self.latest = 0, snapshot, latest
        limits = Limits(queue=2 * ONGOING)  # never reached: Serve sends fewer
        self.application = Application(SnapshotService(snapshot), limits, hosts=hosts)
        bind_to_loopback()

    def __serve_build_asgi_app__(self) -> typing.Any:
        return self.application.asgi  # Serve asks for it by this name

    async def take(self, number: int, snapshot: typing.Any) -> None:
        """Predict with this snapshot from now on, unless a later one has arrived."""
        self._replace(number, snapshot)
        await self.check_health()

    def _replace(self, number: int, snapshot: typing.Any) -> None:
        from river_extra_trees.serving.service import SnapshotService

        if number > self.number:
            self.number, self.snapshot = number, snapshot
            monitor = self.application.service.monitor
            self.application.service = SnapshotService(snapshot, monitor)

    async def check_health(self) -> None:
        """Exchange snapshots with the actor `Latest`, so that both have the later one.

        Serve calls this method before the first request and every few seconds. Therefore a
        snapshot that was published while this process, or the actor, started is not missed.
        """
        latest = self.latest()
        number, snapshot = await latest.after.remote(self.number)
        if number > self.number:
            self._replace(number, snapshot)
        elif number < self.number:
            # In the thread of the model: a snapshot cannot predict while it is pickled.
            await (await self.application.run(latest.put.remote, self.number, self.snapshot))

    async def answer(self, method: str, x: typing.Any) -> Answer | Exception:
        """Call a method of the snapshot, in the thread that also serves HTTP.

        An error is returned: Serve would log one that is raised, with its traceback.
        """
        snapshot = self.snapshot
        try:
            value = await self.application.run(getattr(snapshot, method), x)
        except Exception as error:
            return error
        return Answer(value, int(snapshot.n_samples_seen))


def latest_snapshot() -> typing.Any:
    """Return the actor `Latest` of this deployment."""
    from ray import serve

    return serve.get_deployment_actor(LATEST)


def bind_to_loopback() -> None:
    """Bind the port that this replica opens for Serve to loopback, if those of Ray are.

    Serve binds it to all interfaces, whatever those of Ray are bound to.
    """
    import ray

    replica: typing.Any = importlib.import_module("ray.serve._private.replica")
    if ray.util.get_node_ip_address() == "127.0.0.1":
        add_port = replica.add_port_to_grpc_server

        def add_port_of_loopback(server: typing.Any, address: str) -> typing.Any:
            return add_port(server, address.replace("[::]", "127.0.0.1"))

        replica.add_port_to_grpc_server = add_port_of_loopback


def check_snapshot(snapshot: typing.Any) -> None:
    """Raise a ValueError unless this is a snapshot."""
    check_parameter(
        isinstance(snapshot, Snapshot),
        "snapshot",
        snapshot,
        "a snapshot, as snapshot() of a learner returns it",
    )
