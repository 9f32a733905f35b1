"""The trees of the forests with several windows, their linear models, and how they are grown."""

import collections
import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from operator import add, mul

import numpy as np

from tests.naive import cart
from tests.naive.cart import (
    N_CUTS,
    NO_CODE,
    VALUES,
    Rules,
    Sample,
    Split,
    Values,
    leaf_of,
    may_split,
    mean,
    moments,
    present,
    pure,
    random_threshold,
    sides,
    total,
    value_of,
    walk,
)
from tests.naive.rng import NaiveRng

Float = np.float32
Best = tuple[Float, Split]  # a split and its score
Weighed = tuple[Split, list[Sample], list[Sample]]  # a split and the sides that are scored
MAX_REGRESSORS = 64
LEAST_TOLD = 500  # samples of a growth whose columns are judged ...
LEAST_OTHERS = 3  # ... by nodes of so many samples beside the largest class
LEAST_EVIDENCE = 1.0  # of a candidate
MOST_CELLS = 2**23  # of a growth that takes all columns at once
MOST_ENTRIES = 2**22  # of a growth that lists the samples with a value of a column


@dataclass
class Node(cart.Node):
    """A node, and its place in the arena of its tree. Leaves hold what they have learned."""

    number: int = 0
    gain: float = 0.0


@dataclass
class Standard:
    """The regressors of a tree, in standard deviations from their means, within limits."""

    columns: list[int]
    centers: Values
    deviations: Values
    lows: Values
    highs: Values

    def __call__(self, x: Sequence[float]) -> Values:
        values = np.array([value_of(x, column) for column in self.columns])
        z = (values - self.centers) / self.deviations
        return np.where(np.isnan(z), 0.0, np.clip(z, self.lows, self.highs))


def standard_of(samples: list[Sample], numeric: list[int], in_range: bool = False) -> Standard:
    """The first numeric features, without those that do not vary; limited to their range or not."""
    found = []
    for column in numeric[:MAX_REGRESSORS]:
        values = present(samples, column)
        if not pure(values):
            weight, center, squares = moments(values)
            deviation = (squares / weight) ** 0.5
            ends = [end(s.y for s in values) - center for end in (min, max)]
            limits = [end / deviation for end in ends] if in_range else [-math.inf, math.inf]
            found.append((column, center, deviation, *limits))
    columns, *numbers = zip(*found, strict=True) if found else [()] * 5
    return Standard(list(columns), *(np.array(each, dtype=float) for each in numbers))


@dataclass
class Model:
    """A ridge regression on standardised features; it gives what is added to a mean."""

    standard: Standard
    slopes: Values
    middle: Values
    limit: float

    def __call__(self, x: Sequence[float]) -> float:
        slope = float((self.standard(x) - self.middle) @ self.slopes)
        return min(max(slope, -self.limit), self.limit)


def ridge(samples: list[Sample], standard: Standard) -> Model:
    """Solve (Z'WZ + r I) b = Z'W y about the means, r being the mean weight."""
    n = len(standard.columns)
    z = np.array([standard(s.x) for s in samples]).reshape(len(samples), n)
    y, w = np.array([s.y for s in samples]), np.array([s.weight for s in samples])
    middle = w @ z / w.sum()
    z = z - middle
    slopes = np.linalg.solve(z.T @ (w[:, None] * z) + w.mean() * np.eye(n), z.T @ (w * y))
    return Model(standard, slopes, middle, float(y.max() - y.min()))


class Tree:
    """A tree, and the numbers of its nodes: those freed last are given out first.

    Its leaves learn what its linear models, in the nodes of a kind, leave of the targets.
    """

    def __init__(self, kind: str = "none") -> None:
        self.kind = kind
        self.models: dict[int, Model] = {}
        self.n_numbers = 0
        self.free: list[int] = []
        self.root = self.new_node(0)
        self.birth = 0

    def new_node(self, depth: int) -> Node:
        if self.free:
            return Node([], depth, number=self.free.pop())
        self.n_numbers += 1
        # Children are a pair of numbers, so the root, 0, stands alone: there is no node 1.
        return Node([], depth, number=self.n_numbers - (self.n_numbers == 1))

    @property
    def n_nodes(self) -> int:
        return self.n_numbers - len(self.free)

    def leaf(self, x: Sequence[float]) -> Node:
        return leaf_of(self.root, x)

    def slope(self, leaf: Node, x: Sequence[float]) -> float:
        model = self.models.get(0 if self.kind == "root" else leaf.number)
        return 0.0 if model is None else model(x)

    def residual(self, sample: Sample) -> Sample:
        return sample._replace(y=sample.y - self.slope(self.leaf(sample.x), sample.x))

    def shrink_to(self, max_nodes: int) -> None:
        """Make leaves of the lightest splits at the bottom until no more nodes are left."""
        while (excess := self.n_nodes - max(max_nodes, 1)) > 0:
            bottom = [
                (total(node.left.samples + node.right.samples), node.number, node)
                for node in walk(self.root)
                if node.split and node.left.split is None and node.right.split is None
            ]
            for _, _, node in sorted(bottom)[: (excess + 1) // 2]:
                self.free += [node.left.number, node.right.number]
                node.samples = node.left.samples + node.right.samples
                node.split = node.left = node.right = None
                node.gain = 0.0


# --- Growth


def are_few(n_values: int, n_cells: int) -> bool:
    """Whether the growth lists the samples with a value of a column."""
    return 4 * n_values < n_cells and n_values <= MOST_ENTRIES


def scaled(half: int, n: int) -> int:
    """Half a random word as a number of 0 .. n-1."""
    return half * n >> 32


def score(samples: list[Sample], criterion: str, middle: float) -> float:
    """Higher is better: the impurity of the samples of a side, but for a constant.

    Values are taken from their mean in the node.
    """
    weight = total(samples)
    if criterion == "variance":
        return sum(s.weight * (s.y - middle) for s in samples) ** 2 / weight
    codes = sorted({sample.y for sample in samples})
    counts = [total([s for s in samples if s.y == code]) for code in codes]
    if criterion == "entropy":
        # `sum` of Python 3.12 and later rounds once, the core after each class.
        return functools.reduce(add, [count * math.log(count / weight) for count in counts])
    return sum(count * count for count in counts) / weight


def power_below(magnitude: float) -> float:
    """A power of two that takes a magnitude to [1/2, 1), unless it is extreme."""
    return math.ldexp(1.0, min(max(-math.frexp(magnitude)[1], -1000), 1000))


@dataclass
class Lane:
    """A column as the growth sees it: whole numbers from 0 to 255, or other numbers as floats."""

    column: int
    is_byte: bool = False
    is_fast: bool = False  # all lanes of this kind are counted at once
    offset: float = 0.0
    scale: float = 1.0
    is_exact: bool = True

    def encoded(self, value: float) -> Float:
        return np.float32((value - self.offset) * self.scale)

    def threshold(self, encoded: Float) -> float:
        """The largest number that is encoded as the threshold or less."""
        if self.is_exact:
            return float(encoded)
        x = (float(encoded) + float(np.nextafter(encoded, np.float32(math.inf)))) / 2.0
        x = x / self.scale + self.offset
        while self.encoded(x) > encoded:
            x = math.nextafter(x, -math.inf)
        while self.encoded(math.nextafter(x, math.inf)) <= encoded:
            x = math.nextafter(x, math.inf)
        return x


def lane_of(column: int, values: list[float], is_fast: bool) -> Lane:
    """If a float cannot hold all values, the smallest is subtracted from values of one magnitude.

    Huge and tiny values are multiplied by a power of two.
    """
    present = [value for value in values if not math.isnan(value)]
    lane = Lane(column, is_fast=is_fast)
    with np.errstate(over="ignore"):
        lane.is_exact = all(float(np.float32(value)) == value for value in present)
    if not lane.is_exact:
        low, high = min(present), max(present)
        is_short = all((math.frexp(value)[0] * 2**24).is_integer() for value in present)
        if not is_short and (
            (low > 0.0 and high <= 2.0 * low) or (high < 0.0 and low >= 2.0 * high)
        ):
            lane.offset = low
        largest = max(abs(low - lane.offset), abs(high - lane.offset))
        if not 1e-30 < largest < 1e30:
            lane.scale = power_below(largest)
    return lane


@dataclass
class Growth:
    """Extremely randomised splits of a leaf and of what is below it."""

    rules: Rules
    nominal: frozenset[int]
    tree: Tree
    n_visited: int
    rng: NaiveRng
    evidence: dict[int, float] = field(default_factory=dict)  # of former growths, per column
    sums: dict[int, tuple[float, int]] = field(default_factory=dict)  # of what columns tell
    is_judged: bool = False

    @property
    def of_numbers(self) -> bool:
        return self.rules.criterion == "variance"

    def run(
        self,
        leaf: Node,
        samples: list[Sample],
        offered: list[int],
        most_splits: float = math.inf,
    ) -> None:
        """Split the leaf and its children, left ones first, until the rules forbid it."""
        if not self.of_numbers:
            samples = sorted(samples, key=lambda sample: sample.y)
        self.unit = 2.0 * power_below(max(s.weight for s in samples))
        self.is_plain = self.rules.criterion != "entropy" and all(
            s.weight * self.unit == 1.0 for s in samples
        )
        self.listed = self.listed_of(samples, offered)
        self.is_wide = (
            len(samples) == 2
            or len(offered) > 8 * self.n_visited
            or len(offered) * len(samples) > MOST_CELLS
            or bool(self.listed)
        )
        self.units = [] if self.is_wide else self.units_of(samples, offered)
        # Wide: the columns that may vary first, in the order drawn, and the listed ones of a node.
        columns = [column for column in offered if column not in self.listed]
        self.is_judged = not self.is_wide and len(samples) >= LEAST_TOLD
        tasks = [(leaf, samples, len(columns), list(self.listed))] if offered else []
        n_splits = 0
        while tasks and n_splits < most_splits:
            node, samples, n_active, listed = tasks.pop()
            if not may_split(samples, node.depth, self.rules):
                continue
            self.prepare(samples)
            if self.is_wide:
                best, n_active = self.best_of_columns(samples, columns, n_active, listed)
            else:
                best = self.best_of_lanes(samples)
            if best is None:
                continue
            left, right = sides(samples, best)
            middle = mean(samples)
            of = self.rules.criterion
            node.gain = score(left, of, middle) + score(right, of, middle)
            node.gain -= score(samples, of, middle)
            node.left = self.tree.new_node(node.depth + 1)
            node.right = self.tree.new_node(node.depth + 1)
            node.split, node.left.samples, node.right.samples = best, left, right
            n_splits += 1
            if n_active or listed:
                is_left = self.n_entries(left) <= self.n_entries(right)
                of_lighter = self.listed_in(left if is_left else right)
                tasks.append((node.right, right, n_active, listed if is_left else of_lighter))
                tasks.append((node.left, left, n_active, of_lighter if is_left else listed))

    def prepare(self, samples: list[Sample]) -> None:
        """The targets of the node as whole numbers: their sums have no rounding."""
        if not self.of_numbers:
            return
        weights = [sample.weight * self.unit for sample in samples]
        weighted, weight = 0.0, 0.0
        for sample, w in zip(samples, weights, strict=True):
            weighted += w * sample.y
            weight += w
        center, numbers = weighted / weight, [sample.y for sample in samples]
        bits = 30 - (len(samples) - 1).bit_length()
        largest = max(center - min(numbers), max(numbers) - center, 1e-290)
        grain = math.ldexp(power_below(largest), bits)
        self.whole = {y: int((y - center) * grain) for y in numbers}

    def score(self, left: list[Sample], right: list[Sample]) -> Float:
        """In floats: sum_left / n_left + sum_right / n_right, with sums of squared counts."""
        if self.rules.criterion == "entropy":
            scaled = [
                [s._replace(weight=s.weight * self.unit) for s in side] for side in (left, right)
            ]
            return np.float32(sum(score(side, "entropy", 0.0) for side in scaled))
        sums, weights = [], []
        for side in (left, right):
            squares = np.float32(0.0)
            for code in sorted({0.0 if self.of_numbers else s.y for s in left + right}):
                own = [s for s in side if self.of_numbers or s.y == code]
                factors = [self.whole[s.y] if self.of_numbers else 1.0 for s in own]
                count = np.float32(
                    sum(s.weight * self.unit * f for s, f in zip(own, factors, strict=True))
                )
                squares += count * count
            sums.append(squares)
            weights.append(np.float32(total(side) * self.unit))
        return (sums[0] * weights[1] + sums[1] * weights[0]) / (weights[0] * weights[1])

    def best_of(self, splits: list[Weighed], best: Best | None = None) -> Best | None:
        """The first split with the highest score that leaves enough samples on both sides."""
        for split, left, right in splits:
            if min(len(left), len(right)) >= max(1, self.rules.min_samples_leaf):
                found = self.score(left, right)
                if best is None or found > best[0]:
                    best = found, split
        return best

    # --- All columns at once

    def units_of(self, samples: list[Sample], offered: list[int]) -> list[list[Lane | None]]:
        """The columns in units of 16 bytes or 4 floats: bytes, full floats, all others.

        Bytes are used if that makes fewer units; a regression has none.
        """
        bytes_, full, others = [], [], []
        for column in offered:
            values = [value_of(sample.x, column) for sample in samples]
            if column in self.nominal or not self.is_plain or any(map(math.isnan, values)):
                others.append(lane_of(column, values if column not in self.nominal else [], False))
            elif all(0 <= value <= 255 and value == int(value) for value in values):
                bytes_.append(Lane(column, not self.of_numbers, True))
            else:
                full.append(lane_of(column, values, True))
        if self.of_numbers or -(-len(bytes_) // 16) - (-len(full) // 4) >= -(
            -(len(bytes_) + len(full)) // 4
        ):
            bytes_, full = [], sorted(bytes_ + full, key=lambda lane: lane.column)
            full = [replace(lane, is_byte=False) for lane in full]
        units: list[list[Lane | None]] = []
        for lanes, size in ((bytes_, 16), (full, 4), (others, 4)):
            lanes = [*lanes, *[None] * (-len(lanes) % size)]
            units += [lanes[i : i + size] for i in range(0, len(lanes), size)]
        return units

    def thresholds(self, samples: list[Sample]) -> list[tuple[Lane, Float]]:
        """A random threshold of each lane that varies, in their order."""
        found = []
        for unit in self.units:
            size = 64 * (4 if len(unit) == 16 else 2) // len(unit)  # bits of a lane
            words = [self.rng.next_word() for _ in range(len(unit) * size // 64)]
            bits = sum(word << (64 * i) for i, word in enumerate(words))
            for i, lane in enumerate(unit):
                if lane is None:
                    continue
                part = bits >> (size * i) & (1 << size) - 1
                values = [lane.encoded(value_of(sample.x, lane.column)) for sample in samples]
                present = [value for value in values if not math.isnan(value)]
                if len(set(present)) + (len(present) < len(values)) <= 1:
                    continue
                low, high = min(present), max(present)
                if lane.is_byte:
                    threshold = low + np.float32(int(high - low) * part >> 16)
                else:
                    threshold = low + np.float32((part >> 8) / (1 << 24)) * (high - low)
                found.append((lane, threshold if threshold < high else low))
        return found

    def choose(self, n: int, n_chosen: int) -> set[int]:
        """Some of n numbers; drawn are those that are chosen or the others, whichever are fewer."""
        if n <= n_chosen:
            return set(range(n))
        leaves_out, left, drawn, word = 2 * n_chosen >= n, list(range(n)), set(), 0
        for i in range(n - n_chosen if leaves_out else n_chosen):
            word = word >> 16 if i % 4 else self.rng.next_word()
            j = (word & 0xFFFF) * len(left) >> 16
            drawn.add(left[j])
            left[j] = left[-1]
            left.pop()
        return set(range(n)) - drawn if leaves_out else drawn

    def has_others(self, samples: list[Sample]) -> bool:
        """Whether so many targets differ from the most frequent one that columns are judged."""
        counts = collections.Counter(sample.y for sample in samples)
        most = 1 if self.of_numbers else max(counts.values())
        return len(samples) - most >= LEAST_OTHERS

    def best_of_lanes(self, samples: list[Sample]) -> Split | None:
        """The best split of some lanes that vary, a random one of equals.

        Columns without evidence are only taken if no other one of these lanes allows a split. If
        no lane allows any, all others are tried.
        """
        varying = self.thresholds(samples)
        chosen = self.choose(len(varying), 1 if len(samples) == 2 else self.n_visited)
        for tried in (chosen, set(range(len(varying))) - chosen):
            found = []
            for lane, threshold in [varying[i] for i in sorted(tried)]:
                if self.is_judged and lane.column in self.nominal and self.has_others(samples):
                    self.judge(lane.column, samples)
                if best := self.best_of(self.splits_of(lane, threshold, samples)):
                    found.append((*best, self.has_evidence(lane.column)))
                    if self.is_judged and self.of_numbers and self.has_others(samples):
                        self.judge_threshold(best, samples)
            if found:
                are_others = any(is_other for _, _, is_other in found)
                found = [best for best in found if best[2] or not are_others]
                most = max(value for value, _, _ in found)
                equal = [split for value, split, _ in found if value == most]
                at = (self.rng.next_word() >> 32) * len(equal) >> 32 if len(equal) > 1 else 0
                return equal[at]
        return None

    def has_evidence(self, column: int) -> bool:
        """Whether a column told something in former growths."""
        return not self.is_judged or self.evidence.get(column, LEAST_EVIDENCE) >= LEAST_EVIDENCE

    def judge_threshold(self, best: Best, samples: list[Sample]) -> None:
        """Sum up what a threshold tells of the targets beyond chance."""
        score, split = best
        n, weights = len(samples), [sample.weight * self.unit for sample in samples]
        whole = [float(self.whole[s.y]) for s in samples]
        of_node = sum(map(mul, weights, whole)) ** 2 / sum(weights)
        squares = sum(w * y * y for w, y in zip(weights, whole, strict=True))
        if squares > of_node and not split.nominal:
            surplus, freedom = self.sums.get(split.feature, (0.0, 0))
            told = min(max((float(score) - of_node) / (squares - of_node), 0.0), 1.0)
            self.sums[split.feature] = surplus + n * ((n - 1) * told - 1.0), freedom + n * n

    def keep_evidence(self) -> None:
        """Let the evidence learn from the sums of the growth."""
        for column, (surplus, freedom) in self.sums.items():
            old = self.evidence.get(column, LEAST_EVIDENCE)
            self.evidence[column] = old + 0.3 * (surplus / math.sqrt(2.0 * freedom) - old)

    def judge(self, column: int, samples: list[Sample]) -> None:
        """Sum up what the values of a nominal column tell beyond chance."""
        values = [value_of(sample.x, column) for sample in samples]
        y = np.array([float(self.whole[s.y]) if self.of_numbers else s.y for s in samples])
        codes = [0.0] if self.of_numbers else np.unique(y).tolist()
        targets = y[:, None] if self.of_numbers else y[:, None] == codes
        weights = np.array([[sample.weight * self.unit] for sample in samples])
        numbers = np.unique(np.nan_to_num(values, nan=-1.0), return_inverse=True)[1]
        sums = np.zeros((numbers.max() + 1, len(codes)))
        masses = np.zeros((len(sums), 1))
        np.add.at(sums, numbers, weights * targets)
        np.add.at(masses, numbers, weights)
        of_node = ((weights * targets).sum(0) ** 2).sum() / weights.sum()
        between = (sums**2 / masses).sum() - of_node
        within_all = (weights * targets * targets).sum() - of_node
        k = len(sums) - 1
        surplus, freedom = self.sums.get(column, (0.0, 0))
        surplus += (len(samples) - 1) * between / within_all - k if within_all > 0.0 else 0.0
        self.sums[column] = surplus, freedom + k

    def splits_of(self, lane: Lane, threshold: Float, samples: list[Sample]) -> list[Weighed]:
        values = [value_of(sample.x, lane.column) for sample in samples]
        if lane.column in self.nominal:
            return self.nominal_splits(lane.column, values, samples)
        return self.numeric_splits(lane.column, values, samples, lane.threshold(threshold))

    # --- Many columns, one after the other

    def listed_of(self, samples: list[Sample], offered: list[int]) -> list[int]:
        """The columns that at most half of the samples have, if there are few values."""
        values = [value for sample in samples for value in sample.x]
        n_values = sum(not math.isnan(value) for value in values)
        if len(samples) == 2 or not are_few(n_values, len(offered) * len(samples)):
            return []
        return [
            column for column in offered if 0 < 2 * len(present(samples, column)) <= len(samples)
        ]

    def listed_in(self, samples: list[Sample]) -> list[int]:
        """The listed columns that a sample has, in the order of the first ones."""
        found: dict[int, None] = {}
        for sample in samples:
            for column in self.listed:
                if not math.isnan(value_of(sample.x, column)):
                    found[column] = None
        return list(found)

    def n_entries(self, samples: list[Sample]) -> int:
        """Number of samples, and of their values of listed columns."""
        return len(samples) + sum(len(self.listed_in([sample])) for sample in samples)

    def best_of_columns(
        self, samples: list[Sample], columns: list[int], n_active: int, listed: list[int]
    ) -> tuple[Split | None, int]:
        """The best split of some columns that vary; how many of all may vary below it.

        A column that does not vary is not drawn again, and `listed` loses it.
        """
        best: Best | None = None
        n_left, n_lists_left, n_visited = n_active, len(listed), 0
        while n_left + n_lists_left > 0 and (
            best is None or n_visited < (1 if len(samples) == 2 else self.n_visited)
        ):
            if self.listed:
                half, other = self.rng.halves()
                drawn = scaled(half, n_left + n_lists_left)
            else:
                drawn = self.rng.below(n_left)
            is_listed = drawn >= n_left
            if is_listed:
                drawn -= n_left
                if n_lists_left > self.n_visited - n_visited:  # the fullest of four
                    for half in (other, *self.rng.halves()):
                        place = scaled(half, n_lists_left)
                        drawn = max(drawn, place, key=lambda at: len(present(samples, listed[at])))
                n_lists_left -= 1
                listed[drawn], listed[n_lists_left] = listed[n_lists_left], listed[drawn]
                column = listed[n_lists_left]
            else:
                n_left -= 1
                columns[drawn], columns[n_left] = columns[n_left], columns[drawn]
                column = columns[n_left]
            values = [value_of(sample.x, column) for sample in samples]
            own = [value for value in values if not math.isnan(value)]
            if len(set(own)) + (len(own) < len(values)) <= 1:
                if is_listed:
                    listed[n_lists_left], listed[-1] = listed[-1], listed[n_lists_left]
                    listed.pop()
                else:
                    n_active -= 1
                    columns[n_left], columns[n_active] = columns[n_active], columns[n_left]
                continue
            n_visited += 1
            if column in self.nominal:
                splits = self.nominal_splits(column, values, samples, is_listed)
            else:
                low, high = min(own), max(own)
                is_drawn = not is_listed or low < high
                threshold = random_threshold(self.rng, low, high) if is_drawn else low
                splits = self.numeric_splits(column, values, samples, threshold)
            best = self.best_of(splits, best)
        return None if best is None else best[1], n_active

    # --- The splits of a column

    def nominal_splits(
        self, column: int, values: list[float], samples: list[Sample], is_listed: bool = False
    ) -> list[Weighed]:
        """A cut of the order of the values, or one value, possibly the missing one, and the others.

        Of two values it is the first; of more, if no cut has evidence, that of a random sample. In
        a list, samples without a value come last.
        """
        if is_listed:
            order = sorted(range(len(values)), key=lambda i: math.isnan(values[i]))
            values, samples = [values[i] for i in order], [samples[i] for i in order]
        code = values[0]
        if len({None if math.isnan(value) else value for value in values}) > 2:
            if cuts := self.cuts_of(column, values, samples, is_listed):
                return cuts
            code = values[self.rng.below(len(values))]
        is_missing = math.isnan(code)
        split = Split(column, NO_CODE if is_missing else code, True, is_missing)
        return [(split, *sides(samples, split))]

    def cuts_of(
        self, column: int, values: list[float], samples: list[Sample], is_listed: bool
    ) -> list[Weighed]:
        """A random cut of the order of the values by mean target, see `Cart.group_splits`.

        In a list, all samples without a value are on the side of the missing value.
        """
        cut = self.rng.below(N_CUTS - 1)
        targets = [float(self.whole[s.y]) if self.of_numbers else s.y for s in samples]
        if not self.of_numbers:  # then the share of the most frequent class in the node counts
            codes = sorted(set(targets))
            top = max(codes, key=lambda code: total([s for s in samples if s.y == code]))
            targets = [float(target == top) for target in targets]
        weights = [sample.weight * self.unit for sample in samples]
        groups: dict[float | None, list[int]] = {}
        for i, value in enumerate(values):
            groups.setdefault(None if math.isnan(value) else value, []).append(i)

        def sums(of: Iterable[int]) -> tuple[float, float]:
            weight = target = 0.0
            for i in of:
                weight += weights[i]
                target += weights[i] * targets[i]
            return weight, target

        weight, target = sums(range(len(samples)))
        prior = target / weight
        sums_of = {value: sums(of) for value, of in groups.items()}
        means = {value: (t + prior) / (w + 1.0) for value, (w, t) in sums_of.items()}
        low, high = min(means.values()), max(means.values())
        if low == high:
            return []

        def is_left(mean: float) -> bool:
            return (
                min(max(math.floor((mean - low) * (N_CUTS / (high - low))), 0), N_CUTS - 1) <= cut
            )

        left = {value for value, middle in means.items() if is_left(middle)}
        balance = 0.0
        for value, (w, _) in sums_of.items():
            balance += w if value in left else -w
        others_left = balance >= 0.0
        lighter = frozenset(v for v in groups if v is not None and (v in left) != others_left)
        missing_left = None in left if None in groups else others_left
        split = Split(column, (others_left, lighter), VALUES, missing_left)
        if min(map(len, sides(samples, split))) < max(1, self.rules.min_samples_leaf):
            return []
        without: dict[bool, list[int]] = {True: [], False: []}
        for value, of in groups.items():
            w, t = sums_of[value]
            for i in of:
                own = weights[i] * targets[i]
                if is_listed and value is None:
                    without[is_left(means[value])].append(i)
                    continue
                without[is_left((t - own + prior) / (w - weights[i] + 1.0))].append(i)
        (w, t), (w_right, t_right) = sums(sorted(without[True])), sums(sorted(without[False]))
        if not t * w_right < t_right * w:
            return []
        return [(split, *([samples[i] for i in sorted(without[side])] for side in (True, False)))]

    def numeric_splits(
        self, column: int, values: list[float], samples: list[Sample], threshold: float
    ) -> list[Weighed]:
        """A threshold; missing values go right, then left."""
        if any(map(math.isnan, values)):
            splits = [Split(column, threshold, False, left) for left in (False, True)]
        else:
            splits = [Split(column, threshold, False, False).with_missing(samples)]
        return [(split, *sides(samples, split)) for split in splits]
