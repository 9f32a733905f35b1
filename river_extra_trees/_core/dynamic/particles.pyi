from typing import Self

from river_extra_trees._core.dynamic.grove import Grove
from river_extra_trees._core.dynamic.pool import Pool
from river_extra_trees._core.schema import Labels, Schema

class Particles:
    schema: Schema
    labels: Labels
    pool: Pool
    grove: Grove
    lowest: float
    highest: float
    n_particles: int
    window: int
    min_samples_leaf: int
    alpha: float
    beta: float
    leaf_bonus: float
    reference: bool
    linear: bool
    cuts_by_range: bool
    n_seen: int
    n_steps: int
    log_evidence: float
    log_predictive: float
    def __new__(
        cls,
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
        reference: bool,
        cuts_by_range: bool,
        seed: int,
    ) -> Self: ...
