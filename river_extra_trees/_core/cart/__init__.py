"""Growing CART trees on presorted columns.

`workspace` holds the rules and the scratch memory of one growth and documents its layout, `search`
finds the best split of a node, and `splitter` grows the leaves of a tree.
"""
