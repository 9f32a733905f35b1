from collections.abc import Sequence

def log_marginals(
    rows: Sequence[Sequence[float]],
    origin: Sequence[float],
    prior: Sequence[float],
    n_regressors: int = 0,
    n_classes: int = 0,
    df_offset: float = 0.0,
) -> list[float]: ...
