from typing import Any

def fit_of(
    x: dict[Any, Any], layout: dict[Any, int], missing: frozenset[str], n_columns: int
) -> int: ...
