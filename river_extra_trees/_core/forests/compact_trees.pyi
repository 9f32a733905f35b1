from ..trees import Trees

class CompactTrees(Trees):
    free_cell: int
