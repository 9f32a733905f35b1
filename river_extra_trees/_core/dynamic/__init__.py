"""A cloud of dynamic trees: particle learning, sections 2.3 and 3 of the paper.

`particles` holds the data and says how they are laid out; every other module is functions on them,
one purpose each; `cloud` is what Python sees.
"""

from .cloud import Cloud

__all__ = ["Cloud"]
