"""Explanations of extra trees: how their mixtures divide a prediction among the groups.

A group is a mean of trees, so that its contributions are the sums of those of its trees (see
`explain`). What combines the groups is not linear. The rescale rule (DeepLIFT; G-DeepSHAP: Chen,
Lundberg and Lee 2022) follows the computation from the base value to the prediction: where a
function f of one number goes from f(b) to f(x), each contribution to x - b is multiplied by

    (f(x) - f(b)) / (x - b).

So contributions always add up. For numbers, all such functions are limits; as long as no limit is
reached, the contributions are those of a linear mixture, and exact.

For classes, the log odds of a class c are, with the logs l_mk = log q_mk of the members,

    F = sum_m e_m l_mc - log sum_{k != c} exp(sum_m e_m l_mk).

The last term changes by the weighted mean of the changes of its exponents, with the weights of
Sato and Vartia (1976): the logarithmic means of the shares of a class at x and at the base, divided
by their sum. With two classes there is one such share, and the rule is the rescale rule. Members
without features have no contributions, and belong to the base value.
"""

from ..explain cimport Contributions, Explanations
from ..team cimport Team
from .extra_trees cimport ExtraTrees

cdef Explanations explanations_of(ExtraTrees forest, Contributions total, bint shapley, Team team)
