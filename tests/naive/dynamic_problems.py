"""Tiny streams whose exact law can be listed, and wrong models that the tests must tell apart."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import gammaln

from tests.golden.dynatree import data
from tests.naive.dynamic import DynamicTree, Leaf, Split
from tests.naive.dynamic_leaves import GaussianLeaf, MultinomialLeaf, Sums


def problem(leaf: str, columns: str, y: list[int], min_samples_leaf: int) -> DynamicTree:
    """Every digit is a value of a column; targets of regressions are given in hundredths."""
    X = np.array([[float(digit) for digit in column] for column in columns.split()]).T
    if leaf == "multinomial":
        return DynamicTree(X, np.array(y, float), MultinomialLeaf(2), min_samples_leaf)
    leaf_model = GaussianLeaf(X.shape[1], leaf == "linear")
    return DynamicTree(X, np.array(y) / 100, leaf_model, min_samples_leaf)


PROBLEMS = {
    leaf: problem(leaf, *rest)
    for leaf, *rest in (
        ("constant", "2010121002 2121202001", [12, -4, -6, -9, -4, 18, 7, 4, -7, 8], 3),
        ("linear", "32120134540", [-4, 15, -4, 19, 10, 15, 0, 17, 17, 19, 13], 3),
        ("multinomial", "10022110 00111001", [0, 1, 0, 1, 1, 0, 0, 1], 1),
    )
}

# Problems in which splits have many samples on one side and few on the other, so that it matters
# how retired ones are shared out, and the size of the window.
RETIRING = {
    leaf: (problem(leaf, *rest), window)
    for window, leaf, *rest in (
        (5, "constant", "1040034414", [9, 8, 10, 4, 2, 3, 5, 9, 21, 6], 2),
        (8, "linear", "42533424215", [18, 2, 17, 4, 11, -2, -3, -8, -8, 6, 1], 3),
        (7, "multinomial", "2330213221", [0, 0, 1, 1, 0, 0, 1, 0, 0, 0], 1),
    )
}

SMALLEST_LEAF = {"constant": 4, "linear": 14, "class": 1}


def dynatree_stream(leaf: str, min_samples_leaf: int = 0, **parameters: Any) -> DynamicTree:
    """A model of one of dynaTree's streams, by default with leaves of the sizes of its runs."""
    X, y = data("class_train" if leaf == "class" else "fried_train")
    leaf_model = MultinomialLeaf(3) if leaf == "class" else GaussianLeaf(5, leaf == "linear")
    return DynamicTree(X, y, leaf_model, min_samples_leaf or SMALLEST_LEAF[leaf], **parameters)


class OneDegreeOfFreedomMore(GaussianLeaf):
    """The coefficients do not cost a degree of freedom more than the mean does."""

    def degrees_of_freedom(self, total: Sums) -> float:
        return super().degrees_of_freedom(total) + 1


class NoDeterminant(GaussianLeaf):
    """The evidence forgets the volume of the coefficients."""

    def log_determinant(self, total: Sums) -> float:
        return 0.0


class OtherPriorExponent(GaussianLeaf):
    """The prior of the variance is 1 / sigma^4 in the evidence."""

    def log_evidence(self, total: Sums) -> float:
        df = self.degrees_of_freedom(total)
        more = gammaln(df / 2 + 1) - gammaln(df / 2) - np.log(self.residual(total) / 2)
        return super().log_evidence(total) + float(more)


@dataclass(frozen=True)
class HalvedRetirement(DynamicTree):
    """Both sides of a split get half of what the leaf has retired, whatever they hold."""

    def grown(self, leaf: Leaf, column: int, cut: float) -> Split:
        split = super().grown(leaf, column, cut)
        half = leaf.retired * 0.5
        return replace(
            split, left=replace(split.left, retired=half), right=replace(split.right, retired=half)
        )


WRONG_LEAVES = {
    "degrees of freedom": OneDegreeOfFreedomMore,
    "determinant": NoDeterminant,
    "prior exponent": OtherPriorExponent,
}


def mutants(model: DynamicTree) -> dict[str, DynamicTree]:
    """Wrong versions of a model, by what is wrong with them."""
    wrong: dict[str, DynamicTree] = {"depth exponent": replace(model, beta=model.beta - 1)}
    right = model.leaf_model
    if isinstance(right, MultinomialLeaf):
        uniform = MultinomialLeaf(right.n_classes, concentration=1.0)
        return {**wrong, "Dirichlet": replace(model, leaf_model=uniform)}
    for name, leaf in WRONG_LEAVES.items():
        wrong[name] = replace(model, leaf_model=leaf(model.X.shape[1], right.linear))
    return wrong
