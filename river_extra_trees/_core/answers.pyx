# cython: binding=False, nonecheck=True
"""The answers of a model that is watched. See the header."""

cimport cython
from libc.math cimport fabs, log

from .bins cimport SAMPLES

STRIDE, BLOCK = SPACING, LOSSES
HIGHEST = 5     # times that a block of losses may become twice as long


@cython.final
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

    cpdef bint ask(self, object x, object answer) noexcept:
        """Take a question and its answer; return whether there is more to do with it."""
        self.x, self.answer = x, answer
        self.n_samples += 1
        self.is_asked = True
        return self.n_samples % SPACING == 1 or self.late is not None

    cpdef bint is_next(self, object x) noexcept:
        """Whether the label is that of the sample that was asked last, and labels come at once."""
        return x is self.x and self.late is None

    cpdef bint judge(self, object answer, object y) except -1:
        """Take the label for an answer; return whether the losses have changed."""
        cdef double mean
        self.x = None
        if answer is None:
            return False
        if self.regression:
            self.total += fabs(<double>float(answer) - <double>float(y))
        elif answer is not y and answer != y:
            self.total += 1.0
        self.n += 1
        if self.n < LOSSES << self.evidence.level:
            return False
        mean, self.total, self.n = self.total / self.n, 0.0, 0
        return self.evidence.level <= self.evidence.highest and self.evidence.update(mean)

    cpdef restart(self):
        """Forget the losses so far."""
        self.total, self.n = 0.0, 0
        self.evidence.restart()

    cdef int bind(self, object model) except -1:
        """Look up the methods of another model: each look-up reads memory that no cache holds."""
        self.model, self.predict, self.learn = model, model.predict_one, model.learn_one
        return 0


cdef class Asked:
    """What a watch does with every sample."""

    @cython.binding(True)
    def predict_one(self, x, **kwargs):
        """Predict a sample with the model, and look at its features.

        Parameters
        ----------
        x
            Features by name.
        kwargs
            What else `predict_one` of the model takes.

        Returns
        -------
        The prediction of the model.
        """
        cdef Answers answers = self._answers
        if answers.model is not self.model:
            answers.bind(self.model)
        answer = answers.predict(x, **kwargs) if kwargs else answers.predict(x)
        self.asked(x, point_of(answer) if kwargs and answers.regression else answer)
        return answer

    @cython.binding(True)
    def learn_one(self, x, y, w=1.0):
        """Learn a sample.

        The prediction that was given for it is judged first; without one, the model is asked now.

        Parameters
        ----------
        x
            Features by name.
        y
            The label or target.
        w
            Weight of the sample.
        """
        cdef Answers answers = self._answers
        cdef bint is_next = answers.is_next(x)
        if answers.model is not self.model:
            answers.bind(self.model)
        answer = answers.answer if is_next else self._answer_for(x)
        if w == 1.0:    # some models of river have no weights
            answers.learn(x, y)
        else:
            answers.learn(x, y, w)
        if not is_next:
            self._forget_question(x)
        if answers.judge(answer, y):
            self._raise_loss()

    def _asked(self, x, answer):
        """Look at a question, and remember its answer."""
        self.asked(x, answer)

    cdef int asked(self, object x, object answer) except -1:
        if self._answers.ask(x, answer):
            if self._answers.n_samples % SPACING == 1:
                self.look(x)
            if self._answers.late is not None:
                self._remember(x, answer)
        return 0

    def _see(self, x):
        """Look at the features of a sample, of one in SPACING in detail."""
        self._answers.n_samples += 1
        if self._answers.n_samples % SPACING == 1:
            self.look(x)

    cdef int look(self, object x) except -1:
        """Look at the features of a sample in detail."""
        self._inputs.add(x)
        if self._answers.n_samples % SAMPLES == SAMPLES - SPACING + 1:
            self.end_block()
        return 0

    cdef int end_block(self) except -1:
        """End a block of inputs and of the effective memory."""
        cdef list changes = self._inputs.end_block()
        cdef bint has_shrunk = (
            self._weights is not None and self._weights.ends(self._answers.n_samples // SAMPLES)
            and self._weights.update(-log(self._memory())))     # which rises when it shrinks
        if changes or has_shrunk:
            self._raise_changes(changes, has_shrunk)
        return 0


def point_of(answer):
    """The mean of a distribution, or the number that was predicted."""
    mean = getattr(answer, "mean", answer)
    return mean() if callable(mean) else mean   # of numpy's numbers, a method


def restored(regression, n_samples, is_asked, late, evidence, total, n, x, answer):
    """Answers with these attributes."""
    found = Answers(regression, evidence)
    found.n_samples, found.is_asked, found.late = n_samples, is_asked, late
    found.total, found.n = total, n
    found.x, found.answer = x, answer
    return found
