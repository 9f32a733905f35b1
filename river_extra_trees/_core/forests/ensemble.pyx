"""Trees that learn one stream and vote: what all forests have in common."""

from ..learner cimport Learner
from ..trees cimport Trees


cdef class Ensemble(Learner):
    """Trees that learn one stream and vote."""

    cdef Trees new_tree(self):
        """A tree of one empty leaf."""
        cdef Trees trees = Trees(len(self.labels), self.regression, self.fading)
        trees.add_tree()
        return trees

    cdef int count_trees(self) noexcept:
        return <int>len(self.trees)

    cdef list tree_nodes(self, int tree):
        return [self.trees[tree].node(node) for node in self.trees[tree].preorder()]

    cdef tuple tree_sizes(self):
        return (sum(trees.n_nodes for trees in self.trees),
                max((trees.height for trees in self.trees), default=0))
