"""Ranks of learners over streams, and which of their differences are significant.

The tests are those that Demsar (2006) recommends for classifiers over several data sets.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

import numpy as np
from scipy import stats

# Scores of the learners on each stream; larger is better.
Scores = Mapping[str, Mapping[str, float]]


def ranks(scores: Mapping[str, float]) -> dict[str, float]:
    """Return the rank of every learner on a stream, 1 the best; equals share the mean rank.

    Examples
    --------
    >>> ranks({"a": 0.7, "b": 0.9, "c": 0.7})
    {'a': 2.5, 'b': 1.0, 'c': 2.5}

    """
    places = stats.rankdata([-score for score in scores.values()])
    return dict(zip(scores, map(float, places), strict=True))


def mean_ranks(scores: Scores) -> dict[str, float]:
    """Return the mean rank of every learner over all streams, the best first."""
    placed = [ranks(on_stream) for on_stream in scores.values()]
    means = {learner: statistics.fmean(each[learner] for each in placed) for learner in placed[0]}
    return dict(sorted(means.items(), key=lambda item: item[1]))


def friedman(scores: Scores) -> float:
    """Return the chance of ranks as different as these if all learners were equally good."""
    columns = zip(*(on_stream.values() for on_stream in scores.values()), strict=True)
    return float(stats.friedmanchisquare(*columns).pvalue)


def critical_difference(n_learners: int, n_streams: int, level: float = 0.05) -> float:
    """Return by how much two mean ranks must differ at least, by Nemenyi's test.

    Examples
    --------
    >>> round(critical_difference(4, 14), 2)
    1.25

    """
    q = stats.studentized_range.ppf(1 - level, n_learners, np.inf) / math.sqrt(2)
    return float(q * math.sqrt(n_learners * (n_learners + 1) / (6 * n_streams)))


def holm(chances: Mapping[str, float]) -> dict[str, float]:
    """Return chances corrected by Holm for their number.

    Examples
    --------
    >>> holm({"a": 0.01, "b": 0.04, "c": 0.03})
    {'a': 0.03, 'c': 0.06, 'b': 0.06}

    """
    corrected, largest = {}, 0.0
    for place, name in enumerate(sorted(chances, key=chances.__getitem__)):
        largest = max(largest, min(1.0, (len(chances) - place) * chances[name]))
        corrected[name] = largest
    return corrected


def wilcoxon(pairs: Sequence[tuple[float, float]]) -> float:
    """Return the chance of such pairs of scores if two learners were equally good."""
    differences = [a - b for a, b in pairs]
    if not any(differences):
        return 1.0
    return float(stats.wilcoxon(differences, zero_method="zsplit", method="approx").pvalue)
