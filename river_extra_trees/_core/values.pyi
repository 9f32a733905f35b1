from typing import Any

def fit_of(
    x: dict[Any, Any], names: tuple[Any, ...], is_nominal: bytes, missing: frozenset[str]
) -> int: ...
