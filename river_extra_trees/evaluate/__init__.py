"""Evaluation of models on data frames and on tables larger than memory.

The functions have the names, arguments and results of those of `river.evaluate`. The metrics rank
the samples of a rare label exactly.
"""

from .progressive import iter_progressive_val_score, progressive_val_score
from .ranking import AveragePrecision, ExactROCAUC

__all__ = [
    "AveragePrecision",
    "ExactROCAUC",
    "iter_progressive_val_score",
    "progressive_val_score",
]
