"""A particle filter of dynamic trees: sections 2.3 and 3 of the paper.

`particles` contains the data structures and the class that Python uses. Each of the other modules
contains the functions for one purpose.
"""

from .particles import ParticleFilter

__all__ = ["ParticleFilter"]
