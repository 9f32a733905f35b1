"""Evaluation of models on data frames and on tables larger than memory.

The functions are those of `river.evaluate`, with the same results, for data that come in frames.
"""

from .progressive import iter_progressive_val_score, progressive_val_score

__all__ = ["iter_progressive_val_score", "progressive_val_score"]
