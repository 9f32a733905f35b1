"""Shrub ensembles: `ensemble` learns and answers, `weights` finds what each tree counts."""

from .ensemble import Shrubs

__all__ = ["Shrubs"]
