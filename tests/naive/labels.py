"""The codes that stand for labels, given out as a learner does."""

from collections.abc import Set
from typing import Any


class Labels:
    """A code for each label, in the order in which they were first learned; there are `most`.

    If all are taken, a new label gets the first code of a label that neither a stored sample nor a
    tree has. If there is none, the trees forget the labels that were learned least recently.
    """

    def __init__(self, most: int = 1024) -> None:
        self.codes: dict[Any, int] = {}
        self.most = most
        self.learned: list[Any] = []  # the labels of all samples
        self.crowded: list[Any] = []

    def learn(self, label: Any, stored: Set[Any], grown: Set[Any]) -> int:
        """Return the code of a label that is learned, new or not; a ValueError if there is none.

        Samples with the labels `stored` are stored, and trees have the labels `grown`.
        """
        if label not in self.codes and len(self.codes) == self.most:
            self._free(label, stored, grown)
        free = min(set(range(self.most)) - set(self.codes.values()), default=-1)
        self.learned.append(label)
        return self.codes.setdefault(label, free)

    def _free(self, label: Any, stored: Set[Any], grown: Set[Any]) -> None:
        others = [each for each in self.codes if each not in stored]
        if not others:
            raise ValueError(label)
        gone = [each for each in others if each not in grown]
        self.crowded = [] if gone else [label]
        if not gone:
            others.sort(key=lambda each: self.learned[::-1].index(each), reverse=True)
            gone = others[: max(1, self.most // 64)]
        self.codes = {each: code for each, code in self.codes.items() if each not in gone}
