"""The answers of a model that is watched. See the header."""

from libc.math cimport fabs

STRIDE, BLOCK = SPACING, LOSSES


cdef class Answers:
    """The answers to questions whose labels have not come.

    Parameters
    ----------
    regression
        Whether the loss is the absolute error; else it is 1 for a wrong label.
    """

    def __init__(self, bint regression):
        self.regression = regression

    def __reduce__(self):
        fields = self.n_samples, self.is_asked, self.late, self.total, self.n, self.x, self.answer
        return restored, (self.regression, *fields)

    cpdef bint ask(self, object x, object answer):
        """Take a question and its answer; return whether there is more to do with it."""
        self.x, self.answer = x, answer
        self.n_samples += 1
        return self.n_samples % SPACING == 1 or self.late is not None

    cpdef bint is_next(self, object x):
        """Whether the label is that of the sample that was asked last, and labels come at once."""
        return x is self.x and self.late is None

    cpdef bint judge_next(self, object y) except -1:
        """Take the label for the last answer; return whether a block of losses has ended."""
        return self.judge(self.answer, y)

    cpdef bint judge(self, object answer, object y) except -1:
        """Take the label for an answer; return whether a block of losses has ended."""
        self.x = None
        if answer is None:
            return False
        if self.regression:
            self.total += fabs(<double>float(answer) - <double>float(y))
        else:
            self.total += bool(answer != y)
        self.n += 1
        return self.n == LOSSES


def restored(regression, n_samples, is_asked, late, total, n, x, answer):
    """Answers with these attributes."""
    found = Answers(regression)
    found.n_samples, found.is_asked, found.late = n_samples, is_asked, late
    found.total, found.n = total, n
    found.x, found.answer = x, answer
    return found
