# cython: binding=False
"""The answers of a model that is watched. See the header."""

from libc.math cimport fabs

STRIDE, BLOCK = SPACING, LOSSES
HIGHEST = 5     # times that a block of losses may become twice as long


cdef class Answers:
    """The answers to questions whose labels have not come.

    Parameters
    ----------
    regression
        Whether the loss is the absolute error; else it is 1 for a wrong label.
    evidence
        Gets the mean loss of each block.
    """

    def __init__(self, bint regression, Evidence evidence):
        self.regression, self.evidence = regression, evidence

    def __reduce__(self):
        losses = self.evidence, self.total, self.n
        fields = self.n_samples, self.is_asked, self.late, *losses, self.x, self.answer
        return restored, (self.regression, *fields)

    cpdef bint ask(self, object x, object answer):
        """Take a question and its answer; return whether there is more to do with it."""
        self.x, self.answer = x, answer
        self.n_samples += 1
        self.is_asked = True
        return self.n_samples % SPACING == 1 or self.late is not None

    cpdef bint is_next(self, object x):
        """Whether the label is that of the sample that was asked last, and labels come at once."""
        return x is self.x and self.late is None

    cpdef bint judge_next(self, object y) except -1:
        """Take the label for the last answer; return whether the losses have changed."""
        return self.judge(self.answer, y)

    cpdef bint judge(self, object answer, object y) except -1:
        """Take the label for an answer; return whether the losses have changed."""
        cdef double mean
        self.x = None
        if answer is None:
            return False
        if self.regression:
            self.total += fabs(<double>float(answer) - <double>float(y))
        elif answer != y:
            self.total += 1.0
        self.n += 1
        if self.n < LOSSES << self.evidence.level:
            return False
        mean, self.total, self.n = self.total / self.n, 0.0, 0
        return self.evidence.is_tested and self.evidence.update(mean)

    cpdef restart(self):
        """Forget the losses so far."""
        self.total, self.n = 0.0, 0
        self.evidence.restart()


def restored(regression, n_samples, is_asked, late, evidence, total, n, x, answer):
    """Answers with these attributes."""
    found = Answers(regression, evidence)
    found.n_samples, found.is_asked, found.late = n_samples, is_asked, late
    found.total, found.n = total, n
    found.x, found.answer = x, answer
    return found
