from collections.abc import Hashable, Mapping
from typing import Any, Self

from river_extra_trees._core.learner import Learner

class ParticleFilter(Learner):
    lowest: float
    log_evidence: float
    log_predictive: float
    def __new__(
        cls,
        *,
        n_particles: int,
        window: int,
        classifier: bool,
        linear: bool,
        min_samples_leaf: int,
        alpha: float,
        beta: float,
        leaf_bonus: float,
        decays: list[float],
        prior_weight: float,
        published: bool,
        seed: int,
    ) -> Self: ...
    def set_policy(self, *, discard: str, rejuvenate_every: int) -> None: ...
    def mixture(self, x: Mapping[Hashable, Any]) -> list[tuple[float, float, float, float]]: ...
    def number_of_tree(self, tree: int, x: Mapping[Hashable, Any]) -> float: ...
    def alc_at(self, x: Mapping[Hashable, Any]) -> float: ...
    def factor_weights(self) -> dict[float, float]: ...
    def particle_shares(self) -> list[float]: ...
    def settings(self) -> dict[str, Any]: ...
    @classmethod
    def restored(cls, values: dict[str, Any]) -> Self: ...
