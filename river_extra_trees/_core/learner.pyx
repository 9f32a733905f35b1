"""The base class of the core objects of all families. See the header."""

from cpython.object cimport PyObject

from .explain cimport MOST_ROWS
from .table cimport Table
from .guarded cimport Holder, begin_step, end_step, hold, release
from .lists cimport length_of
from .shares cimport first_largest
from .split cimport VALUES
from .validation cimport as_dict, read_number, read_weight

from operator import index, itemgetter

from .safe_repr import safe_repr, with_text
from .state import captured

cdef enum:
    CAREFUL = 8     # rows that are read without `run` after a row that it could not learn
    CHECKED = -1    # place of an error: after weight and target, before the features

cdef Team ALONE = Team()    # the calling thread of any call


cdef dict normalised(const double* shares, Labels labels):
    """Every label and its share, divided by the sum of the shares; equal shares if that is 0."""
    cdef int code, n = <int>len(labels)
    cdef double total = labels.total_of(shares, n)
    cdef double equal = 1.0 / max(1, n - labels.n_free)
    return {labels.labels[code]: shares[code] / total if total != 0.0 else equal
            for code in range(n) if not labels.is_free(code)}


cdef int read_tree(object tree) except? -1:
    """The number of a tree; -1 if it does not fit into a C integer."""
    try:
        number = index(tree)
    except TypeError:
        raise TypeError(f"tree must be a whole number, not {safe_repr(tree)}") from None
    return number if number >= 0 and number < 2**31 - 1 else -1


cdef int raise_missing() except -1 with gil:
    raise NotImplementedError


cdef dict name_node(dict node, Schema schema):
    """Add the name and the value of a split to a node; its numbers become `column`, `cut`.

    Of a set of values these are a list of the remembered values that go left, and the set.
    """
    cdef int column = node["feature"]
    node["column"], node["cut"] = column, node["threshold"]
    node["feature"] = None if column < 0 else schema.names[column]
    if node["nominal"] == VALUES:
        node["cut"] = ValueGroup(*node["cut"])
        node["threshold"] = [
            value for code, value in schema.codes[column].items() if code in node["cut"]]
    elif node["nominal"]:
        node["threshold"] = schema.value_of(column, node["cut"])
    node["nominal"] = bool(node["nominal"])
    return node


class ValueGroup:
    """The codes that a split by a set of values sends left."""

    def __init__(self, others_left, codes):
        self.others_left, self.codes = others_left, codes

    def __contains__(self, code):
        return (code in self.codes) != self.others_left


cdef int answer_to_explain(Learner learner, int given) except -1:
    """Answer the row that the schema encoded last; return the code of the label to explain.

    That is the given one, or the predicted one if it is -1.
    """
    if learner.regression:
        learner.row_number()
    elif given >= 0:
        learner.row_shares()
    else:
        given = learner.labels.code(learner.labels.named(learner.row_label()))
    return given


cdef class Learner(Guarded):
    """The base class of the core objects of all families. See the header."""

    def __cinit__(self, *_, **__):
        self.schema = Schema()
        self.labels = Labels()
        self.most_rows = LONG_STRETCH

    # --- Learning -----------------------------------------------------------------------------

    def learn(self, x, y, w=1.0):
        """Learn a sample; return whether the batch is full now.

        Returns None if the batch was already full. The sample is then valid but not learned; the
        caller has to learn it after the growth.
        """
        hold(self)
        try:
            return self.learn_sample(x, y, w)
        finally:
            release(self)

    cdef object learn_sample(self, object x, object y, object w):
        cdef double weight = read_weight(w), target = self.read_target(y)
        self.check_sample(target, weight)
        if weight == 0.0:
            self.schema.validate(x)
            return False
        if self.batch_is_full():
            self.schema.validate(x)
            return None
        self.learn_row(target, weight, False, x, y)
        return self.batch_is_full()

    cdef int learn_row(self, double target, double weight, bint is_encoded, object x,
                       object y) except -1:
        """Learn the sample x, or the row that the schema encoded last if `is_encoded`.

        In a classification a negative target means that y is a new label.
        """
        cdef bint is_new = not self.regression and target < 0.0
        cdef tuple before = self.labels.codes() if is_new else None
        cdef bytearray gone = None
        try:
            if is_new:
                gone = self.free_labels(y)
                target = self.labels.learn(y)
            if not is_encoded:
                self.admit(x)
        except BaseException:
            if is_new:
                self.labels.take_back(before)
            raise
        begin_step(self)
        self.reserve(self.n_labels())
        if gone is not None:
            self.forget_labels(gone)
        if is_new:
            self.widen(self.n_labels())
        self.update(target, weight)
        if not self.regression:
            self.labels.note(<int>target)
        end_step(self)
        return 0

    cdef bytearray free_labels(self, object label):
        """Free codes if a new label finds none; return marks of the labels to be forgotten."""
        cdef bytearray held, met, gone
        if not self.labels.is_full():
            return None
        held, met, gone = [bytearray(self.n_labels()) for _ in range(3)]
        self.hold_labels(held, met)
        self.labels.search(held, met, label, gone)
        return gone

    cdef int admit(self, object x) except -1:
        """Encode a sample to learn from; give columns to new features, remember new values."""
        cdef list fresh
        if type(x) is not dict:
            x = as_dict(x)
        fresh = self.schema.foresee(<dict>x)
        if fresh:
            wanted = self.schema.without_column(fresh)
            if wanted and self.n_seen >= self.schema.next_search:
                self.free_columns(<dict>x, fresh, wanted)
            else:
                self.schema.commit(<dict>x, fresh)
        return 0

    cdef int free_columns(self, dict x, list fresh, list wanted) except -1:
        """Free columns for features of the row encoded last that have none, and give them these.

        Values are forgotten last, as this cannot fail.
        """
        cdef Schema schema = self.schema
        cdef bytearray marks = bytearray(schema.n_columns)
        cdef bytearray numbers = bytearray(b"\xff") * (schema.n_columns * sizeof(int64_t))
        cdef uint8_t* held = marks
        cdef int64_t* latest = <int64_t*><char*>numbers
        cdef int k, column
        cdef bint found
        cdef tuple before = schema.columns()
        self.hold_columns(held, latest)
        for k in range(schema.n_filled):
            column = schema.filled[k]
            held[column] |= schema.row[column] == schema.row[column]
        try:
            found = schema.search(held, latest, wanted, self.n_seen)
            schema.warn()       # an error if the user asks for that
            schema.commit(x, fresh)
        except BaseException:
            schema.take_back(before)
            raise
        if found:
            self.forget_columns(held)
        return 0

    # --- Tables -------------------------------------------------------------------------------

    def reader(self, Table table, bint learns=False):
        """A reader of the rows of a table, if all rows are valid.

        Raises the error of the first invalid row, with its number.
        """
        cdef RowReader reader = RowReader(table, learns)
        cdef list refusals
        with self.using():
            reader.link(self.schema, self.labels, self.n_seen)
            refusals = reader.refusals()
            if learns:
                self.refuse_targets(reader, refusals)
        if refusals:
            row, _, error = min(refusals, key=itemgetter(0, 1))
            raise with_text(error, f"row {row}: {error}") from None
        return reader

    cdef int refuse_targets(self, RowReader reader, list refusals) except -1:
        """Add the errors of targets that this learner cannot learn; raise if the task differs."""
        cdef Py_ssize_t start = reader.row, stop
        if reader.has_labels == self.regression and reader.n:
            raise TypeError(
                f"the targets of the table are {'labels' if reader.has_labels else 'numbers'}, and "
                f"the learner learns {'numbers' if self.regression else 'labels'}")
        if not self.regression:
            return reader.check_labels(refusals)
        stop = min([row for row, _, _ in refusals], default=reader.n - 1)
        try:
            while reader.row <= stop:
                self.check_sample(reader.target(), reader.weight())
                reader.row += 1
        except ValueError as error:
            refusals.append((reader.row, CHECKED, error))
        reader.row = start
        return 0

    def ask(self, RowReader reader, bint shares=False):
        """Let `read_stretch` predict each row before learning it: number, label or label shares."""
        reader.ask(self.regression, self.labels, shares)

    def read_stretch(self, RowReader reader, Team team=None):
        """Predict and learn some of the next rows; return whether the batch is full now.

        Call it again for the next rows, if necessary after the growth. Between the calls Python
        handles signals. The threads of a team share the work; without a team there is one thread.
        """
        cdef int n_rows = <int>STRETCH if reader.learns else self.most_rows
        if team is not None:
            reader.team = team
        hold(self)
        try:
            return self.read_rows(reader, reader.row + n_rows)
        finally:
            release(self)

    cdef bint read_rows(self, RowReader reader, Py_ssize_t stop) except -1:
        cdef double weight
        cdef bint is_known
        cdef int n_labels, n_careful = 0    # rows to read without `run`
        cdef Py_ssize_t row
        reader.link(self.schema, self.labels, self.n_seen)
        stop = min(stop, reader.n)
        if reader.is_closed:
            stop = min(stop, reader.row + <Py_ssize_t>(self.schema.next_search - self.n_seen))
        while reader.row < stop:
            if n_careful > 0:
                n_careful -= 1
            elif not self.batch_is_full():
                reader.ahead.reserve(self.schema.n_columns)
                self.prepare_run(reader)
                reader.blank_row()
                row, n_labels = reader.row, self.n_labels()
                with nogil:
                    self.run(reader, stop, n_labels)
                reader.note_values(row)
                reader.note_labels(self.labels, row)
                if self.batch_is_full():
                    return True
                if reader.row == stop:
                    break
                if reader.row == row:   # new features often come in succession
                    n_careful = CAREFUL
            is_known = reader.read()
            if reader.asks and not reader.answered:
                self.predict_row(reader)
                reader.answered = True
                if not reader.learns:
                    self.remember()
            weight = reader.weight() if reader.learns else 0.0
            if weight > 0.0:
                if self.batch_is_full():
                    return True
                self.learn_next(reader, is_known, weight)
            reader.row += 1
            reader.note_values(reader.row - 1)
            reader.answered = False
            if weight > 0.0 and self.batch_is_full():
                return True
        return False

    cdef int learn_next(self, RowReader reader, bint is_known, double weight) except -1:
        """Learn the next row of a table, which the reader has encoded."""
        cdef double target = reader.target()
        cdef unsigned long n_searches = self.schema.n_searches, version
        if not self.regression and target < 0.0:
            target = reader.find_label(self.labels)
        is_new = not self.regression and target < 0.0
        version = self.labels.version
        x = None if is_known else reader.sample()
        try:
            self.learn_row(target, weight, is_known, x, reader.label() if is_new else None)
        except ValueError as error:     # too many labels
            raise with_text(
                error, f"row {reader.row}: {error}; the rows before it are learned") from None
        if self.schema.n_searches == n_searches:
            reader.version = self.schema.version    # `read` looks up what was added
        else:
            reader.link(self.schema, self.labels, self.n_seen)
        if is_new and self.labels.version == version + 1:
            reader.name_label(self.labels)
        elif is_new:
            reader.link_labels(self.labels)
        return 0

    cdef int run(self, RowReader reader, Py_ssize_t stop, int n_labels) except -1 nogil:
        """Predict and learn rows one after the other."""
        cdef int i, n
        while reader.row < stop and not reader.answered:
            n = reader.read_ahead(stop, <int>STRETCH, self.regression)
            if n == 0:
                return 0
            for i in range(n):
                if self.batch_is_full():
                    return 0
                reader.ahead.copy(i, self.schema.row, reader.columns, reader.n_columns)
                if reader.asks:
                    self.predict_row(reader)
                    reader.answered = True
                if reader.ahead.weights[i] > 0.0:       # as in `learn_row`
                    begin_step(self)
                    self.reserve(n_labels)
                    self.update(reader.ahead.targets[i], reader.ahead.weights[i])
                    end_step(self)
                reader.row += 1
                reader.answered = False
        return 0

    cdef int n_labels(self) noexcept nogil:
        """Number of learned labels."""
        return <int>length_of(<PyObject*>self.labels.labels)

    cdef int predict_row(self, RowReader reader) except -1 nogil:
        """Store the predictions for the row that was read last."""
        cdef Py_ssize_t row = reader.row
        cdef int n = self.n_labels()
        if reader.asks_numbers:
            reader.number_answers[row] = self.row_number()
        if reader.asks_labels:
            reader.store_label(row, self.row_label() if n else -1, n)
        if reader.asks_shares:
            reader.store_shares(row, self.row_shares(), n)
        return 0

    def foresee(self, y, set coming):
        """Add a label to those that are going to be learned; raise if there may be too many.

        A known label that no stored sample has counts as a new one: it may lose its code to others
        before its sample is learned.
        """
        cdef bytearray held, met
        cdef Labels labels = self.labels
        with self.using():
            labels.code(y)          # an error if it is no label
            if y in coming:
                return
            coming.add(y)
            if len(labels.known) + len(coming) <= labels.max_labels:
                return
            if len(labels.known) + len(coming - labels.known.keys()) <= labels.max_labels:
                return
            held, met = [bytearray(self.n_labels()) for _ in range(2)]
            self.hold_labels(held, met)
            others = [each for each in coming
                      if labels.code(each) < 0 or not held[labels.code(each)]]
            if sum(held) + len(others) > labels.max_labels:
                coming.remove(y)
                labels.refuse(y)

    def validate(self, x, y, w):
        """Raise the error that learning this sample would raise, without learning it."""
        cdef double weight
        with self.using():
            weight = read_weight(w)
            self.check_sample(self.read_target(y), weight)
            self.schema.validate(x)

    cdef double read_target(self, object y) except? -1.0:
        """The number or label code of a target; -1: a new label. Raises if y is invalid."""
        return read_number(y) if self.regression else self.labels.code(y)

    # --- Answers ------------------------------------------------------------------------------

    def predict_label(self, x):
        """The most probable label, the first if equal; None before the first sample."""
        cdef int code
        hold(self)
        try:
            self.schema.encode(x)
            code = self.row_label() if self.labels.labels else -1
            self.remember()
            return self.labels.named(code)
        finally:
            release(self)

    def predict_proba(self, x):
        """The probability of every learned label."""
        hold(self)
        try:
            self.schema.encode(x)
            shares = normalised(self.row_shares(), self.labels)
            self.remember()
            return shares
        finally:
            release(self)

    def predict_number(self, x):
        """The predicted target; 0 before the first sample."""
        hold(self)
        try:
            self.schema.encode(x)
            number = self.row_number()
            self.remember()
            return number
        finally:
            release(self)

    def number_of_tree(self, int tree, x):
        """The number that one tree predicts; only of families with linear models."""
        raise NotImplementedError

    def explain(self, rows, label=None, bint shapley=True, Team team=None):
        """Divide predictions among the columns of the schema: see `explain`.

        Parameters
        ----------
        rows
            Features of a sample; or a reader, of which some rows are explained, from the next one
            on.
        label
            Label whose log odds are explained; None: the predicted one, or the number.
        shapley
            Shapley values; else the path.
        team
            Threads that may help.

        Returns
        -------
        The contributions, with the label of each row and the features of the columns.
        """
        cdef Contributions total
        cdef Explanations explanations
        cdef RowReader reader = rows if isinstance(rows, RowReader) else None
        cdef list labels = []
        cdef int row, most, n_rows = 1, given, code = 0
        hold(self)
        try:
            if reader is not None:      # of many columns fewer rows, for their memory
                most = max(1, min(<int>MOST_ROWS, (1 << 16) // max(1, self.schema.n_columns)))
                n_rows = <int>min(reader.n - reader.row, most)
                reader.link(self.schema, self.labels, self.n_seen)
            given = 0 if self.regression else self.code_to_explain(label)
            total = Contributions(self.schema.n_columns, n_rows)
            explanations = self.explanations(total, shapley, ALONE if team is None else team)
            for row in range(n_rows):
                if reader is None:
                    self.schema.encode(rows)
                else:
                    reader.read()
                    reader.row += 1
                code = answer_to_explain(self, given)
                if not self.regression:
                    labels.append(self.labels.labels[code])
                explanations.put_row(row, self.schema.row, code)
            explanations.finish()
            total.labels, total.features = labels, self.schema.by_feature()
        finally:
            release(self)
        return total

    cdef int code_to_explain(self, object label) except? -1:
        """The code of a label; -1: of each row the predicted one."""
        cdef int code
        if not self.labels.labels:
            raise ValueError("there is no prediction to explain before the first sample is learned")
        if label is None:
            return -1
        code = self.labels.code(label)
        if code < 0:
            raise ValueError(f"the label {safe_repr(label)} has not been learned")
        return code

    # --- Inspection ---------------------------------------------------------------------------

    @property
    def n_seen(self):
        """Number of samples learned."""
        raise NotImplementedError

    def settings(self):
        """The arguments that make an empty learner of the same kind."""
        raise NotImplementedError

    @property
    def n_trees(self):
        """Number of trees."""
        return self.count_trees()

    def nodes(self, tree):
        """The nodes of a tree in preorder, left before right, as plain values.

        Each has `node`, `parent` (-1 for the root), `depth`, `left`, `right`, `feature` (a name, or
        None in a leaf), `threshold` (a number, the nominal value that goes left, or a list of
        these), `column` and `cut` (feature and threshold as numbers of the schema), `nominal`,
        `missing_left`, `weight`, `gain` and `values`. A model without trees has an empty tree 0.
        """
        cdef int n_trees, number = read_tree(tree)
        with self.using():
            n_trees = self.count_trees()
            if not 0 <= number < max(1, n_trees):
                raise IndexError(f"there is no tree {safe_repr(tree)}: this model has " + (
                    "no trees yet" if n_trees == 0 else "one tree, number 0" if n_trees == 1
                    else f"trees 0 to {n_trees - 1}"))
            return [name_node(node, self.schema) for node in self.tree_nodes(number)] if (
                n_trees) else []

    def sizes(self):
        """(number of nodes of all trees, largest height of a tree)."""
        with self.using():
            return self.tree_sizes()

    def row_of(self, x):
        """The row of doubles that x encodes to, by column."""
        with self.using():
            return self.schema.row_of(x)

    # --- Copies and states --------------------------------------------------------------------

    def for_serving(self):
        """A copy with the same predictions, without the data that only learning needs."""
        with self.using():
            return self.serving_copy()

    def state(self):
        """The state of the object and its parts, see `state.py`."""
        # If memory is short, numpy may fail without an exception; `finally` would then crash.
        cdef Holder _holder = Holder(self)
        return captured(self.fields(), self.DEFAULTS)

    def check(self):
        """Raise an error if an invariant of the object or of a part is broken."""
        with self.using():
            for field in self.fields().values():
                for part in field if type(field) is list else [field]:
                    if hasattr(type(part), "check"):
                        part.check()
            self.check_structure()

    # --- Methods that a family overrides ------------------------------------------------------

    cdef int check_sample(self, double target, double weight) except -1:
        return 0

    cdef int hold_columns(self, uint8_t* held, int64_t* latest) except -1:
        raise NotImplementedError

    cdef void forget_columns(self, const uint8_t* held) noexcept:
        pass

    cdef int hold_labels(self, uint8_t* held, uint8_t* met) except -1:
        raise NotImplementedError

    cdef void forget_labels(self, const uint8_t* gone) noexcept:
        pass

    cdef int reserve(self, int n_labels) except -1 nogil:
        return 0

    cdef void widen(self, int n_labels) noexcept:
        pass

    cdef int update(self, double target, double weight) except -1 nogil:
        raise_missing()

    cdef bint batch_is_full(self) noexcept nogil:
        return False

    cdef int prepare_run(self, RowReader reader) except -1:
        return 0

    cdef int row_label(self) except -1 nogil:
        return first_largest(self.row_shares(), self.n_labels())

    cdef double* row_shares(self) except? NULL nogil:
        raise_missing()

    cdef double row_number(self) except? -1.0 nogil:
        raise_missing()

    cdef Explanations explanations(self, Contributions total, bint shapley, Team team):
        raise NotImplementedError

    cdef int remember(self) except -1 nogil:
        return 0

    cdef int count_trees(self) noexcept:
        return 0

    cdef list tree_nodes(self, int tree):
        raise NotImplementedError

    cdef tuple tree_sizes(self):
        raise NotImplementedError

    cdef Learner serving_copy(self):
        raise NotImplementedError
