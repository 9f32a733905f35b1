"""A particle filter of dynamic trees: sections 2.3 and 3 of the paper.

`particles` has the data; `moves`, `step` and `scores` the functions on them; `filter` is the class
that Python uses.
"""

from .filter import ParticleFilter

__all__ = ["ParticleFilter"]
