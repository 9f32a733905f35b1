from collections.abc import Hashable, Mapping
from typing import Any, Self

from river_extra_trees._core.learner import Learner
from river_extra_trees._core.window import Window

class ParticleFilter(Learner):
    pool: Window
    lowest: float
    highest: float
    n_particles: int
    window: int
    min_samples_leaf: int
    alpha: float
    beta: float
    leaf_bonus: float
    published: bool
    linear: bool
    n_seen: int
    n_steps: int
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
    rejuvenate_every: int
    def set_policy(self, *, discard: str, rejuvenate_every: int) -> None: ...
    def retire(self, slot: int) -> None: ...
    def to_retire(self, discard: str) -> int: ...
    def rejuvenate(self) -> None: ...
    def mixture(self, x: Mapping[Hashable, Any]) -> list[tuple[float, float, float, float]]: ...
    def number_of_tree(self, tree: int, x: Mapping[Hashable, Any]) -> float: ...
    def scores(self, criterion: str) -> dict[int, float]: ...
    def alc_at(self, x: Mapping[Hashable, Any]) -> float: ...
    def factor_weights(self) -> dict[float, float]: ...
    def particle_shares(self) -> list[float]: ...
    def settings(self) -> dict[str, Any]: ...
    @classmethod
    def restored(cls, values: dict[str, Any]) -> Self: ...
