"""Parts of a stream decision forest with rotation.

The trees do not depend on each other, but the weights of the window sizes depend on the predictions
of all trees for each sample before it is learned. So every part reports the votes of its trees on a
block of samples, and each part then updates its copy of the weights with the votes of all parts.
"""

from __future__ import annotations

import typing
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from .._core.forests.memories import MemoryForest
from .._core.forests.memory_exchange import IDLE, NO_GROWTH
from .blocks import Block
from .forests import ForestPart, add_up, common_history
from .parts import Votes

__all__ = ["MemoryForestPart"]

Targets = npt.NDArray[np.float64]  # numbers of the classes, or targets of a regression
Widths = npt.NDArray[np.intc]  # number of known classes when each sample was learned
Report = tuple[Votes, Targets, Widths]

LONGEST = 1000  # samples per report, which limits its memory


class MemoryForestPart(ForestPart):
    """Some of the trees of a stream decision forest with rotation.

    Its batches are the blocks of samples: `learn` reports the votes on a block, and `grow` updates
    the weights of the window sizes with the votes of all parts.
    """

    def _keep(self, first: int, stop: int) -> None:
        state = self._model._core.state()
        growths, number = state["growths"], 0
        for growth in growths:
            memory, n, turn = growth[:3]
            if growth[-1] != IDLE and not first <= number + turn < stop:
                growth[:] = [memory, n, (turn + 1) % n, *NO_GROWTH]
            number += n
        for name in ("trees", "models"):
            state[name] = state[name][first:stop]
        state |= {"first_tree": first, "is_part": True}
        self._model._core = MemoryForest.restored(state)

    @classmethod
    def _join(cls, models: list[typing.Any]) -> typing.Any:
        states = [model._core.state() for model in models]
        whole = {**states[0], "first_tree": 0, "is_part": False}
        for name in ("trees", "models"):
            whole[name] = [each for state in states for each in state[name]]
        for state in states:
            first, stop = state["first_tree"], state["first_tree"] + len(state["trees"])
            whole["births"][first:stop] = state["births"][first:stop]
            grows_here = state["growths"][:, -1] != IDLE
            whole["growths"][grows_here] = state["growths"][grows_here]
        models[0]._core = MemoryForest.restored(whole)
        return models[0]

    def _history(self) -> tuple[typing.Any, ...]:
        forest = self._model._core
        return *common_history(forest), forest.memory_weights()

    def _learn(self, block: Block, start: int) -> tuple[int, Report]:
        forest, stop = self._model._core, min(start + LONGEST, len(block))
        reader = forest.reader(block.batch(forest.regression), True, start)
        report: Report = forest.learn_and_vote(reader, stop - start)
        return stop, report

    def combine(self, reports: Sequence[Report]) -> Report:
        """Return the predictions of all members for the samples, with the targets.

        Parameters
        ----------
        reports
            The reports of all parts, in order of the trees.
        """
        votes, targets, widths = zip(*reports, strict=True)
        return self._members(votes), targets[0], widths[0]

    def _grow(self, combined: Report) -> None:
        self._model._core.weigh_answers(*combined)

    def _members(self, votes: Sequence[Votes]) -> Votes:
        """Predictions of the groups and of naive Bayes, as an array [sample, member, class].

        For regression, predictions of the trees, as an array [sample, tree, (mean, variance)].
        """
        trees = np.concatenate([each[:, :-1] for each in votes], axis=1)
        if self._model._core.regression:
            return trees
        sizes = [n for _, n in self._model._core.settings()["memories"]]
        groups = np.split(trees, np.cumsum(sizes)[:-1], axis=1)
        return np.stack([*(add_up([group]) for group in groups), votes[0][:, -1]], axis=1)

    def _combined(self, votes: Sequence[Votes]) -> npt.NDArray[np.float64]:
        """Predictions of the whole forest, as an array [sample, class]; numbers are in class 0."""
        answers: npt.NDArray[np.float64] = self._model._core.combined(self._members(votes))
        return answers

    def predict_numbers(self, votes: Sequence[Votes]) -> list[float]:
        """Return the numbers that the whole forest predicts.

        Parameters
        ----------
        votes
            The votes of all parts, in order of their trees.
        """
        return self._combined(votes)[:, 0].tolist()
