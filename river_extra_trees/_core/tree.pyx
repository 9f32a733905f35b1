"""A tree: its memory, its nodes and its leaves. See the header.

This module does not choose splits.
"""

from libc.string cimport memcpy, memmove, memset

from .table cimport LONG_AHEAD
from .allocation cimport enough, free, raise_memory_error, resized, trimmed
from .moments cimport join_moments
from .value_sets cimport (
    bytes_of, codes_of, new_values, place_in, threshold_of, trimmed_values,
)

# --- Memory ---------------------------------------------------------------------------------------


cdef void begin_tree(Tree* tree) noexcept nogil:
    """A tree without memory, and without a root."""
    memset(tree, 0, sizeof(Tree))
    tree.free_pair = tree.free_cell = -1


cdef void free_tree(Tree* tree) noexcept nogil:
    free_sets(tree)
    free(tree.nodes)
    free(tree.cells)
    free(tree.subtotals)
    free(tree.leaps)
    begin_tree(tree)


cdef size_t lay_out(Tree* tree, const Kind* kind, char* block, size_t n) noexcept nogil:
    """Divide a block for n nodes; return its size. Parts of other kinds of trees are NULL."""
    cdef size_t at = n * sizeof(Node)
    tree.nodes, tree.capacity = <Node*>block, <int>n
    tree.moments, tree.visited, tree.impurities = NULL, NULL, NULL
    if kind.regression:
        tree.moments = <double*>(block + at)
        at += n * sizeof(double)
    if kind.with_visits:
        tree.visited = <double*>(block + at)
        at += n * sizeof(double)
    tree.gains = <double*>(block + at)
    at += n // 2 * sizeof(double)
    if kind.with_impurities:
        tree.impurities = <double*>(block + at)
        at += n // 2 * sizeof(double)
    tree.parents = <int*>(block + at)
    tree.depths = tree.parents + n // 2
    return at + n * sizeof(int)


cdef void copy_part(double* part, const double* source, size_t n) noexcept nogil:
    """Copy a part of a tree, if its kind has it; it is zero if the source does not have it."""
    if part != NULL and source != NULL:
        memcpy(part, source, n * sizeof(double))
    elif part != NULL:
        memset(part, 0, n * sizeof(double))


cdef void move_part(double* part, const double* source, size_t n) noexcept nogil:
    """Move a part of a tree within its memory, if its kind has it."""
    if part != NULL:
        memmove(part, source, n * sizeof(double))


cdef int move_to(Tree* tree, const Tree* source, const Kind* kind, size_t n) except -1 nogil:
    """Copy the nodes of a tree to a new block for n nodes, which replaces that of `tree`."""
    cdef Tree new
    cdef size_t used = source.n_used
    lay_out(&new, kind, <char*>resized(NULL, lay_out(&new, kind, NULL, n), 1), n)
    if used > 0:
        memcpy(new.nodes, source.nodes, used * sizeof(Node))
        memcpy(new.gains, source.gains, used // 2 * sizeof(double))
        memcpy(new.parents, source.parents, used // 2 * sizeof(int))
        memcpy(new.depths, source.depths, used // 2 * sizeof(int))
        copy_part(new.moments, source.moments, used)
        copy_part(new.visited, source.visited, used)
        copy_part(new.impurities, source.impurities, used // 2)
    free(tree.nodes)
    tree.nodes, tree.capacity = new.nodes, new.capacity
    tree.moments, tree.visited = new.moments, new.visited
    tree.gains, tree.impurities = new.gains, new.impurities
    tree.parents, tree.depths = new.parents, new.depths
    return 0


cdef int reserve_pairs(Tree* tree, const Kind* kind, Py_ssize_t n) except -1 nogil:
    """Allocate memory for n more pairs of nodes, the first of which is that of the root.

    Nothing else changes, so nothing must be undone if memory is short.
    """
    cdef Py_ssize_t pairs = enough(tree.n_used // 2 - tree.n_free + n, tree.capacity // 2)
    if pairs > LARGEST_ARENA // 2:
        raise_memory_error()
    if 2 * pairs > tree.capacity:
        move_to(tree, tree, kind, 2 * pairs)
    return 0


cdef int allocate_cells(Tree* tree, Py_ssize_t n) except -1 nogil:
    """See `reserve_cells`."""
    cdef Py_ssize_t capacity = enough(
        tree.n_cells_used - tree.n_free_cells + n, tree.cell_capacity)
    if capacity > LARGEST_CELLS:
        raise_memory_error()
    tree.cells = <Cell*>resized(tree.cells, capacity, sizeof(Cell))
    tree.cell_capacity = <int>capacity
    return 0


cdef int copy_tree(Tree* tree, const Tree* source, const Kind* kind) except -1 nogil:
    """Replace a tree by a copy of another one."""
    cdef int n = source.n_cells_used
    cdef Cell* cells = NULL
    uproot(tree)
    move_to(tree, source, kind, source.n_used)
    if n > 0:
        cells = <Cell*>resized(NULL, n, sizeof(Cell))
        memcpy(cells, source.cells, n * sizeof(Cell))
    free(tree.cells)
    tree.cells, tree.cell_capacity = cells, n
    tree.n_used, tree.free_pair, tree.n_free = source.n_used, source.free_pair, source.n_free
    tree.n_cells_used, tree.free_cell, tree.n_free_cells = (
        source.n_cells_used, source.free_cell, source.n_free_cells)
    if source.set_bytes:
        copy_sets(tree, source)
    return 0


cdef void trim(Tree* tree, const Kind* kind, int n_pairs) noexcept nogil:
    """Give back the memory of a tree but for n more pairs and as many cells.

    The nodes stay where they are, as far as possible: new memory takes long when it is used first.
    """
    cdef Tree new
    cdef size_t used = tree.n_used, n = used + 2 * n_pairs, bytes
    cdef int room = tree.n_cells_used + 2 * n_pairs
    if 0 < n < <size_t>tree.capacity:
        bytes = lay_out(&new, kind, <char*>tree.nodes, n)
        move_part(new.moments, tree.moments, used)      # in their order in memory
        move_part(new.visited, tree.visited, used)
        move_part(new.gains, tree.gains, used // 2)
        move_part(new.impurities, tree.impurities, used // 2)
        memmove(new.parents, tree.parents, used // 2 * sizeof(int))
        memmove(new.depths, tree.depths, used // 2 * sizeof(int))
        lay_out(tree, kind, <char*>trimmed(tree.nodes, bytes), n)
    if tree.n_cells_used == 0:
        free(tree.cells)
        tree.cells, tree.cell_capacity = NULL, 0
    elif room < tree.cell_capacity:
        tree.cells = <Cell*>trimmed(tree.cells, room * sizeof(Cell))
        tree.cell_capacity = room


cdef size_t bytes_of_tree(const Tree* tree, const Kind* kind) noexcept nogil:
    """Number of allocated bytes."""
    cdef Tree layout
    return (lay_out(&layout, kind, NULL, tree.capacity) + tree.cell_capacity * sizeof(Cell)
            + <size_t>tree.subtotal_pairs * tree.n_subtotals * sizeof(double) + tree.set_bytes
            + ((<size_t>1 << tree.leap_bits) * sizeof(Leap) if tree.leaps != NULL else 0))


# --- Sets of values -------------------------------------------------------------------------------


cdef int copy_sets(Tree* tree, const Tree* source) except -1 nogil:
    """Give the copies of nodes sets of their own."""
    cdef int i
    cdef const ValueSet* values
    for i in range(tree.n_used):            # first none, because memory may be short
        if tree.nodes[i].nominal == VALUES:
            tree.nodes[i].nominal = 0
    for i in range(tree.n_used):
        if source.nodes[i].nominal == VALUES:
            values = values_at(source.nodes[i].threshold)
            memcpy(give_set(tree, i, values.n, values.others_left), values, bytes_of(values.n))
    return 0


cdef ValueSet* give_set(Tree* tree, int node, int n, bint others_left) except NULL nogil:
    """Let the split of a node be one by a set of n values, which the caller writes."""
    cdef ValueSet* values = new_values(n, others_left)
    if values == NULL:
        raise_memory_error()
    tree.nodes[node].threshold, tree.nodes[node].nominal = threshold_of(values), VALUES
    tree.set_bytes += bytes_of(n)
    return values


cdef int move_value(Tree* tree, int node, double code) except -1 nogil:
    """Send a value to the other side of a split by a set of values."""
    cdef ValueSet* values = values_at(tree.nodes[node].threshold)
    cdef int place = place_in(values, code), n = values.n
    if place < n and codes_of(values)[place] == code:
        memmove(codes_of(values) + place, codes_of(values) + place + 1,
                (n - place - 1) * sizeof(double))
        values = trimmed_values(values, n - 1)
    else:
        values = <ValueSet*>resized(values, 1, bytes_of(n + 1))
        memmove(codes_of(values) + place + 1, codes_of(values) + place,
                (n - place) * sizeof(double))
        codes_of(values)[place], values.n = code, n + 1
    tree.set_bytes += bytes_of(values.n) - bytes_of(n)
    tree.nodes[node].threshold = threshold_of(values)
    return 0


cdef void free_set(Tree* tree, int node) noexcept nogil:
    """Free the set of values of a split, if it has one; the node is to be replaced."""
    cdef ValueSet* values
    if tree.nodes[node].nominal == VALUES:
        values = values_at(tree.nodes[node].threshold)
        tree.set_bytes -= bytes_of(values.n)
        free(values)


cdef void free_sets(Tree* tree) noexcept nogil:
    """Free the sets of values of all splits; the nodes are to be replaced."""
    cdef int i
    for i in range(tree.n_used if tree.set_bytes else 0):
        free_set(tree, i)


# --- Nodes ----------------------------------------------------------------------------------------


cdef void uproot(Tree* tree) noexcept nogil:
    """Remove all nodes; their memory stays."""
    free_sets(tree)
    forget_subtotals(tree)
    forget_leaps(tree)
    tree.n_leapt = 0
    tree.n_used = tree.n_free = tree.n_cells_used = tree.n_free_cells = 0
    tree.free_pair = tree.free_cell = -1


cdef void forget_subtotals(Tree* tree) noexcept nogil:
    free(tree.subtotals)
    tree.subtotals = NULL
    tree.n_subtotals = tree.subtotal_pairs = 0


cdef void forget_leaps(Tree* tree) noexcept nogil:
    free(tree.leaps)
    tree.leaps, tree.leap_bits, tree.n_leaps = NULL, 0, 0


cdef void plant(Tree* tree) noexcept nogil:
    """Make the tree one empty leaf. There is memory for a pair."""
    uproot(tree)
    new_pair(tree, -1, 0)
    tree.nodes[1].feature = UNUSED


cdef int new_pair(Tree* tree, int parent, int depth) noexcept nogil:
    """Add two empty leaves; return the left one. The memory is reserved."""
    cdef int left = tree.free_pair
    if left >= 0:
        tree.free_pair = tree.nodes[left].left
        tree.n_free -= 1
    else:
        left = tree.n_used
        tree.n_used += 2
    tree.parents[left >> 1], tree.depths[left >> 1] = parent, depth
    tree.gains[left >> 1] = 0.0
    if tree.impurities != NULL:
        tree.impurities[left >> 1] = 0.0
    open_node(tree, left)
    open_node(tree, left ^ 1)
    if tree.moments != NULL:
        tree.nodes[left].left = tree.nodes[parent].left if parent >= 0 else -2
        tree.nodes[left ^ 1].left = -2 - (left >> 1)
    empty(tree, left)
    empty(tree, left ^ 1)
    touch(tree, left)
    return left


cdef int split_leaf(Tree* tree, int leaf, const Split* split, double gain) noexcept nogil:
    """Split a leaf into two empty leaves; return the left one. The memory is reserved."""
    cdef int left = new_pair(tree, leaf, depth_of(tree, leaf) + 1)
    cdef Node* this = &tree.nodes[leaf]
    touch(tree, leaf)
    drop_classes(tree, leaf)
    tree.gains[left >> 1] = gain
    this.threshold, this.left = split.threshold, left
    this.feature, this.nominal = <uint16_t>split.feature, split.nominal
    if split.nominal == VALUES:
        tree.set_bytes += bytes_of(values_at(split.threshold).n)
    send_missing(tree, leaf, split.missing_left)
    return left


cdef void send_missing(Tree* tree, int node, bint left) noexcept nogil:
    """Send the missing values of a split to one side."""
    tree.nodes[node].turns = OTHERS_RIGHT if left else OTHERS_RIGHT | MISSING_RIGHT


cdef void cut(Tree* tree, int left) noexcept nogil:
    """Put the pair of two leaves on the list of free pairs."""
    clear(tree, left)
    clear(tree, left ^ 1)
    tree.nodes[left].feature = tree.nodes[left ^ 1].feature = UNUSED
    tree.nodes[left].left = -1
    tree.nodes[left ^ 1].left = tree.free_pair
    tree.free_pair = left ^ 1
    tree.n_free += 1
    tree.parents[left >> 1], tree.depths[left >> 1] = -1, 0


cdef void merge_children(Tree* tree, int node) noexcept nogil:
    """Make the parent of two leaves a leaf, with the sum of their statistics."""
    cdef int left = tree.nodes[node].left, right = left ^ 1
    cdef double[2] sums
    sums[0] = sums[1] = 0.0
    free_set(tree, node)
    open_node(tree, node)
    if tree.visited != NULL:
        tree.visited[node] = max(tree.visited[left], tree.visited[right])
    if tree.moments == NULL:
        merge_classes(tree, node, left, right)
        cut(tree, left)
        return
    add_leaf(tree, left, &tree.nodes[node].threshold, sums)
    add_leaf(tree, right, &tree.nodes[node].threshold, sums)
    tree.nodes[node].left = tree.nodes[left].left
    cut(tree, left)
    memcpy(moments_of(tree, node), sums, 2 * sizeof(double))


cdef void merge_classes(Tree* tree, int node, int left, int right) noexcept nogil:
    """Move the classes of two leaves to a leaf without any."""
    cdef int code = tree.nodes[right].left
    cdef double weight = weight_of(tree, right)
    cdef Cell cell
    tree.nodes[node].threshold, tree.nodes[node].left = (
        weight_of(tree, left), tree.nodes[left].left)
    tree.nodes[left].left = -1
    if code >= 0:
        add_class(tree, node, code, weight)
    elif code < -1:
        use_cells(tree, node)
        tree.nodes[node].threshold += weight
    while first_cell(tree, right) >= 0:
        cell = tree.cells[first_cell(tree, right)]
        drop_first(tree, right)                 # so there is memory for a cell
        tree.cells[cell_of(tree, node, cell.code)].weight += cell.weight


cdef void hold_splits(const Tree* tree, uint8_t* held) noexcept nogil:
    """Mark the columns of the splits of a tree."""
    cdef int node
    for node in range(tree.n_used):
        if not is_leaf(&tree.nodes[node]):
            held[tree.nodes[node].feature] = True


cdef void hold_sets(const Tree* tree, uint8_t* held) noexcept nogil:
    """Mark the columns whose values sets divide."""
    cdef int node
    for node in range(tree.n_used if tree.set_bytes else 0):
        if tree.nodes[node].nominal == VALUES:
            held[tree.nodes[node].feature] = True


# --- Walks ----------------------------------------------------------------------------------------

cdef extern from *:
    """
    #ifdef _MSC_VER
    #define FETCH(ADDRESS) ((void)(ADDRESS))
    #else
    #define FETCH(ADDRESS) __builtin_prefetch(ADDRESS)
    #endif
    """
    void fetch "FETCH"(const void* address) noexcept nogil      # into the cache, for later

cdef enum:
    FEW_ROWS = 8            # so many rows are not divided by the nodes that they reach

cdef struct Range:          # rows[start : start + n] of those that reach a node
    int node
    int start, n
    int side                # in which of two arrays they are

cdef struct Walk:
    int node, row


cdef void walk_rows(const Tree* tree, const Rows* rows, const int* which, int n,
                    int* leaves) noexcept nogil:
    """Find the leaves of n rows, at most LONG_AHEAD; that of row i is written to leaves[i].

    The rows are those with the numbers in `which`, or the first n if it is NULL. Each node divides
    the rows that reach it, so that the next ones need not wait for its memory. If they become few,
    the cost of a node would prevail, and they walk alone.
    """
    cdef int[2][LONG_AHEAD] divided
    cdef Range[LONG_AHEAD] waiting
    cdef Walk[LONG_AHEAD] alone
    cdef Range here, right
    cdef const Node* this
    cdef const double* column
    cdef const int* found
    cdef int i, n_waiting = 1, n_alone = 0
    for i in range(n):
        divided[0][i] = which[i] if which != NULL else i
    waiting[0].node, waiting[0].start, waiting[0].n, waiting[0].side = 0, 0, n, 0
    while n_waiting > 0:
        n_waiting -= 1
        here = waiting[n_waiting]
        this, found = &tree.nodes[here.node], divided[here.side] + here.start
        if is_leaf(this):
            for i in range(here.n):
                leaves[found[i]] = here.node
            continue
        if here.n < FEW_ROWS or has_one(rows, this.feature):
            for i in range(here.n):
                alone[n_alone].node, alone[n_alone].row = here.node, found[i]
                n_alone += 1
            continue
        fetch(&tree.nodes[this.left])
        column = column_in(rows, this.feature)
        if column == NULL:          # all its values are missing
            waiting[n_waiting].node = this.left ^ <int>turn(this, NAN, False)
            n_waiting += 1
            continue
        right = here
        here.side = right.side = 1 - here.side
        here.n = divide(this, column, found, here.n, divided[here.side] + here.start)
        right.start, right.n = here.start + here.n, right.n - here.n
        here.node, right.node = this.left, this.left ^ 1
        waiting[n_waiting] = right
        n_waiting += right.n > 0
        waiting[n_waiting] = here
        n_waiting += here.n > 0
    walk_alone(tree.nodes, rows, alone, n_alone, leaves)


cdef inline int divide(const Node* split, const double* column, const int* found, int n,
                       int* divided) noexcept nogil:
    """Write the rows that go left from the begin on, the others from the end; return how many
    go left."""
    cdef Py_ssize_t i, left = 0
    cdef int* end = divided + n - 1
    cdef double threshold = split.threshold
    if split.nominal:
        for i in range(n):
            divided[left] = end[left - i] = found[i]
            left += 1 - turn(split, column[found[i]], False)
    elif split.turns & MISSING_RIGHT:
        for i in range(n):
            divided[left] = end[left - i] = found[i]
            left += column[found[i]] <= threshold
    else:
        for i in range(n):
            divided[left] = end[left - i] = found[i]
            left += not column[found[i]] > threshold
    return <int>left


cdef inline void walk_alone(const Node* nodes, const Rows* rows, Walk* walks, int n,
                            int* leaves) noexcept nogil:
    """Let rows go on to their leaves, side by side; those that have reached one are left out.

    The node that a row reaches is read in its next step, when its memory has come into the cache.
    """
    cdef const Node* this
    cdef int i, node, row, n_left
    while n > 0:
        n_left = 0
        for i in range(n):
            node, row = walks[i].node, walks[i].row
            this, leaves[row] = &nodes[node], node
            node = this.left ^ <int>turn(this, value_in(rows, this.feature, row), False)
            fetch(&nodes[node])
            walks[n_left].node, walks[n_left].row = node, row
            n_left += this.turns != 0
        n = n_left


# --- Pruning --------------------------------------------------------------------------------------


cdef int shrink(Tree* tree, int max_nodes) except -1 nogil:
    """Collapse the least recently visited bottom splits until the tree has max_nodes nodes.

    A bottom split is a split whose children are leaves. Among splits that were visited equally
    recently, the one with the smallest weight is collapsed first. Each round collapses as many
    splits as could be necessary, so the cost per removed node is small. The root is kept.
    """
    cdef int n, _, at, node, first, excess = n_nodes_of(tree) - max(max_nodes, 1)
    if excess > 0:
        forget_leaps(tree)
    while excess > 0:
        n = list_bottom_splits(tree, &first)
        at = first
        at = sort_by_use(tree, &at, n)
        n = min(n, (excess + 1) // 2)
        if tree.moments == NULL:
            reserve_cells(tree, 2 * <Py_ssize_t>n)
        for _ in range(n):
            node, at = at, after(tree, at)
            merge_children(tree, node)
        while at >= 0:
            node, at = at, after(tree, at)
            link_bottom(tree, node, depth_of(tree, node) + 1)
        excess -= 2 * n
    return 0

# The bottom splits are a list without memory of its own: where the depth of the leaves below one
# belongs is the number of the next one.


cdef inline int after(const Tree* tree, int node) noexcept nogil:
    """The bottom split after another one in the list; -1: none."""
    return tree.depths[tree.nodes[node].left >> 1]


cdef inline void link_bottom(Tree* tree, int node, int next) noexcept nogil:
    tree.depths[tree.nodes[node].left >> 1] = next


cdef int list_bottom_splits(Tree* tree, int* first) noexcept nogil:
    """List the bottom splits by number; return how many there are."""
    cdef int node, n = 0
    cdef const Node* this
    first[0] = -1
    for node in range(tree.n_used - 1, -1, -1):
        this = &tree.nodes[node]
        if (not is_leaf(this) and is_leaf(&tree.nodes[this.left])
                and is_leaf(&tree.nodes[this.left ^ 1])):
            link_bottom(tree, node, first[0])
            first[0] = node
            n += 1
    return n


cdef int sort_by_use(Tree* tree, int* at, int n) noexcept nogil:
    """Take n bottom splits from a list and merge-sort them; return the least used one."""
    cdef int a, b, node, first = -1, last = -1
    if n < 2:
        if n == 1:
            first, at[0] = at[0], after(tree, at[0])
            link_bottom(tree, first, -1)
        return first
    a = sort_by_use(tree, at, n // 2)
    b = sort_by_use(tree, at, n - n // 2)
    while a >= 0 or b >= 0:
        if b < 0 or (a >= 0 and is_less_used(tree, a, b)):
            node, a = a, after(tree, a)
        else:
            node, b = b, after(tree, b)
        if last < 0:
            first = node
        else:
            link_bottom(tree, last, node)
        last = node
    return first


cdef bint is_less_used(const Tree* tree, int a, int b) noexcept nogil:
    cdef int one = tree.nodes[a].left, other = tree.nodes[b].left
    cdef double of_a = max(visit_of(tree, one), visit_of(tree, one ^ 1))
    cdef double of_b = max(visit_of(tree, other), visit_of(tree, other ^ 1))
    if of_a == of_b:
        of_a = weight_of(tree, one) + weight_of(tree, one ^ 1)
        of_b = weight_of(tree, other) + weight_of(tree, other ^ 1)
    return of_a < of_b if of_a != of_b else a < b


cdef inline double visit_of(const Tree* tree, int leaf) noexcept nogil:
    """When a leaf was visited; if leaves do not know, whether it has a weight."""
    return tree.visited[leaf] if tree.visited != NULL else weight_of(tree, leaf) > 0.0


# --- Leaves ---------------------------------------------------------------------------------------


cdef void open_node(Tree* tree, int node) noexcept nogil:
    """Make a node a leaf without a weight and a class."""
    cdef Node* this = &tree.nodes[node]
    this.threshold, this.left = 0.0, -1
    this.feature = this.nominal = this.turns = 0


cdef void empty(Tree* tree, int node) noexcept nogil:
    """Empty the statistics of a leaf without cells."""
    tree.nodes[node].threshold = 0.0
    if tree.moments != NULL:
        moments_of(tree, node)[0] = moments_of(tree, node)[1] = 0.0
    if tree.visited != NULL:
        tree.visited[node] = 0.0


cdef void clear(Tree* tree, int leaf) noexcept nogil:
    """Empty a leaf."""
    touch(tree, leaf)
    drop_classes(tree, leaf)
    empty(tree, leaf)


cdef void drop_classes(Tree* tree, int leaf) noexcept nogil:
    """Leave no class in a leaf."""
    if tree.moments != NULL:
        return
    while first_cell(tree, leaf) >= 0:
        drop_first(tree, leaf)
    tree.nodes[leaf].left = -1


cdef void drop_first(Tree* tree, int leaf) noexcept nogil:
    """Free the first cell of a leaf."""
    cdef int cell = first_cell(tree, leaf)
    tree.nodes[leaf].left = -2 - tree.cells[cell].next
    tree.cells[cell].next = tree.free_cell
    tree.free_cell = cell
    tree.n_free_cells += 1


cdef int add_cell(Tree* tree, int leaf, int code, double weight) noexcept nogil:
    """Add a class to a leaf without a class or with cells; return its cell."""
    cdef int cell = tree.free_cell
    if cell >= 0:
        tree.free_cell = tree.cells[cell].next
        tree.n_free_cells -= 1
    else:
        cell = tree.n_cells_used
        tree.n_cells_used += 1
    tree.cells[cell].weight, tree.cells[cell].code = weight, code
    tree.cells[cell].next = first_cell(tree, leaf)
    tree.nodes[leaf].left = -2 - cell
    return cell


cdef int cell_of(Tree* tree, int leaf, int code) noexcept nogil:
    """The cell of a class of a leaf, which may be new."""
    cdef int cell = first_cell(tree, leaf)
    while cell >= 0:
        if tree.cells[cell].code == code:
            return cell
        cell = tree.cells[cell].next
    return add_cell(tree, leaf, code, 0.0)


cdef void use_cells(Tree* tree, int leaf) noexcept nogil:
    """Move the class of a leaf with one class to a cell."""
    cdef int code = tree.nodes[leaf].left
    if code >= 0:
        tree.nodes[leaf].left = -1
        add_cell(tree, leaf, code, weight_of(tree, leaf))


cdef void add_class(Tree* tree, int leaf, int code, double weight) noexcept nogil:
    """Add a sample of a class to a leaf. Memory for two cells is reserved."""
    cdef Node* this = &tree.nodes[leaf]
    if this.left == code or this.left == -1:
        this.left = code
    else:
        use_cells(tree, leaf)
        tree.cells[cell_of(tree, leaf, code)].weight += weight
    this.threshold += weight


cdef void fade_classes(Tree* tree, int leaf, double fading) noexcept nogil:
    """Multiply the weights of the classes in a leaf by a factor."""
    cdef Node* this = &tree.nodes[leaf]
    cdef int cell
    this.threshold *= fading
    if this.threshold == 0.0:
        drop_classes(tree, leaf)
        return
    if this.threshold < FAINTEST:               # it has a weight, but no class
        use_cells(tree, leaf)
    cell = first_cell(tree, leaf)
    while cell >= 0:
        tree.cells[cell].weight *= fading
        if tree.cells[cell].weight < FAINTEST:  # avoids slow subnormal numbers
            tree.cells[cell].weight = 0.0
        cell = tree.cells[cell].next


cdef void set_classes(Tree* tree, int leaf, double weight, const int* codes,
                      const double* counts, int n_classes) noexcept nogil:
    """Set the weight of an empty leaf and of some classes; others have weight 0."""
    cdef int c, n = 0, code = -1
    for c in range(n_classes):
        if counts[c] != 0.0:
            n, code = n + 1, codes[c]
    tree.nodes[leaf].threshold = weight
    if n < 2:
        tree.nodes[leaf].left = code
        return
    for c in range(n_classes):
        if counts[c] != 0.0:
            add_cell(tree, leaf, codes[c], counts[c])


cdef void read_classes(const Tree* tree, int leaf, double* counts, int n_classes) noexcept nogil:
    """Write the weight of each class in a leaf."""
    cdef double weight = 0.0
    memset(counts, 0, n_classes * sizeof(double))
    add_leaf(tree, leaf, &weight, counts)


cdef void add_leaf(const Tree* tree, int leaf, double* weight, double* values) noexcept nogil:
    """Add the statistics of a leaf to others: a weight, and one per class or two moments."""
    cdef int cell
    if tree.moments != NULL:
        join_moments(values, values + 1, weight[0], mean_of(tree, leaf), squares_of(tree, leaf),
                     weight_of(tree, leaf))
    elif tree.nodes[leaf].left >= 0:
        values[tree.nodes[leaf].left] += weight_of(tree, leaf)
    else:
        cell = first_cell(tree, leaf)
        while cell >= 0:
            values[tree.cells[cell].code] += tree.cells[cell].weight
            cell = tree.cells[cell].next
    weight[0] += weight_of(tree, leaf)


cdef int majority(const Tree* tree, int leaf) noexcept nogil:
    """The class with the largest weight in a leaf, the first if equal; -1 if it is empty."""
    cdef int best = 0, cell = first_cell(tree, leaf)
    cdef double most = 0.0
    cdef const Cell* this
    if not weight_of(tree, leaf) > 0.0:
        return -1
    if tree.nodes[leaf].left >= 0:
        return tree.nodes[leaf].left
    while cell >= 0:
        this = &tree.cells[cell]
        if this.weight > most or (this.weight == most > 0.0 and this.code < best):
            best, most = this.code, this.weight
        cell = this.next
    return best


cdef void mark_in_leaves(const Tree* tree, uint8_t* met) noexcept nogil:
    """Mark the classes that have a weight in a leaf."""
    cdef int node, cell
    for node in range(tree.n_used):
        if not is_leaf(&tree.nodes[node]) or tree.nodes[node].feature == UNUSED:
            continue
        if tree.nodes[node].left >= 0:
            met[tree.nodes[node].left] = True
        cell = first_cell(tree, node)
        while cell >= 0:
            if tree.cells[cell].weight > 0.0:
                met[tree.cells[cell].code] = True
            cell = tree.cells[cell].next


cdef inline void forget_border(ValueSet* values, const uint8_t* gone) noexcept nogil:
    """Forget the border between shares of a marked class."""
    if gone[values.label]:
        values.border = NAN


cdef void forget_in_leaves(Tree* tree, const uint8_t* gone) noexcept nogil:
    """Let a tree forget the marked classes; a leaf may be empty then."""
    cdef int node, cell, next
    cdef bint found
    cdef double weight
    forget_subtotals(tree)
    for node in range(tree.n_used):
        if not is_leaf(&tree.nodes[node]) or tree.nodes[node].feature == UNUSED:
            if tree.nodes[node].nominal == VALUES:
                forget_border(values_at(tree.nodes[node].threshold), gone)
            continue
        if tree.nodes[node].left >= 0:
            if gone[tree.nodes[node].left]:
                tree.nodes[node].left, tree.nodes[node].threshold = -1, 0.0
            continue
        cell, found = first_cell(tree, node), False
        while cell >= 0:
            found |= gone[tree.cells[cell].code]
            cell = tree.cells[cell].next
        if not found:
            continue
        cell, weight = first_cell(tree, node), 0.0
        tree.nodes[node].left = -1
        while cell >= 0:                # in reverse order, which has no effect
            next = tree.cells[cell].next
            if gone[tree.cells[cell].code]:
                tree.cells[cell].next, tree.free_cell = tree.free_cell, cell
                tree.n_free_cells += 1
            else:
                weight += tree.cells[cell].weight
                tree.cells[cell].next = first_cell(tree, node)
                tree.nodes[node].left = -2 - cell
            cell = next
        tree.nodes[node].threshold = weight
        if weight == 0.0:
            drop_classes(tree, node)
