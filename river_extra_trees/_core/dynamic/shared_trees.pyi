class SharedTrees:
    width: int
