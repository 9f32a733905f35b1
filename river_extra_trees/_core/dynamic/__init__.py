"""A particle filter of dynamic trees: sections 2.3 and 3 of the paper.

`particles` holds the data and says how they are laid out, and is what Python sees; every other
module is functions on them, one purpose each.
"""

from .particles import ParticleFilter

__all__ = ["ParticleFilter"]
