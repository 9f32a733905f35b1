"""How large the errors of a regression are at x. See the header."""

import numpy as np

from libc.math cimport exp, isnan, log
from libc.string cimport memset

from ..parts cimport view
from ..moments cimport RUNNING_MEMORY, follow_value, standardised

from ..state import require

cdef unsigned long UNKNOWN = -1     # version of no schema

cdef double RATE = 0.02
cdef double LOG_DECAY = 0.998       # of the mean of u ...
cdef double RESIDUAL_DECAY = 0.99   # ... and of that of log(e^2 / v)
cdef double FIRST_SLOPE = 0.5
cdef double LARGEST_SLOPE = 2.0     # a
cdef double LARGEST_G = 100.0
LARGEST_TILT = 3.0
cdef double LEAST_LOG = -6.0        # of e^2 / v: hits are not all alike


cdef class NoiseModel(Part):
    """A linear model of the log of squared errors. See the header."""

    def __cinit__(self):
        self.slope, self.version = FIRST_SLOPE, UNKNOWN

    # ---------------------------------------------------------------- features

    cdef void fit(self, Schema schema) noexcept nogil:
        """Take the numeric columns of the schema, at most MOST_FEATURES."""
        cdef int column, i, n = 0
        for i in range(self.n_features):
            if not schema.has_codes(self.features[i].column):
                self.features[n] = self.features[i]
                n += 1
        self.n_features = n
        for column in range(schema.n_columns):
            if self.n_features == MOST_FEATURES:
                break
            if schema.has_codes(column) or self.has(column):
                continue
            i = self.n_features
            memset(&self.features[i], 0, sizeof(Feature))
            self.features[i].column = column
            self.n_features += 1
        self.version = schema.version

    cdef bint has(self, int column) noexcept nogil:
        """Whether a column is one of the features."""
        cdef int i
        for i in range(self.n_features):
            if self.features[i].column == column:
                return True
        return False

    cdef void forget_columns(self, const uint8_t* held) noexcept nogil:
        """Forget the columns that are not marked."""
        cdef int i, n = 0
        for i in range(self.n_features):
            if held[self.features[i].column]:
                self.features[n] = self.features[i]
                n += 1
        self.n_features, self.version = n, UNKNOWN

    # ---------------------------------------------------------------- predictions

    cdef double answer(self, const double* row, Py_ssize_t stride, int n_columns) noexcept nogil:
        """h at row[column * stride] of n_columns columns."""
        cdef int i
        cdef double h = 0.0
        for i in range(self.n_features):
            if self.features[i].slope != 0.0 and self.features[i].column < n_columns:
                h += self.features[i].slope * standardised(
                    &self.features[i].running, row[self.features[i].column * stride])
        return min(max(h, -LARGEST_TILT), LARGEST_TILT)

    cdef double ratio(self, double u, double h) noexcept nogil:
        """v / E."""
        return exp(self.slope * self.distance(u) + h)

    cdef double distance(self, double u) noexcept nogil:
        """u - mean of u."""
        return u - self.middle if self.n_middle > 0.0 else 0.0

    # ---------------------------------------------------------------- learning

    cdef void learn(self, const double* row, Py_ssize_t stride, double u,
                    double z2) noexcept nogil:
        """Learn from z2 = e^2 / v and the features; the schema has been fitted."""
        cdef int i
        cdef double[MOST_FEATURES] z
        cdef double log_z2 = max(log(z2), LEAST_LOG) if z2 > 0.0 else LEAST_LOG
        cdef double distance = self.distance(u), total = 1.0 + distance * distance, step
        for i in range(self.n_features):
            z[i] = standardised(
                &self.features[i].running, row[self.features[i].column * stride])
            total += z[i] * z[i]
        self.n_residuals = RESIDUAL_DECAY * self.n_residuals + 1.0
        self.residual = RESIDUAL_DECAY * self.residual + log_z2
        step = RATE * (log_z2 - self.residual / self.n_residuals) / total
        self.slope = min(max(self.slope + step * distance, 0.0), LARGEST_SLOPE)
        for i in range(self.n_features):
            self.features[i].slope = min(
                max(self.features[i].slope + step * z[i], -LARGEST_G), LARGEST_G)
        self.n_middle = LOG_DECAY * self.n_middle + 1.0
        self.middle += (u - self.middle) / self.n_middle

    cdef void follow(self, const double* row, Py_ssize_t stride) noexcept nogil:
        """Follow means and variances of the features, whether there was an error or not."""
        cdef int i
        cdef double value
        for i in range(self.n_features):
            value = row[self.features[i].column * stride]
            if not isnan(value):
                follow_value(&self.features[i].running, value)

    # ---------------------------------------------------------------- state

    cdef bint belongs_to(self, Schema schema) except -1:
        """Whether all features are different numeric columns of the schema."""
        cdef int i, column
        cdef set columns = set()
        for i in range(self.n_features):
            column = self.features[i].column
            if column >= schema.n_columns or schema.has_codes(column):
                return False
            columns.add(column)
        return len(columns) == self.n_features

    FIELDS = {
        "slope": ("number", 0.0, LARGEST_SLOPE), "middle": ("number", -3.0, 30.0),
        "n_middle": ("number", 0.0, 1e6), "residual": ("number", -1e6, 1e6),
        "n_residuals": ("number", 0.0, 1e6),
        "columns": ("whole_numbers", np.int32, "features", {"most": 2**31 - 1}),
        "features": ("numbers", "features", 4, {"least": -1e306, "most": 1e306}),
    }

    cdef dict views(self):
        """The features: columns; number of values, mean, variance and slope."""
        cdef int n = self.n_features, size = sizeof(Feature)
        return {
            "columns": view(&self.features[0].column, "i4", (n,), (size,)),
            "features": view(&self.features[0].running, "f8", (n, 4), (size, sizeof(double))),
        }

    cdef int load(self, dict fields) except -1:
        features = fields["features"]
        require(len(features) <= MOST_FEATURES and np.all(features[:, 0] >= 0.0)
                and np.all(features[:, 0] <= RUNNING_MEMORY) and np.all(features[:, 2] >= 0.0)
                and np.all(np.abs(features[:, 3]) <= LARGEST_G),
                "NoiseModel: there are no such features")
        self.n_features = <int>len(features)
        return Part.load(self, fields)
