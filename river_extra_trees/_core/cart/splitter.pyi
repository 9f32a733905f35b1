from typing import final

@final
class Splitter:
    criterion: int
    shuffled: bool
    published: int
    max_depth: int
    min_samples_split: int
    min_samples_leaf: int
    def __init__(
        self,
        criterion: str,
        max_depth: int | None = None,
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
        shuffled: bool = False,
        published: str | None = None,
    ) -> None: ...
