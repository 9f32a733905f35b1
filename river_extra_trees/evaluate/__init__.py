"""Evaluation of models on data frames and on tables larger than memory.

The functions have the names, arguments and results of those of `river.evaluate`.
"""

from .progressive import iter_progressive_val_score, progressive_val_score

__all__ = ["iter_progressive_val_score", "progressive_val_score"]
