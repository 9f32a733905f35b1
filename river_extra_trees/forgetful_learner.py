"""Base class of the forgetful trees and forests: what they forget and grow with each batch."""

from __future__ import annotations

import math
import typing

from ._core.cart.splitter import Splitter
from ._core.forests.forgetful import ForgetfulForest
from ._core.state import State, require
from ._estimator.batch_forest import BatchForest
from ._estimator.inspection import Node
from ._estimator.parameters import (
    LARGEST,
    check_jobs,
    check_number,
    check_parameter,
    check_published,
    check_switch,
    check_whole,
    draw_seed,
)
from .forgetting import AdaptParameters, BatchPlan, DriftTest, max_height

__all__ = ["ForgetfulLearner"]

MAX_COLUMNS = 2**14  # that the core can number


class ForgetfulLearner(BatchForest):
    """Base of all four learners. Subclasses set their parameters and call `_begin`."""

    _core: ForgetfulForest
    _forest: ForgetfulForest

    batch_size: int
    warm_size: int
    initial_rate: float
    max_depth: int | None
    max_retained: int
    max_columns: int
    n_models: int
    criterion: str  # of classifiers
    significance: float = 0.05  # of forests
    published: bool = False  # of classifiers
    seed: int | None

    _mutable = frozenset({"max_depth", "max_retained"})

    def _begin(
        self,
        criterion: str,
        n_models: int = 1,
        is_forest: bool = False,
        bagging: bool = False,
        significance: float = 0.05,
        n_jobs: int = 1,
    ) -> None:
        for name in ("batch_size", "warm_size"):
            check_whole(name, getattr(self, name), 1)
        check_number("initial_rate", self.initial_rate, 0, LARGEST)
        check_whole("max_depth", self.max_depth, 1, optional=True)
        check_whole("max_retained", self.max_retained, 1)
        check_whole("max_columns", self.max_columns, 1)
        check_parameter(
            self.max_columns <= MAX_COLUMNS,
            "max_columns",
            self.max_columns,
            f"at most {MAX_COLUMNS}",
        )
        check_whole("n_models", n_models, 1)
        check_number("significance", significance, 0, 1)
        check_switch("bagging", bagging)
        check_published(self, "forgetful")
        check_parameter(
            self.published or self.max_retained >= self.batch_size,
            "max_retained",
            self.max_retained,
            "at least batch_size",
        )
        check_jobs(n_jobs)
        self._core = ForgetfulForest(
            n_trees=n_models,
            regression=criterion == "variance",
            batch_size=self.batch_size,
            published=self.published,
            seed=draw_seed(self.seed),
            subsets=is_forest,
            bagging=bagging,
            max_columns=MAX_COLUMNS if self.published else self.max_columns,
        )
        self._core.parameters = [self._new_parameters().state() for _ in range(n_models)]
        self._core.drift = self._new_drift_test().state() if is_forest else None

    def _new_splitter(self) -> Splitter:
        return Splitter(
            "variance" if self._forest.regression else self.criterion,
            published="forgetful" if self.published else None,
        )

    def _new_parameters(self) -> AdaptParameters:
        return AdaptParameters(
            self.initial_rate, self.warm_size, self._forest.regression, self.published
        )

    def _new_drift_test(self) -> DriftTest:
        return DriftTest(self.n_models, self.significance, self.published)

    @property
    def _parameters(self) -> list[AdaptParameters]:
        """The parameters that decide the retained size of each tree, copied from the core."""
        return [self._new_parameters().resume(values) for values in self._forest.parameters]

    def _leaf_answer(self, leaf: Node) -> list[float]:
        shares = super()._leaf_answer(leaf)
        if not self.published or leaf["weight"] <= 0.0:
            return shares
        best = shares.index(max(shares))  # a vote
        return [float(code == best) for code in range(len(shares))]

    def _grow(self, splitters: list[Splitter] | None = None) -> None:
        """Let the trees forget samples, and grow those on a batch that have to grow now."""
        splitters = splitters or self._new_splitters()
        forest = self._forest
        batch, n = forest.n_batches, forest.n_in_batch
        if forest.n_waiting == 0 and n < self.batch_size:
            depth = math.inf if self.max_depth is None else self.max_depth
            n_per_step = self._trees_per_step(forest.n_trees * n)
            forest.begin_early(int(min(max_height(n), depth)), 0, n_per_step)
        elif forest.n_waiting == 0:
            forest.begin_growth(batch, *self._plan())
        forest.grow(splitters, LARGEST)

    def _plan(self) -> BatchPlan:
        """Decide how many samples each tree retains, and which trees are discarded."""
        forest = self._forest
        guess = 0.0 if forest.regression else 1 / max(2, len(forest.labels))
        discarded, drift = self._discarded(guess)
        depth = math.inf if self.max_depth is None else self.max_depth
        adapted = self._parameters
        for tree, parameters in enumerate(adapted):
            batch, held = forest.losses(tree), forest.n_retained(tree)
            if self.published and tree in discarded and held > 0:
                parameters = adapted[tree] = self._new_parameters()
                parameters.retained_size = held
                depth_of_successor = int(min(parameters.max_height, depth))
                batch = forest.successor_losses(tree, self._new_splitter(), depth_of_successor)
            if batch[0] > 0:
                parameters.adapt(batch, guess, held)
        for tree in discarded:
            adapted[tree].rate = self.initial_rate
        most = LARGEST if self.published else self.max_retained
        sizes = [min(parameters.retained_size, most) for parameters in adapted]
        return BatchPlan(
            sizes,
            [int(min(parameters.max_height, depth)) for parameters in adapted],
            discarded,
            [parameters.state() for parameters in adapted],
            drift,
            self._trees_per_step(sum(sizes)),
        )

    def _discarded(self, guess: float) -> tuple[list[int], dict[str, typing.Any] | None]:
        """Return the trees to discard, worst first (appendix C, function Discard).

        They get new features and the initial rate, and retain samples by their accuracy as before.
        In the text of the paper they start cold with all old samples, which keeps the concept that
        failed, often for long. With `published` they start cold, and the accuracy of the new tree,
        grown on the old samples, decides.
        """
        forest = self._forest
        batch = forest.losses(self._forest.n_trees, False)
        if forest.drift is None or forest.n_batches == 0 or batch[0] == 0:
            return [], forest.drift
        drift_test = self._new_drift_test().resume(forest.drift)
        n = drift_test.n_discarded(batch, guess)
        worst = (-forest.tree_losses()).argsort(kind="stable")[:n]
        return worst.tolist(), drift_test.state()

    def _restore(self, state: State) -> None:
        is_forest = self._core.drift is not None
        super()._restore(state)
        for values in self._core.parameters:
            self._new_parameters().restore(values)
        require((self._core.drift is not None) == is_forest, "only a forest has a drift test")
        if is_forest:
            self._new_drift_test().restore(self._core.drift)

    @property
    def retained_sizes(self) -> list[int]:
        """Number of samples that each tree retains. Copies made by bagging count."""
        return [self._core.n_retained(tree) for tree in range(self._n_trees)]
