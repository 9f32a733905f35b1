"""Feature names -> columns, dicts -> rows of doubles; labels -> codes. See the header."""

from cpython.dict cimport PyDict_GetItemWithError, PyDict_Next, PyDict_Size
from cpython.exc cimport PyErr_Clear, PyErr_Occurred
from cpython.object cimport PyTypeObject
from libc.math cimport NAN

from .codes cimport code_of, code_of_text
from .validation cimport (
    CATEGORY, MISSING, NUMBER, Kind, as_dict, check_name, classify, holds_nan, order_of
)
from .parts cimport view
from .sorting cimport sort_numbers

import warnings

import numpy as np

from .state import LARGEST_COUNT, StateError, fields_of, put_back, require
from .safe_repr import safe_repr

cdef extern from "Python.h":
    # The fast path uses borrowed references and does not count them.
    bint is_float "PyFloat_CheckExact"(PyObject*) noexcept
    bint is_of "Py_IS_TYPE"(PyObject*, PyTypeObject*) noexcept
    double float_of "PyFloat_AS_DOUBLE"(PyObject*) noexcept
    bint is_int "PyLong_CheckExact"(PyObject*) noexcept
    double int_as_double "PyLong_AsDouble"(PyObject*) noexcept
    PyObject* PyTrue "Py_True"
    PyObject* PyFalse "Py_False"

# The fast path reads no other subclass of float, which may override `__float__` or `__hash__`.
cdef PyTypeObject* FLOAT64 = <PyTypeObject*>np.float64


cdef class Schema:
    """Columns of the known features.

    `encode` reads a row for a prediction: unknown features are ignored, absent ones are missing.
    `foresee` reads a row to learn from, and lists what is new in it; `commit` then gives columns to
    new features and remembers new nominal values. The new columns of one row are given in the
    sorted order of their names, so that nothing depends on the order of the keys. `validate` reads
    and refuses as `foresee` does. All leave the schema as it was when they raise.

    Parameters
    ----------
    max_columns
        Number of columns after which new features are ignored.
    """

    def __cinit__(self, int max_columns=MAX_COLUMNS):
        self.max_columns = max_columns
        self.numeric = {}
        self.nominal = {}
        self.names = []
        self.codes = []
        self.free = []
        self.crowded = []
        self.layout = []
        self.reserve(1)     # `row` is never NULL, even before the first feature

    cdef int encode(self, object x) except -1:
        if type(x) is not dict:
            x = as_dict(x)
        if not self.by_layout(<dict>x, False):
            self.by_name(<dict>x, None)
        return 0

    cdef list foresee(self, dict x):
        """Encode a row to learn from; return what is new, see `new_entries`."""
        return [] if self.by_layout(x, True) else self.new_entries(x)

    cdef int validate(self, object x) except -1:
        if type(x) is not dict:
            x = as_dict(x)
        if not self.by_layout(<dict>x, False):
            self.new_entries(<dict>x)
        return 0

    cdef list new_entries(self, dict x):
        """Read a row to learn from; return what is new: (name, whether it is nominal, code, value).

        Sorted by `order_of`. All invalid input raises an error here. After that, `commit` fails
        only if memory is short, or if hashing or comparing a name raises an error only later.
        """
        cdef list fresh = []
        self.by_name(x, fresh)
        if fresh:
            fresh.sort(key=order_of)
        return fresh

    cdef bint by_layout(self, dict x, bint learns) except -1:
        """Fill the row with the cached keys; return whether that was possible.

        The same key objects in the same order need no look-up, equal ones one look-up each. A row
        with less than half of the keys is left to `by_name`, whose time depends on the row alone.
        """
        cdef PyObject* key
        cdef PyObject* value
        cdef Py_ssize_t position = 0, i = 0, found = 0
        cdef Py_ssize_t size = self.layout_size, n = PyDict_Size(x)
        if size == 0 or n > size or 2 * n < size:
            return False
        self.blank()
        if n == size:
            while PyDict_Next(x, &position, &key, &value) and key == self.layout_keys[i]:
                if not self.store(i, value, learns):
                    return False
                i += 1
            if i == size:
                return True
            self.blank()
        i = 0
        while i < self.layout_size:     # an __eq__ of a key may have changed it
            value = PyDict_GetItemWithError(x, <object>self.layout_keys[i])
            if value != NULL:
                if not self.store(i, value, learns):
                    return False
                found += 1
            i += 1
        return found == n

    cdef bint store(self, Py_ssize_t i, PyObject* value, bint learns) except -1:
        """Put the value of a cached key into the row; return whether that was possible.

        A nominal value that is learned must be remembered already.
        """
        cdef int column = self.layout_numeric[i]
        cdef double number
        if is_float(value) or is_of(value, FLOAT64):
            number = float_of(value)
            if number - number != 0.0 and number == number:
                return False            # infinite: the slow path raises
        elif is_int(value):
            number = int_as_double(value)
            if number == -1.0 and PyErr_Occurred() != NULL:
                PyErr_Clear()
                return False            # too large: the slow path raises
        elif value == PyTrue:
            number = 1.0
        elif value == PyFalse:
            number = 0.0
        elif type(<object>value) is str and self.layout_nominal[i] >= 0:
            column = self.layout_nominal[i]
            number = code_of_text(<object>value)
            if learns and not self.remembers(column, number):
                return False
        else:
            return False
        if column < 0:
            return False
        self.put(column, number)
        return True

    cdef int by_name(self, dict x, list fresh) except -1:
        """Fill the row by look-ups. Add new names and values to `fresh`, if that is a list."""
        cdef double number              # or the code of a nominal value
        cdef Kind kind
        cdef bint known = True
        self.blank()
        for name, value in x.items():
            kind = classify(name, value, &number)
            if kind == MISSING:
                if name not in self.numeric and name not in self.nominal:
                    check_name(name)
                    known = False
                continue
            column = (self.numeric if kind == NUMBER else self.nominal).get(name)
            if column is None:
                check_name(name)
                known = False
                if fresh is not None:
                    fresh.append((name, kind == CATEGORY, number, value))
                continue
            if kind == CATEGORY and fresh is not None and not self.remembers(<int>column, number):
                fresh.append((name, True, number, value))
            self.put(<int>column, number)
        if known and not fresh:
            self.misses += 1
            if self.misses & 15 == 1:   # with new key objects in every row, do not cache each time
                self.remember(x)
        return 0

    cdef int commit(self, dict x, list fresh) except -1:
        """Add columns and values for what is new in a valid row; encode the row."""
        cdef list added = []
        try:
            self.add(fresh, added)
            self.by_name(x, None)
        except BaseException:
            self.undo(added)
            raise
        for name, is_nominal, _, _ in fresh:
            column = self.nominal.get(name) if is_nominal else None
            if column is not None:
                forget_oldest(<dict>self.codes[<int>column])
        return 0

    cdef int undo(self, list added) except -1:
        """Remove what was added: of each entry its dict, the length of this before, and the column
        that was free before; or None.

        Nothing is looked up: a name whose own code fails once may fail again.
        """
        self.layout_size = 0
        while added:
            entries, length, column = added.pop()
            if len(entries) > length:
                entries.popitem()
            if column is not None:
                self.names[<int>column] = self.codes[<int>column] = None
                self.free.append(column)
        self.n_columns = <int>(len(self.numeric) + len(self.nominal) + len(self.free))
        del self.names[self.n_columns:], self.codes[self.n_columns:]
        return 0

    cdef int add(self, list fresh, list added) except -1:
        for name, is_nominal, code, value in fresh:
            columns = self.nominal if is_nominal else self.numeric
            if name not in columns:
                if self.n_columns == self.max_columns and not self.free:
                    continue
                self.add_column(name, is_nominal, added)
            if is_nominal:
                column = columns[name]
                added.append((self.codes[<int>column], len(<dict>self.codes[<int>column]), None))
                self.put_value(<int>column, code, value)
        return 0

    cdef int note(self, int column, double code, object value) except -1:
        """Remember the value of a code in place of the one remembered for longest."""
        if not self.remembers(column, code):
            self.put_value(column, code, value)
            forget_oldest(<dict>self.codes[column])
        return 0

    cdef int put_value(self, int column, double code, object value) except -1:
        """Remember the value of a code."""
        (<dict>self.codes[column])[<int64_t>code] = value
        self.n_noted[column] += 1
        return 0

    cdef int add_column(self, object name, bint is_nominal, list added) except -1:
        """Give a column to a name. `__hash__` of the name runs when it is complete."""
        cdef int column = self.n_columns
        columns = self.nominal if is_nominal else self.numeric
        taken = self.free[len(self.free) - 1] if self.free else None
        codes = {} if is_nominal else None
        added.append((columns, len(columns), taken))
        if taken is not None:
            column = self.free.pop()
            self.names[column], self.codes[column] = name, codes
        else:
            self.reserve(column + 1)
            self.names.append(name)
            self.codes.append(codes)
            self.n_columns = column + 1
        self.layout_size = 0
        self.misses = 0
        self.version += 1
        columns[name] = column
        return 0

    cdef list without_column(self, list fresh):
        """The new features of a row that would find no column."""
        cdef Py_ssize_t room = self.max_columns - self.n_columns + len(self.free)
        if len(fresh) <= room:
            return []
        names = [name for name, is_nominal, _, _ in fresh
                 if name not in (self.nominal if is_nominal else self.numeric)]
        return names[room:]

    cdef bint search(self, uint8_t* held, const int64_t* latest, list wanted,
                     int64_t n_seen) except -1:
        """Free columns for features that have none, after n_seen samples; return whether it did.

        `held` marks the columns that may not be freed, and afterwards those that are not free.
        latest[column] is the number of the latest stored sample with a value in it; -1: none.
        """
        cdef int column
        cdef Py_ssize_t n = len(wanted), n_free = len(self.free)
        others = [column for column in range(self.n_columns) if not held[column]]
        freed, is_crowded = places_to_free(
            others, lambda column: latest[column],
            n_free + max(n, self.max_columns // 64), n_free + max(n, self.max_columns // 4))
        self.crowded = wanted[:1] if is_crowded else []
        self.next_search = n_seen + (
            PAUSE if is_crowded and len(freed) < n_free + max(n, self.max_columns // 4) else 0)
        self.n_searches += 1
        freed.sort(reverse=True)
        gone = set(freed)
        numeric = {name: column for name, column in self.numeric.items() if column not in gone}
        nominal = {name: column for name, column in self.nominal.items() if column not in gone}
        if len(freed) == len(self.free):
            return False
        names = [None if column in gone else name for column, name in enumerate(self.names)]
        codes = [None if column in gone else each for column, each in enumerate(self.codes)]
        for column in range(self.n_columns):
            held[column] = True
        for column in freed:
            held[column] = False
        self.take_back((names, codes, freed, numeric, nominal, self.next_search, self.crowded))
        return True

    cdef int warn(self) except -1:
        """Warn once if more features live than there are columns."""
        if self.crowded and not self.has_warned:
            self.has_warned = True
            warnings.warn(
                f"the model holds {self.max_columns:,} features, the most that it can. For "
                f"{safe_repr(self.crowded[0])} it forgets those that it has not seen for longest "
                "and does not split; if it splits all, it ignores the new one. If names are values,"
                " such as 'user 17', make one feature of them", stacklevel=2)
        return 0

    cdef tuple columns(self):
        """What `search` changes."""
        return (self.names, self.codes, self.free, self.numeric, self.nominal, self.next_search,
                self.crowded)

    cdef int take_back(self, tuple before) except -1:
        """Be as before a search."""
        (self.names, self.codes, self.free, self.numeric, self.nominal, self.next_search,
         self.crowded) = before
        self.n_columns = <int>len(self.names)
        self.layout_size = 0
        self.version += 1
        return 0

    cdef int remember(self, dict x) except -1:
        """Cache the keys of x, all of them known, and their columns."""
        cdef Py_ssize_t i, n = PyDict_Size(x)
        self.layout_size = 0
        if n > self.layout_capacity:
            self.resize(&self.layout_keys, n, sizeof(PyObject*))
            self.resize(&self.layout_numeric, n, sizeof(int))
            self.resize(&self.layout_nominal, n, sizeof(int))
            self.layout_capacity = n
        self.layout = list(x)           # keeps the key objects alive: addresses stay unique
        for i in range(n):
            name = self.layout[i]
            self.layout_keys[i] = <PyObject*>name
            self.layout_numeric[i] = self.numeric.get(name, -1)
            self.layout_nominal[i] = self.nominal.get(name, -1)
        self.layout_size = n
        return 0

    cdef int reserve(self, int n_columns) except -1:
        cdef int n, column
        if n_columns > self.row_capacity:
            n = max(8, 2 * n_columns)
            self.resize(&self.row, n, sizeof(double))
            self.resize(&self.filled, n, sizeof(int))
            self.resize(&self.n_noted, n, sizeof(long))
            for column in range(self.row_capacity, n):
                self.row[column] = NAN
                self.n_noted[column] = 0
            self.row_capacity = n
        return 0

    cdef void blank(self) noexcept nogil:
        """Make every value of the row missing."""
        cdef int i
        for i in range(self.n_filled):
            self.row[self.filled[i]] = NAN
        self.n_filled = 0

    cdef void sort_filled(self) noexcept nogil:
        """Sort the columns of the row: sums over them do not depend on the order of its keys."""
        cdef int k, column
        for k in range(1, self.n_filled):
            if self.filled[k - 1] > self.filled[k]:
                break
        else:
            return
        if 16 * self.n_filled < self.n_columns:
            sort_numbers(self.filled, self.n_filled)
            return
        self.n_filled = 0
        for column in range(self.n_columns):        # faster than sorting if many have a value
            if self.row[column] == self.row[column]:
                self.filled[self.n_filled] = column
                self.n_filled += 1

    def value_of(self, int column, double number):
        """The feature value for a number in a column: the number, or the nominal value of a code.

        None for the code of no value, by which splits tell missing values from all others; a text
        for a value that is no longer remembered.
        """
        if self.codes[column] is None:
            return number
        if number < 0.0:
            return None
        return self.codes[column].get(<int64_t>number, "a value not met lately")

    def is_new(self, name, value):
        """Whether a text is a value of a feature with such values, and is not remembered."""
        column = self.nominal.get(name)
        return type(value) is str and column is not None and (
            not self.remembers(<int>column, code_of_text(value)))

    def row_of(self, x):
        """The row of doubles that x encodes to, as a list (for tests and explanations)."""
        self.encode(x)
        return [self.row[column] for column in range(self.n_columns)]

    def learn_row(self, x):
        """As `row_of`, but new features get columns."""
        x = as_dict(x)
        fresh = self.foresee(<dict>x)
        if fresh:
            self.commit(<dict>x, fresh)
        return [self.row[column] for column in range(self.n_columns)]

    def features(self):
        """(column, name) of the columns that are not free."""
        cdef set unused = set(self.free)
        return [pair for pair in enumerate(self.names) if pair[0] not in unused]

    cdef tuple by_feature(self):
        """The names of all features, and which of them has each column.

        The latter are a list of columns and one of places in the names; None if each of the columns
        has its own feature, in this order. The result is kept until the columns change.
        """
        if self.described is None or self.described_version != self.version:
            self.described, self.described_version = self.find_features(), self.version
        return self.described

    cdef tuple find_features(self):
        if not self.free and self.numeric.keys().isdisjoint(self.nominal):
            return tuple(self.names), None
        pairs = self.features()
        places = dict.fromkeys(name for _, name in pairs)
        places = {name: place for place, name in enumerate(places)}
        return tuple(places), ([column for column, _ in pairs], [places[name] for _, name in pairs])

    def check(self):
        """Raise a StateError if an invariant is broken; the last step of loading."""
        require(len(self.names) == len(self.codes) == self.n_columns
                and self.n_columns <= min(self.max_columns, self.row_capacity),
                "Schema: too many columns")
        require(len(self.numeric) + len(self.nominal) + len(self.free) == self.n_columns,
                "Schema: a column is there twice")
        for column in self.free:
            require(self.names[column] is None and self.codes[column] is None,
                    "Schema: a free column has a name")
        for column, name in self.features():
            codes = self.codes[column]
            columns = self.numeric if codes is None else self.nominal
            require(columns.get(name) == column and not holds_nan(name),
                    "Schema: a column has no name to find it by")
            if codes is not None:
                require(len(codes) <= MAX_VALUES and all([
                    code_of(value) == code and not holds_nan(value)
                    for code, value in codes.items()]),
                    "Schema: nominal values must be different, and equal to themselves")

    FIELDS = {
        "names": ("items",), "nominal_values": ("value",), "max_columns": ("whole", 1, MAX_COLUMNS),
        "free": ("items",), "next_search": ("whole",), "crowded": ("items",),
    }
    DEFAULTS = {"nominal_values": None, "max_columns": MAX_COLUMNS, "free": [], "next_search": 0,
                "crowded": []}

    cdef dict fields(self):
        """Names in the order of their columns, and remembered values; None: all are numeric."""
        values = [None if codes is None else list(codes.values()) for codes in self.codes]
        return {
            "names": list(self.names), "nominal_values": values if self.nominal else None,
            "max_columns": self.max_columns, "free": list(self.free),
            "next_search": self.next_search, "crowded": list(self.crowded),
        }

    cdef int load(self, dict fields) except -1:
        cdef int column
        names, values, freed = fields["names"], fields["nominal_values"], fields["free"]
        self.max_columns, self.next_search = fields["max_columns"], fields["next_search"]
        self.crowded = fields["crowded"]
        # A name of its own: `column` is an int of C, to which a float would be cut.
        require(all([type(each) is int and each >= 0 and each < len(names) for each in freed])
                and all([a > b for a, b in zip(freed, freed[1:])]),
                "Schema: the free columns do not descend")
        require(len(names) <= self.max_columns, "Schema: too many columns")
        values = [None] * len(names) if values is None else values
        require(type(values) is list and len(values) == len(names),
                "Schema: nominal values must be a list, with an item for each column")
        try:
            for column in range(len(names)):
                self.restore_column(column, names[column], values[column], column in freed)
        except StateError:
            raise
        except (TypeError, ValueError) as error:
            raise StateError(f"Schema: a name or a nominal value cannot be used: {error}") from None
        self.free = freed
        self.check()
        return 0

    cdef int restore_column(self, int column, object name, object values, bint is_free) except -1:
        if is_free:
            self.reserve(column + 1)
            self.names.append(name)
            self.codes.append(values)
            self.n_columns = column + 1
            return 0
        self.add_column(name, values is not None, [])
        if values is not None:
            require(type(values) is list, "Schema: nominal values must be a list")
            self.codes[column] = {int(code_of(value)): value for value in values}
            require(len(self.codes[column]) == len(values),
                    "Schema: nominal values must be different, and equal to themselves")
        return 0


cdef int forget_oldest(dict codes) except -1:
    """Forget the values that have been remembered for longest, if there are too many."""
    while len(codes) > MAX_VALUES:
        del codes[next(iter(codes))]
    return 0


cdef tuple places_to_free(list others, latest, Py_ssize_t enough, Py_ssize_t n):
    """Those of these places that make room: (the places, whether others have to lose theirs).

    Nothing is left of the places whose `latest` is negative. They are the ones, if there are
    enough; else the n places with the smallest numbers.
    """
    unused = [place for place in others if latest(place) < 0]
    if len(unused) >= enough:
        return unused, False
    return sorted(others, key=latest)[:n], True


cdef class Labels:
    """Class labels <-> codes 0, 1, 2, ... in the order in which they were first learned.

    Labels are told apart as keys of a dict are: 1, 1.0, True and numpy.bool_(True) are one label.

    Parameters
    ----------
    max_labels
        Number of labels after which a new one takes the code of another.
    """

    def __cinit__(self, int max_labels=MAX_LABELS):
        self.max_labels = max_labels
        self.known = {}
        self.labels = []
        self.crowded = []

    cdef int code(self, object label) except -2:
        """The code of a label, or -1 if it is unknown."""
        try:
            code = self.known.get(label)
        except TypeError:
            raise TypeError(
                f"a label must be hashable, and {type(label).__name__!r} is not"
            ) from None
        if code is None:
            if label is None:
                raise ValueError("a label must not be None")
            if holds_nan(label):
                raise ValueError(f"a label must not be missing or hold NaN: {safe_repr(label)}")
            return -1
        return code

    cdef int learn(self, object label) except -1:
        """Add a label for which `code` returned -1; return its code, the smallest free one."""
        cdef int code = 0, n = len(self.labels)
        if self.n_free == 0:
            code = n
            self.reserve(n + 1)
        while code < n and not self.is_free(code):
            code += 1
        self.known[label] = code
        if code == n:
            self.labels.append(label)
        else:
            self.labels[code] = label
            self.n_free -= 1
        self.latest[code] = self.n_learned
        self.version += 1
        return code

    cdef int reserve(self, int n) except -1:
        if n > self.capacity:
            n = max(2, n + n // 2)
            self.resize(&self.latest, n, sizeof(int64_t))
            self.capacity = n
        return 0

    cdef int search(self, const uint8_t* held, const uint8_t* met, object label,
                    uint8_t* gone) except -1:
        """Free codes for a label that has none, and mark them in `gone`.

        `held` marks the codes that may not be freed, and `met` those that trees have.
        """
        others = [code for code in range(self.max_labels) if not held[code]]
        if not others:
            self.refuse(label)
        freed, is_crowded = places_to_free(
            others, lambda code: self.latest[code] if met[code] else -1,
            1, max(1, self.max_labels // 64))
        self.crowded = [label] if is_crowded else []
        self.warn()         # an error if the user asks for that
        for code in freed:
            gone[code] = True
            self.labels[code], self.latest[code] = None, -1
        self.known = {each: code for each, code in self.known.items() if not gone[<int>code]}
        self.n_free = len(freed)
        self.version += 1
        return 0

    cdef int refuse(self, object label) except -1:
        """Raise an error for a label that finds no code."""
        raise ValueError(
            f"the label {safe_repr(label)} is one too many: a model tells {self.max_labels:,} "
            "labels apart, and the samples that it stores have so many. A label makes room when no "
            "stored sample has it any more. If labels are values, such as 'user 17', join those "
            "that are rare")

    cdef int warn(self) except -1:
        """Warn once if trees forget labels for others."""
        if self.crowded and not self.has_warned:
            self.has_warned = True
            warnings.warn(
                f"the model tells {self.max_labels:,} labels apart, the most that it can. For "
                f"{safe_repr(self.crowded[0])} its trees forget those that it has not learned for "
                "longest. If labels are values, such as 'user 17', join those that are rare",
                stacklevel=2)
        return 0

    cdef tuple codes(self):
        """What a new label changes."""
        return (list(self.labels), dict(self.known), self.crowded, self.n_free,
                [self.latest[code] for code in range(len(self.labels))])

    cdef int take_back(self, tuple before) except -1:
        """Be as before a new label."""
        cdef int code
        self.labels, self.known, self.crowded, self.n_free, latest = before
        for code in range(len(self.labels)):
            self.latest[code] = latest[code]
        self.version += 1
        return 0

    cdef object named(self, int code):
        """The label of a code, or the first label if the code is free; None if there is none."""
        if code < 0 or not self.labels:
            return None
        if self.labels[code] is not None:
            return self.labels[code]
        return next(iter([label for label in self.labels if label is not None]), None)

    def __len__(self):
        """Number of codes, free ones included."""
        return len(self.labels)

    FIELDS = {
        "labels": ("items",), "n_learned": ("whole",),
        "latest": ("whole_numbers", np.int64, None, {"least": -1, "most": LARGEST_COUNT}),
        "crowded": ("items",), "max_labels": ("whole", 1, MAX_LABELS),
    }
    DEFAULTS = {"latest": np.empty(0, np.int64), "n_learned": 0, "crowded": [],
                "max_labels": MAX_LABELS}

    cdef dict views(self):
        return {"latest": view(self.latest, "i8", (self.capacity,))[:len(self.labels)]}

    cdef dict fields(self):
        """The labels in the order of their codes, None for a free one."""
        return fields_of(self, self.FIELDS, {
            **self.views(), "labels": list(self.labels), "crowded": list(self.crowded)})

    cdef int load(self, dict fields) except -1:
        cdef int code, n = len(fields["labels"])
        self.max_labels, self.n_learned = fields["max_labels"], fields["n_learned"]
        self.labels, self.crowded = fields["labels"], fields["crowded"]
        require(n <= self.max_labels and (n == 0 or any([each is not None
                                                         for each in self.labels])),
                "Labels: there are too many, or none")
        require(len(fields["latest"]) == n and np.all(fields["latest"] <= self.n_learned),
                "Labels: one has not been learned, or was learned later than all samples")
        self.reserve(n)
        put_back(self.views(), fields)
        try:
            for code, label in enumerate(self.labels):
                require((label is None) == self.is_free(code),
                        "Labels: a code is free, or is not, that has a label, or has none")
                if label is not None:
                    require(self.code(label) == -1, "Labels: a label is there twice")
                    self.known[label] = code
                self.n_free += self.is_free(code)
        except StateError:
            raise
        except (TypeError, ValueError) as error:
            raise StateError(f"Labels: {error}") from None
        return 0
