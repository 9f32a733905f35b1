from ..cart.splitter import Splitter
from .forest import Forest

def grow_early(
    forest: Forest,
    splitters: list[Splitter],
    max_features: int,
    max_depth: int,
    max_nodes: int,
) -> None: ...
