"""Shrub ensembles: Algorithm 1 of the paper.

`ensemble` holds the data and says how they are laid out; every other module is functions on them,
one purpose each; `shrubs` is what Python sees.
"""

from .shrubs import Shrubs

__all__ = ["Shrubs"]
