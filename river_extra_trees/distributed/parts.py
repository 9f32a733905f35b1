"""The parts of a model in several processes, and the protocol between them.

Each part learns every sample, but predicts for its own share of the model only. The parts of a
forest exchange one message per batch, because a forest replaces or discards the worst of *all* its
trees; or one message per block of samples, because the weights of the window sizes depend on the
predictions of all trees. The protocol is the same for every engine:

    for each block of samples:
        while samples of the block are left:
            each part:  stop, report = part.learn(block, start)   # up to the end of the batch
            one place:  combined = part.combine(reports)          # only if there are reports
            each part:  part.grow(combined)

`learn_together` runs it within one process. `Part.step` combines `grow` with the next `learn`, so
that each batch costs one message.
"""

from __future__ import annotations

import abc
import typing
from collections.abc import Hashable, Sequence

import numpy as np
import numpy.typing as npt

from .._estimator.frames import Sample
from .blocks import Block

__all__ = ["Part", "Votes", "learn_together"]

Votes = npt.NDArray[np.float64]  # [sample, tree, class]
EMPTY = Block([])


class Part(abc.ABC):
    """The share of one process in a model."""

    n_sent = 0
    """Number of samples that `step` has learned, including those of weight zero."""
    _model: typing.Any  # the learner
    _block = EMPTY  # the block of which the next `step` learns the remaining samples

    @classmethod
    @abc.abstractmethod
    def split(cls, model: typing.Any, n: int) -> Sequence[Part]:
        """Make n parts of a model. The model is not changed."""

    @classmethod
    @abc.abstractmethod
    def coordinator(cls, model: typing.Any) -> Part:
        """Make a small part that validates samples and combines the votes of the other parts."""

    @property
    @abc.abstractmethod
    def n_samples_seen(self) -> int:
        """Number of samples learned, without those of weight zero."""

    def validate(
        self, x: Sample, y: typing.Any, w: float = 1.0, coming: set[Hashable] | None = None
    ) -> None:
        """Raise the error that learning this sample would raise.

        Parameters
        ----------
        x
            Features.
        y
            The target.
        w
            Weight of the sample.
        coming
            Labels of the samples that will be learned before this one. The label of this sample
            is added.

        Raises
        ------
        ValueError, TypeError
            As `learn_one` of the learner does.
        """
        self._model._check_next(x, y, w, set() if coming is None else coming)

    def validate_block(self, block: Block) -> None:
        """Raise the error that learning these samples would raise, with the number of the row.

        Parameters
        ----------
        block
            The samples.

        Raises
        ------
        ValueError, TypeError
            As `learn_many` of the learner does.
        """
        core = self._model._core
        core.reader(block.batch(core.regression), True)

    @abc.abstractmethod
    def learn(self, block: Block, start: int = 0) -> tuple[int, typing.Any]:
        """Learn samples of a block; return the number of the next one, and the report."""

    def combine(self, reports: Sequence[typing.Any]) -> typing.Any:
        """Combine the reports of all parts into the argument of `grow`.

        Parameters
        ----------
        reports
            The report of each part, returned by `learn`, in order of the parts.
        """
        raise NotImplementedError(f"a {type(self).__name__} makes no reports")

    def grow(self, combined: typing.Any) -> None:
        """Finish a batch.

        Parameters
        ----------
        combined
            The result of `combine` of any part.
        """
        raise NotImplementedError(f"a {type(self).__name__} has no batches")

    @abc.abstractmethod
    def votes(self, block: Block) -> Votes:
        """The answers of this part to each sample.

        Parameters
        ----------
        block
            Samples; their targets are ignored.
        """

    @abc.abstractmethod
    def predict_labels(self, votes: Sequence[Votes]) -> list[typing.Any]:
        """The labels that the whole model predicts.

        Parameters
        ----------
        votes
            The votes of all parts, in their order.
        """

    @abc.abstractmethod
    def predict_probabilities(self, votes: Sequence[Votes]) -> list[dict[Hashable, float]]:
        """The probabilities that the whole model predicts.

        Parameters
        ----------
        votes
            The votes of all parts, in their order.
        """

    @abc.abstractmethod
    def predict_numbers(self, votes: Sequence[Votes]) -> list[float]:
        """The numbers that the whole model predicts.

        Parameters
        ----------
        votes
            The votes of all parts, in their order.
        """

    def copy(self) -> typing.Self:
        """Return the part itself: the engine copies it when it sends it to another process."""
        return self

    def step(
        self, combined: typing.Any, block: Block | None, start: int = 0
    ) -> tuple[int, typing.Any]:
        """Finish the last batch if it is full, then learn: two calls in one message.

        Parameters
        ----------
        combined
            The argument of `grow`, or `None` if there is no full batch.
        block
            Valid samples, or `None` for the block of the previous call, so that each block is sent
            only once.
        start
            Number of the first sample to learn.

        Returns
        -------
        The result of `learn`.
        """
        if combined is not None:
            self.grow(combined)
        block = self._block if block is None else block
        stop, report = self.learn(block, start)
        self.n_sent += stop - start
        self._block = block if stop < len(block) else EMPTY
        return stop, report


def learn_together(parts: Sequence[Part], block: Block) -> None:
    """Learn a block of samples with all parts of a model, in this process.

    Parameters
    ----------
    parts
        All parts, in the order of the result of `split`.
    block
        Valid samples.
    """
    start = 0
    while start < len(block):
        stops, reports = zip(*(part.learn(block, start) for part in parts), strict=True)
        start = stops[0]
        if reports[0] is not None:
            combined = parts[0].combine(reports)
            for part in parts:
                part.grow(combined)
