"""The columns of a wide growth, which a node draws and visits one by one. See the header."""

from libc.math cimport INFINITY, NAN
from libc.stdint cimport uint64_t
from libc.string cimport memset

from ..allocation cimport carve, product
from ..rng cimport Rng, below, next_word, scaled
from ..split cimport ONE_VALUE, VALUES, VARIANCE, goes_left, random_threshold
from ..value_sets cimport DRAWS, N_CUTS, are_ordered
from .buffer cimport Entry, is_missing
from .lane_rows cimport Segment

cdef extern from "lanes.h":
    float ratio_of(float sum_left, float sum_right, float n_left, float n_right) nogil


cdef inline int fuller(const Link* heads, const int* table, int at, int other) noexcept nogil:
    """Of two lists of a table, the place of the one with more entries."""
    return other if heads[table[other]].row > heads[table[at]].row else at


cdef class ColumnLists(Candidates):
    """The columns of a wide growth. See the header."""

    cdef int lay_out_lists(self, size_t* end, size_t n_samples) except -1 nogil:
        """Take the memory of the integers of a wide growth; see `Growth.lay_out`."""
        cdef size_t n = n_samples if self.is_wide else 0, n_entries = self.n_values
        cdef size_t n_columns = self.n_offered if self.is_sparse else 0
        cdef bint has_nominal = self.is_sparse and self.has_nominal
        self.next_row = <int*>carve(end, n, sizeof(int))
        self.previous_row = <int*>carve(end, n, sizeof(int))
        self.class_of = <int*>carve(end, n, sizeof(int))
        self.spot_of = <int*>carve(end, n, sizeof(int))
        self.picked = <int*>carve(end, n, sizeof(int))
        self.bounds = <int*>carve(end, n + 1 if self.is_sparse else 0, sizeof(int))
        self.segment_of = <int*>carve(end, self.n_classes, sizeof(int))
        self.entries_of = <int*>carve(end, n_entries, sizeof(int))
        self.table = <int*>carve(end, self.most_lists(), sizeof(int))
        self.new_lists = <int*>carve(end, self.most_lists(), sizeof(int))
        self.segments_of = <int*>carve(end, n if has_nominal else 0, sizeof(int))
        self.ends = <int*>carve(end, n_columns, sizeof(int))
        self.class_counts_of = <int*>carve(
            end, product(self.most_lists(), self.n_classes if self.has_class_counts else 0),
            sizeof(int))
        return 0

    cdef size_t most_lists(self) noexcept nogil:
        """Number of lists for which a growth has memory.

        They are those of the root, and new ones: a split adds no more than the load of its lighter
        child, and a task that waits does not need those behind its `top`.
        """
        if not self.is_sparse:
            return 0
        return <size_t>self.n_offered + self.n_values + self.n_samples

    # ---------------------------------------------------------------- the lists of the root

    cdef void begin_lists(self) noexcept nogil:
        """List the rows of the root; find no entry yet."""
        cdef int row, k, n = self.n_samples
        for row in range(n):
            self.next_row[row], self.previous_row[row] = row + 1, row - 1
        self.next_row[n - 1] = -1
        memset(self.sides, 0, n)
        self.task.head, self.task.load, self.task.side = 0, n, 1
        self.task.table = self.task.n_lists = self.task.top = self.n_listed = 0
        if not self.is_sparse:
            return
        for k in range(self.n_offered):
            self.list_of[self.columns[k]] = k
            self.ends[k] = 0

    cdef void count_entries(self, int row) noexcept nogil:
        """Add the values of a row to the numbers of values of the columns."""
        cdef int place = self.places[self.items[0][row]], n = self.buffer.n_present_at(place), i, k
        cdef const Entry* entries = self.buffer.entries_at(place)
        cdef const int* list_of = self.list_of
        cdef const int* columns = self.columns
        cdef int* ends = self.ends
        cdef bint has_value
        self.n_steps += 10 + 4 * n
        if entries == NULL:
            k = 0
            while k < self.n_offered and n > 0:
                has_value = not is_missing(self.buffer.value(columns[k], place))
                ends[k] += has_value
                n, k = n - has_value, k + 1
            self.bounds[row + 1] = k        # it has none of the others; for `fill_entries`
            return
        for i in range(n):
            k = list_of[entries[i].column]      # anything, if the column was not offered
            if 0 <= k < self.n_offered and columns[k] == entries[i].column:
                ends[k] += 1

    cdef void choose_lists(self) noexcept nogil:
        """List the columns that at most half of the samples have."""
        cdef int k, column, n, at = 0
        cdef Link* head
        self.n_steps += 4 * self.n_offered
        self.task.n_active = 0
        for k in range(self.n_offered):
            column, n = self.columns[k], self.ends[k]
            if n == 0 or 2 * n > self.n_samples:
                self.list_of[column] = -1
                self.columns[self.task.n_active] = column
                self.task.n_active += 1
                continue
            self.list_of[column] = self.table[self.n_listed] = self.n_listed
            head = &self.links[self.n_values + self.n_listed]
            head.list, head.row, head.next = column, n, at
            self.new_lists[self.n_listed] = -1
            if self.has_class_counts:
                memset(self.class_counts_of + self.n_listed * self.n_classes, 0,
                       self.n_classes * sizeof(int))
            self.ends[self.n_listed] = at       # the next entry is stored here
            self.n_listed += 1
            at += n
        self.task.n_lists = self.task.top = self.n_listed
        self.task.load += at
        self.bounds[0] = 0

    cdef void fill_entries(self, int row) noexcept nogil:
        """Link the entries of a row to the columns."""
        cdef int place = self.places[self.items[0][row]], i, k, column, at = self.bounds[row], own
        cdef const Entry* entries = self.buffer.entries_at(place)
        cdef int n_present = self.buffer.n_present_at(place), n_listed = self.n_listed
        cdef int n = min(n_listed, self.bounds[row + 1]) if entries == NULL else n_present
        cdef const int* list_of = self.list_of
        cdef Link* links = self.links
        cdef Link* heads = links + self.n_values
        cdef Link* link
        cdef int* ends = self.ends
        cdef int* entries_of = self.entries_of
        cdef int* counts = self.class_counts_of + self.class_of[row]
        cdef int n_counts = self.n_classes if self.has_class_counts else 0
        cdef double value
        self.n_steps += 10 + 4 * n_present
        for i in range(n):
            if entries == NULL:
                k, value = i, self.buffer.value(heads[i].list, place)
            else:
                column, value = entries[i].column, entries[i].value
                k = list_of[column]             # anything, if the column was not offered
                if not 0 <= k < n_listed or heads[k].list != column:
                    continue
            if is_missing(value):
                continue
            own = ends[k]
            ends[k] = own + 1
            if own == heads[k].next:
                heads[k].value = value
            elif heads[k].value != value:
                heads[k].value = NAN
            if n_counts:
                counts[k * n_counts] += 1
            link = links + own
            link.value, link.row, link.list = value, row, k
            link.previous, link.next = own - 1, own + 1
            entries_of[at] = own
            at += 1
        self.bounds[row + 1] = at

    cdef void close_lists(self) noexcept nogil:
        """Link the heads of the lists, all of which have entries."""
        cdef Link* links = self.links
        cdef int list_, head, end
        self.n_steps += 4 * self.n_listed
        for list_ in range(self.n_listed):
            head, end = self.n_values + list_, self.ends[list_]
            links[head].previous = end - 1
            links[links[head].next].previous = links[end - 1].next = head

    # ---------------------------------------------------------------- the columns of a task

    cdef void list_rows(self, const Task* task) noexcept nogil:
        """List the samples of a task in `items`."""
        cdef int* items = self.items[task.side] + task.start
        cdef int i = 0, row = task.head
        while row >= 0:
            items[i], self.spot_of[row] = self.items[0][row], i
            i += 1
            row = self.next_row[row]

    cdef void open_lists(self) noexcept nogil:
        """Find the statistics of the task, whose rows are listed unless all are counts."""
        cdef int s
        self.n_lists_left = self.task.n_lists
        if self.criterion != VARIANCE:
            for s in range(self.task.n_segments):
                self.segment_of[self.own[s].code] = s
        if not self.only_counts:
            self.list_samples()
            return
        self.node.n = 0
        for s in range(self.task.n_segments):
            self.node.counts[s] = self.own[s].n
            self.node.n += self.own[s].n
        self.node.weight = self.node.n

    cdef bint visit_columns(self) noexcept nogil:
        """Draw and visit a column, and listed ones of one value before it.

        Of four random lists the fullest is visited, unless all are going to be. Returns False if
        none is left to be visited.
        """
        cdef int* table = self.table + self.task.table
        cdef const Link* heads = self.links + self.n_values
        cdef int n_left = self.n_left, n_lists = self.n_lists_left, n = self.task.n, at, list_
        cdef int n_most = 1 if n == 2 else self.max_features
        cdef Rng rng = self.rng
        cdef uint64_t word
        if self.n_listed == 0 and n_left > 0 and (
                self.best.split.feature < 0 or self.n_visited < n_most):
            self.visit_column(<int>below(&self.rng, n_left))
            return True
        while n_left + n_lists > 0 and (self.best.split.feature < 0 or self.n_visited < n_most):
            word = next_word(&rng)
            at = scaled(word, n_left + n_lists)
            if at < n_left:
                self.rng, self.n_lists_left = rng, n_lists
                self.visit_column(at)
                return True
            at -= n_left
            if n_lists > self.max_features - self.n_visited:
                at = fuller(heads, table, at, scaled(word >> 32, n_lists))
                word = next_word(&rng)
                at = fuller(heads, table, at, scaled(word, n_lists))
                at = fuller(heads, table, at, scaled(word >> 32, n_lists))
            list_ = table[at]
            n_lists -= 1
            table[at] = table[n_lists]
            table[n_lists] = list_
            if not (self.has_class_counts and 0 < heads[list_].row < n
                    and heads[list_].value == heads[list_].value):
                self.rng, self.n_lists_left = rng, n_lists
                self.visit_list(list_)
                return True
            self.n_steps += 20
            self.visit_constant(heads + list_, list_)
        self.rng, self.n_lists_left = rng, n_lists
        return False

    cdef void visit_column(self, int j) noexcept nogil:
        """Evaluate the candidates of one of the remaining columns."""
        cdef int i, n = self.task.n, column
        cdef double low = INFINITY, high = -INFINITY, value
        cdef bint has_missing = False, varies
        self.n_steps += 50 + 8 * n
        column = self.columns[j]
        self.n_left -= 1
        self.columns[j] = self.columns[self.n_left]
        self.columns[self.n_left] = column
        if not self.is_listed:
            self.list_rows(&self.task)
            self.list_samples()
        self.read_column(column)
        if self.nominal[column]:
            self.number_values(n)
            self.count_values()
            self.visit_nominal(column, n)
            varies = self.node_values.n_values > 1
        else:
            for i in range(n):
                value = self.values[i]
                low = value if value < low else low
                high = value if value > high else high
                has_missing |= value != value
            varies = low < high or (has_missing and low == high)
            if varies:
                self.visit_numeric(column, n, random_threshold(&self.rng, low, high))
        if varies:
            self.n_visited += 1
        else:                   # it is constant in all nodes below, too
            self.task.n_active -= 1
            self.columns[self.n_left] = self.columns[self.task.n_active]
            self.columns[self.task.n_active] = column

    cdef void visit_list(self, int list_) noexcept nogil:
        """Evaluate a threshold of a listed column; missing values go right, or left."""
        cdef const Link* head = &self.links[self.n_values + list_]
        cdef const Link* link = &self.links[head.next]
        cdef double low = INFINITY, high = -INFINITY, threshold
        self.n_steps += 20 + 8 * head.row
        if self.nominal[head.list]:
            self.visit_nominal_list(head, list_)
            return
        self.clear_sides()
        while link != head:
            low = link.value if link.value < low else low
            high = link.value if link.value > high else high
            self.add_row(&self.left, link.row)
            link = &self.links[link.next]
        if self.left.n == 0 or (self.left.n == self.task.n and low == high):
            self.drop_list(list_)
            return
        self.n_visited += 1
        if low == high:         # present against missing
            self.find_others(&self.right)
            if self.is_best(head.list):
                self.best.split.threshold, self.best_list = low, list_
                self.best.split.nominal = self.best.split.missing_left = 0
            return
        threshold = random_threshold(&self.rng, low, high)
        self.divide_entries(head, threshold)
        if self.left.n + self.right.n == self.task.n:
            self.offer(head.list, threshold, 0, self.left.weight >= self.right.weight)
        else:
            self.find_others(&self.missing)
            self.offer_both(head.list, threshold)
        if self.best.split.feature == head.list:
            self.best_list = list_

    cdef void drop_list(self, int list_) noexcept nogil:
        """Draw the list that was drawn last no more: it is constant in all nodes below, too."""
        cdef int* table = self.table + self.task.table
        self.task.n_lists -= 1
        table[self.n_lists_left] = table[self.task.n_lists]
        table[self.task.n_lists] = list_

    cdef void visit_constant(self, const Link* head, int list_) noexcept nogil:
        """Evaluate the split of the entries of a list, all with one value, from the others."""
        cdef const int* counts = self.class_counts_of + <Py_ssize_t>list_ * self.n_classes
        cdef const Segment* own = self.own
        cdef float left = 0.0, right = 0.0, count
        cdef int s, n_others = self.task.n - head.row
        self.n_visited += 1
        if head.row < self.min_samples_leaf or n_others < self.min_samples_leaf:
            return
        for s in range(self.task.n_segments):
            count = counts[own[s].code]
            left += count * count
            count = own[s].n - count
            right += count * count
        if self.is_higher(ratio_of(left, right, head.row, n_others), head.list):
            self.best.split.threshold, self.best_list = head.value, list_
            self.best.split.nominal = ONE_VALUE if self.nominal[head.list] else 0
            self.best.split.missing_left = 0

    # ---------------------------------------------------------------- lists of nominal values

    cdef int read_entries(self, const Link* head) noexcept nogil:
        """Number the values of a nominal list, missing ones last; return how many there are."""
        cdef const Link* link = &self.links[head.next]
        cdef int n = 0, at
        while link != head:
            self.values[n] = link.value
            if self.only_counts:
                self.weights_of[n], self.segments_of[n] = 1.0, self.segment_of[
                    self.class_of[link.row]]
            else:
                at = self.spot_of[link.row]
                self.weights_of[n], self.segments_of[n] = self.weights[at], self.codes[at]
                if self.criterion == VARIANCE:
                    self.targets_of[n] = self.targets[at]
            n += 1
            link = &self.links[link.next]
        self.number_values(n)
        if n < self.task.n:
            self.node_values.add_rest(self.task.n - n)
        return self.node_values.n_values

    cdef bint order_entries(self) noexcept nogil:
        """Order the values of a list; return whether there is an order."""
        cdef int top = self.top_segment()
        return self.node_values.order(
            self.spare, self.weights_of, self.segments_of,
            self.targets_of if self.criterion == VARIANCE else NULL, top, self.node.counts[top],
            self.node.weight)

    cdef void visit_nominal_list(self, const Link* head, int list_) noexcept nogil:
        """Evaluate the split of a listed nominal column, as `visit_nominal` does.

        The samples without a value are all on the side of the missing value.
        """
        cdef int n_values = self.read_entries(head), number = 0
        if n_values < 2:
            self.drop_list(list_)
            return
        self.n_visited += 1
        if are_ordered(DRAWS, n_values, self.task.n):
            if self.divide_values(head):
                number = -1
            else:
                number = <int>below(&self.rng, self.task.n)
                number = self.spare[number] if number < head.row else self.node_values.missing
        if number >= 0:
            self.divide_value(head, number)
        if self.best.split.feature == head.list:
            self.best_list = list_

    cdef bint divide_values(self, const Link* head) noexcept nogil:
        """Evaluate a random cut of the order of the values; return whether there is evidence."""
        cdef int cut = <int>below(&self.rng, N_CUTS - 1), top = self.top_segment(), i = 0
        cdef int n_left = self.node_values.n_left(cut) if self.order_entries() else 0
        cdef const Link* link = &self.links[head.next]
        cdef double target
        if min(n_left, self.task.n - n_left) < max(1, self.min_samples_leaf):
            return False
        self.clear_sides()
        while link != head:
            target = (self.targets_of[i] if self.criterion == VARIANCE
                      else self.segments_of[i] == top)
            self.add_row(&self.left if self.node_values.is_left_without(
                self.spare[i], self.weights_of[i], target, cut) else &self.right, link.row)
            i += 1
            link = &self.links[link.next]
        if self.node_values.missing >= 0:
            self.find_others(&self.missing)
            self.join(&self.left if self.node_values.is_left(self.node_values.missing, cut)
                      else &self.right)
        if self.is_smaller_left(top):
            self.offer(head.list, cut, VALUES, False)
            return True
        return False

    cdef void divide_value(self, const Link* head, int number) noexcept nogil:
        """Evaluate the split of a value, or of the missing one, from all others."""
        cdef const Link* link = &self.links[head.next]
        cdef int i = 0
        self.clear_sides()
        while link != head:
            self.add_row(&self.left if self.spare[i] == number else &self.right, link.row)
            i += 1
            link = &self.links[link.next]
        if self.node_values.missing >= 0:
            self.find_others(&self.missing)
            self.join(&self.left if self.node_values.missing == number else &self.right)
        self.offer(head.list, self.node_values.codes[number], ONE_VALUE,
                   self.node_values.missing == number)

    cdef void divide_entries(self, const Link* head, double threshold) noexcept nogil:
        """Add the entries of a list to the sides of a threshold."""
        cdef const Link* link = &self.links[head.next]
        self.clear_sides()
        while link != head:
            self.add_row(&self.left if link.value <= threshold else &self.right, link.row)
            link = &self.links[link.next]

    cdef void find_others(self, Side* side) noexcept nogil:
        """Add the samples of the task that are on neither side to one that is empty."""
        cdef int s
        for s in range(self.task.n_segments):
            side.counts[s] = self.node.counts[s] - self.left.counts[s] - self.right.counts[s]
        side.n, side.weight = (self.node.n - self.left.n - self.right.n,
                               self.node.weight - self.left.weight - self.right.weight)

    # ---------------------------------------------------------------- splits

    cdef void pick_entries(self, const Split* split) noexcept nogil:
        """Pick the rows of the lighter child of a split of a listed column."""
        cdef const Link* head = &self.links[self.n_values + self.best_list]
        cdef const Link* link = &self.links[head.next]
        self.n_picked = self.picked_load = 0
        self.picked_left = not split.missing_left
        while link != head:
            if goes_left(split, link.value) == self.picked_left:
                self.pick(link.row)
            link = &self.links[link.next]
        self.keep_lighter()

    cdef void pick_values(self, const Split* split) noexcept nogil:
        """Pick the rows of the lighter child of a split of a column whose values were read."""
        cdef int i, row = self.task.head
        self.n_picked = self.picked_load = 0
        self.picked_left = True
        for i in range(self.task.n):
            if goes_left(split, self.values[i]):
                self.pick(row)
            row = self.next_row[row]
        self.keep_lighter()

    cdef inline void pick(self, int row) noexcept nogil:
        self.picked[self.n_picked] = row
        self.n_picked += 1
        self.picked_load += self.load_of(row)

    cdef void keep_lighter(self) noexcept nogil:
        """Pick all other rows if these are the lighter child; of equal ones that is the left."""
        cdef int k, row
        cdef int64_t others = self.task.load - self.picked_load
        if self.picked_load < others or (self.picked_load == others and self.picked_left):
            return
        for k in range(self.n_picked):
            self.sides[self.picked[k]] = 1
        self.n_picked, self.picked_load, self.picked_left = 0, 0, not self.picked_left
        row = self.task.head
        while row >= 0:
            if self.sides[row]:
                self.sides[row] = 0
            else:
                self.pick(row)
            row = self.next_row[row]

    cdef void find_sides(self) noexcept nogil:
        """Find the statistics of both children."""
        cdef Side* lighter = &self.left if self.picked_left else &self.right
        cdef Side* other = &self.right if self.picked_left else &self.left
        cdef int k, s, row
        self.clear_sides()
        memset(self.lefts, 0, self.task.n_segments * sizeof(int))
        for k in range(self.n_picked):
            row = self.picked[k]
            self.add_row(lighter, row)
            self.lefts[0 if self.criterion == VARIANCE else self.segment_of[
                self.class_of[row]]] += 1
        other.n, other.weight = self.node.n - lighter.n, self.node.weight - lighter.weight
        for s in range(self.task.n_segments):
            other.counts[s] = self.node.counts[s] - lighter.counts[s]
            if not self.picked_left:
                self.lefts[s] = self.own[s].n - self.lefts[s]

    cdef void move_lighter(self, Task* lighter, Task* other, bint keeps_lighter,
                           bint keeps_other) noexcept nogil:
        """Move the rows that were picked, and their entries, to the lighter child.

        The lists of a child that is not kept may be anything.
        """
        cdef int k, i, row, last = -1
        self.n_steps += 8 * self.picked_load if self.is_sparse else 0
        for k in range(self.n_picked):
            row = self.picked[k]
            if self.previous_row[row] >= 0:
                self.next_row[self.previous_row[row]] = self.next_row[row]
            else:
                other.head = self.next_row[row]
            if self.next_row[row] >= 0:
                self.previous_row[self.next_row[row]] = self.previous_row[row]
        for k in range(self.n_picked):
            row = self.picked[k]
            self.previous_row[row] = last
            if last >= 0:
                self.next_row[last] = row
            last = row
        self.next_row[last] = -1
        lighter.head = self.picked[0]
        lighter.load, other.load = self.picked_load, self.task.load - self.picked_load
        lighter.table = lighter.top = self.task.top
        if not self.is_sparse or not (keeps_lighter or keeps_other):
            return
        for k in range(self.n_picked):
            row = self.picked[k]
            for i in range(self.bounds[row], self.bounds[row + 1]):
                self.move_entry(self.entries_of[i], lighter, keeps_lighter)
        for i in range(lighter.table, lighter.top):
            self.new_lists[self.new_lists[i]] = self.new_lists[i] = -1
        lighter.n_lists = lighter.top - lighter.table
        if self.picked_left:
            return
        other.top = lighter.top         # the left child is grown first

    cdef inline void move_entry(self, int entry, Task* lighter, bint keeps_lighter) noexcept nogil:
        """Move an entry from the lists of the task to the end of one of the lighter child."""
        cdef Link* links = self.links
        cdef Link* link = &links[entry]
        cdef Link* former = &links[self.n_values + link.list]
        cdef Link* head
        cdef int new = self.new_lists[link.list], of_class = self.class_of[link.row]
        former.row -= 1
        if self.has_class_counts:
            self.class_counts_of[link.list * self.n_classes + of_class] -= 1
        links[link.previous].next, links[link.next].previous = link.next, link.previous
        if not keeps_lighter:
            return
        head = &links[self.n_values + new]
        if new < 0:
            new = self.table[lighter.top] = lighter.top
            lighter.top += 1
            self.new_lists[link.list], self.new_lists[new] = new, link.list
            head = &links[self.n_values + new]
            head.list, head.row, head.value = former.list, 0, former.value
            if self.has_class_counts:
                memset(self.class_counts_of + new * self.n_classes, 0,
                       self.n_classes * sizeof(int))
            head.next = head.previous = self.n_values + new
        head.row += 1
        if self.has_class_counts:
            self.class_counts_of[new * self.n_classes + of_class] += 1
        link.list, link.previous, link.next = new, head.previous, self.n_values + new
        links[link.previous].next = head.previous = entry
