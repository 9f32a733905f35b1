"""The trees of the forests with several memories: nodes, and the order of their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.naive.cart import Split

FAINTEST = 1e-200


@dataclass
class Node:
    """A leaf when `split` is None. `number` is its place in the arena of its tree."""

    number: int
    depth: int
    split: Split | None = None
    left: Node | None = None
    right: Node | None = None
    weight: float = 0.0
    counts: dict[float, float] = field(default_factory=dict)
    gain: float = 0.0

    def learn(self, code: float, weight: float) -> None:
        self.weight += weight
        self.counts[code] = self.counts.get(code, 0.0) + weight

    def fade(self, fading: float) -> None:
        self.weight *= fading
        faded = {code: count * fading for code, count in self.counts.items()}
        self.counts = {code: count for code, count in faded.items() if count >= FAINTEST}


class Tree:
    """A tree, and the numbers of its nodes: those freed last are given out first."""

    def __init__(self) -> None:
        self.n_numbers = 0
        self.free: list[int] = []
        self.root = self.new_node(0)
        self.birth = 0

    def new_node(self, depth: int) -> Node:
        if self.free:
            return Node(self.free.pop(), depth)
        self.n_numbers += 1
        return Node(self.n_numbers - 1, depth)

    @property
    def n_nodes(self) -> int:
        return self.n_numbers - len(self.free)

    def preorder(self) -> list[Node]:
        found, waiting = [], [self.root]
        while waiting:
            node = waiting.pop()
            found.append(node)
            if node.left is not None and node.right is not None:
                waiting += [node.right, node.left]
        return found

    def leaf(self, x: Sequence[float]) -> Node:
        node = self.root
        while node.split is not None:
            child = node.left if node.split.goes_left(x) else node.right
            assert child is not None
            node = child
        return node

    def shrink_to(self, max_nodes: int) -> None:
        """Make leaves of the lightest splits at the bottom until no more nodes are left."""
        while (excess := self.n_nodes - max(max_nodes, 1)) > 0:
            bottom = [
                node
                for node in self.preorder()
                if node.left is not None
                and node.right is not None
                and node.left.split is None
                and node.right.split is None
            ]
            bottom.sort(key=lambda node: (node.weight, node.number))
            for node in bottom[: (excess + 1) // 2]:
                assert node.left is not None
                assert node.right is not None
                self.free += [node.left.number, node.right.number]
                node.split = node.left = node.right = None
                node.gain = 0.0
