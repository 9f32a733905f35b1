from typing import final

from .workspace import Workspace

@final
class Splitter(Workspace):
    def __init__(
        self,
        criterion: str,
        max_depth: int | None = None,
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
        splitter: str = "best",
        shuffled: bool = False,
        reference: bool = False,
        forgetful_reference: bool = False,
    ) -> None: ...
