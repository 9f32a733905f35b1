"""The losses of a model, and the number of samples on which it relies."""

from __future__ import annotations

import math
import random
from collections.abc import Hashable
from typing import Any

from .._core.answers import BLOCK, Answers
from .._core.evidence import Evidence, restored
from .._core.state import State, require

__all__ = ["Losses"]

KINDS = ("loss", "weights")
# What the alarms say of a kind, and how its size and numbers follow from the means.
Change = tuple[str, float, str]
LARGEST_SUM = 1e307  # of losses in a file: more can be added


class Losses:
    """Losses and effective memory, in blocks.

    Parameters
    ----------
    run_lengths
        Expected number of samples between two false alarms of the losses, and of the effective
        memory, at least.
    rng
        Random numbers that break ties.
    answers
        Have the losses of the present shortest block.
    """

    def __init__(
        self, run_lengths: tuple[float, float], rng: random.Random, answers: Answers
    ) -> None:
        self.evidence = [Evidence(each / BLOCK, rng) for each in run_lengths]
        self.n_blocks = 0
        self.sums = [0.0, 0.0]  # of the present blocks
        self.answers = answers

    def end_block(self, memory: float) -> list[Change]:
        """End a block, with this effective memory; return kind, size and text of each change."""
        numbers = self.answers.total / self.answers.n, -math.log(memory)
        self.answers.total, self.answers.n = 0.0, 0
        self.n_blocks += 1
        found = []
        for i, evidence in enumerate(self.evidence):
            self.sums[i] += numbers[i]
            if evidence.ends(self.n_blocks):
                number, self.sums[i] = self.sums[i] / (1 << evidence.level), 0.0
                if evidence.update(number):
                    found.append(describe(i, *evidence.means()))
                    evidence.restart()
        return found

    @property
    def unwatched(self) -> list[Hashable]:
        """The kinds of alarms that are impossible, because the numbers move by themselves."""
        pairs = zip(KINDS, self.evidence, strict=True)
        return [kind for kind, evidence in pairs if not evidence.is_tested]

    def restart(self) -> None:
        """Forget the losses so far."""
        self.answers.total, self.answers.n = 0.0, 0
        self.sums[0] = 0.0
        self.evidence[0].restart()

    # ------------------------------------------------------------------ files

    def state(self) -> dict[str, Any]:
        """Return what model files hold."""
        return {
            "evidence": [each.state() for each in self.evidence],
            "n_blocks": self.n_blocks,
            "sums": tuple(self.sums),
            "total": self.answers.total,
            "n": self.answers.n,
        }

    def restore(self, values: Any) -> None:
        """Take over a state, which is checked."""
        state = State("the losses", values, self.state())
        sums = state.value("sums")
        numbers = isinstance(sums, tuple) and all(
            type(each) is float and abs(each) <= LARGEST_SUM for each in sums
        )
        require(numbers and len(sums) == len(KINDS), "the losses have no sums")
        self.sums = list(sums)
        self.answers.total = state.number("total", -LARGEST_SUM, LARGEST_SUM)
        self.answers.n = state.whole("n", 0, BLOCK - 1)
        self.n_blocks = state.whole("n_blocks")
        pairs = zip(self.evidence, state.items("evidence", len(KINDS)), strict=True)
        self.evidence = [restored(each.run_length, each.rng, found) for each, found in pairs]


def describe(kind: int, recent: float, usual: float) -> Change:
    """Say what changed."""
    if kind == 0:
        text = f"the mean loss of the latest samples is {recent:.3g}; {usual:.3g} was usual"
        return KINDS[kind], recent - usual, text
    now, before = math.exp(-recent), math.exp(-usual)
    text = f"the effective memory is {now:,.0f} samples; {before:,.0f} was usual"
    return KINDS[kind], before / now, text
