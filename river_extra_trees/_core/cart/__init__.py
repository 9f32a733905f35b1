"""Growing CART trees on presorted columns.

`workspace` holds the rules and the memory of one growth and says how it is laid out; every other
module is functions on it, one purpose each; `splitter` is what the forests and Python see.
"""

from .splitter import Splitter

__all__ = ["Splitter"]
