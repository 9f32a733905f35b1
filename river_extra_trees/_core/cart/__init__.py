"""Growing CART trees on presorted columns.

`search` finds the best split of a node; its header documents the layout of the scratch memory.
`splitter` assigns the samples to leaves, and grows them.
"""
