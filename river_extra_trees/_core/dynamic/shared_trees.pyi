class SharedTrees:
    width: int
    nodes_in_use: int
    leaves_in_use: int
    n_regions: int
