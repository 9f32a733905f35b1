"""Shrub ensembles: `ensemble` learns and answers, `proximal` has the operators of its weights."""

from .shrubs import Shrubs

__all__ = ["Shrubs"]
