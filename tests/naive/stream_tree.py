"""Stream decision trees: the structure changes once per batch, the leaves with every sample."""

from dataclasses import dataclass, field

from tests.naive.cart import Cart, Node, Rules, Sample, faded, leaf_of
from tests.naive.value_history import NaiveHistory


def early_sizes(batch_size: int) -> list[int]:
    """Numbers of samples on which trees grow before their first batch is full."""
    sizes, n = [], 10
    while n < batch_size:
        sizes.append(n)
        n += max(10, n // 2)
    return sizes


@dataclass
class NaiveStreamTree:
    """Ours: leaves count every sample at once, structure changes at the end of a batch.

    Until the first batch is full, the tree is grown from nothing several times, and once more then.

    A leaf that the batch reached is grown, by the batch's samples there, as CART grows a node; its
    new children know these samples only. Any leaf may split at any batch, the root too. With each
    sample that a leaf learns, the weights of its earlier ones fade. After a batch, splits by sets
    of values send its values anew: to the side that the history of a value speaks for.
    """

    rules: Rules
    batch_size: int
    fading: float = 1.0
    batch: list[Sample] = field(default_factory=list)
    root: Node = field(default_factory=lambda: Node([], 0))
    is_first: bool = True  # batch

    def __post_init__(self) -> None:
        self.history = NaiveHistory(self.rules.nominal, self.rules.criterion == "variance")

    def learn(self, sample: Sample) -> None:
        self.learn_in_leaf(sample)
        self.batch.append(sample)
        if not self.is_first:
            self.history.send(self.root, sample, self.batch)
        is_full = len(self.batch) == self.batch_size
        if self.is_first and (is_full or len(self.batch) in early_sizes(self.batch_size)):
            self.root = Node([], 0)
            for each in self.batch:
                self.learn_in_leaf(each)
            self.grow_leaves()
        elif is_full:
            self.grow_leaves()
        if is_full:
            for each in self.batch:
                self.history.learn(each)
            self.batch, self.is_first = [], False

    def learn_in_leaf(self, sample: Sample) -> None:
        leaf = leaf_of(self.root, sample.x)
        leaf.samples = [*faded(leaf.samples, self.fading), sample]

    def grow_leaves(self) -> None:
        hit = {id(leaf): leaf for leaf in (leaf_of(self.root, s.x) for s in self.batch)}
        for leaf in hit.values():
            learned = leaf.samples
            leaf.samples = [s for s in self.batch if leaf_of(self.root, s.x) is leaf]
            cart = Cart(self.rules)
            cart.history, cart.listed = self.history, 1
            cart.grow(leaf, self.root)
            leaf.samples = learned
