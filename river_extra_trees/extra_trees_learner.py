"""Base class of the extra trees: parameters, and the groups of trees."""

from __future__ import annotations

from ._core.forests.extra_trees import ExtraTrees
from ._estimator.learner import TreeLearner
from ._estimator.parameters import (
    LARGEST,
    MaxFeatures,
    check_jobs,
    check_max_features,
    check_parameter,
    check_whole,
    decay_factor,
    draw_seed,
    is_whole,
)

__all__ = ["LINEAR_MODELS", "ExtraTreesLearner"]

# Nodes of a tree that have a linear model; the regressor has trees of all three kinds.
LINEAR_MODELS = ("none", "leaves", "root")

LARGEST_WINDOW = LARGEST // 4  # the core counts the steps of growth in 32 bits


class ExtraTreesLearner(TreeLearner):
    """Base of both learners."""

    n_models: int
    window_sizes: tuple[int, ...]
    batch_size: int
    max_depth: int | None
    min_samples_split: int
    min_samples_leaf: int
    max_features: MaxFeatures
    max_nodes: int
    leaf_memory: float | None
    n_jobs: int
    seed: int | None

    _core: ExtraTrees
    _sizes = {"n_models": "n_trees", "batch_size": "batch_size"}  # noqa: RUF012
    _mutable = frozenset({"n_jobs"})

    def _begin(self, criterion: str, kinds: tuple[str, ...] = LINEAR_MODELS[:1]) -> None:
        """Check the parameters, and make the core object: for each kind, trees of each size."""
        self._check_parameters()
        groups = [(size, kind) for kind in kinds for size in self.window_sizes]
        least, more = divmod(self.n_models, len(groups))
        n_trees = [least + (i < more) for i in range(len(groups)) if least or i < more]
        self._core = ExtraTrees(
            regression=criterion == "variance",
            windows=[(int(size), n) for (size, _), n in zip(groups, n_trees, strict=False)],
            linear=[kind for (_, kind), _ in zip(groups, n_trees, strict=False)],
            batch_size=self.batch_size,
            fading=decay_factor("leaf_memory", self.leaf_memory),
            max_features=self.max_features,
            max_nodes=self.max_nodes,
            rules={
                "criterion": criterion,
                "max_depth": LARGEST if self.max_depth is None else self.max_depth,
                "min_samples_split": self.min_samples_split,
                "min_samples_leaf": self.min_samples_leaf,
            },
            seed=draw_seed(self.seed),
        )

    def _check_parameters(self) -> None:
        for name in ("n_models", "min_samples_split", "min_samples_leaf", "max_nodes"):
            check_whole(name, getattr(self, name), 1)
        check_whole("batch_size", self.batch_size, 1, LARGEST_WINDOW)
        check_whole("max_depth", self.max_depth, 0, optional=True)
        check_max_features(self.max_features)
        check_jobs(self.n_jobs)
        sizes = self.window_sizes
        check_parameter(
            isinstance(sizes, tuple)
            and len(sizes) > 0
            and all(is_whole(size) and 1 <= size <= LARGEST_WINDOW for size in sizes)
            and len(set(sizes)) == len(sizes),
            "window_sizes",
            sizes,
            f"a tuple of different numbers of samples, from 1 to {LARGEST_WINDOW}",
        )

    @property
    def window_weights(self) -> dict[int, float]:
        """Weight of each window size, by how well its trees predict at present; they sum to one."""
        return dict(self._core.window_weights())

    @property
    def effective_memory(self) -> float:
        """Mean of the window sizes by their weights: the number of samples that is relied on.

        It falls when the stream changes, because weights move to small windows.
        """
        return self._core.effective_memory()

    def _more_summary(self) -> dict[str, str]:
        weights = self.window_weights.items()
        texts = "; ".join(f"{n:,} samples {share:.0%}" for n, share in weights)
        return {**super()._more_summary(), "window_weights": texts}
