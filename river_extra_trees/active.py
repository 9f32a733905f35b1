"""Active learning for regression: request only the most informative targets.

For classification, use `river.active.EntropySampler`. The class of this module is its counterpart
for regressors with an acquisition score.
"""

from __future__ import annotations

import math
import typing

from river import base

from ._estimator.frames import Sample
from ._estimator.parameters import (
    check_choice,
    check_number,
    check_parameter,
    check_whole,
    plain_parameters,
)
from .dynamic_tree import DynamicTreeRegressor

__all__ = ["AcquisitionSampler"]

# Step by which a sample moves the logarithm of the threshold.
STEP = 0.2
# The threshold is reset after this number of samples in a row without a request, in units of the
# expected number: the scores have fallen far below the threshold, as they do at the start.
PATIENCE = 4


class AcquisitionSampler(base.Wrapper[DynamicTreeRegressor], base.Regressor):
    """Active learning regressor based on an acquisition score.

    A target is requested when the score of its sample exceeds a threshold. The threshold rises with
    every request and falls with every other sample, so that in the long run the share `budget` of
    the targets is requested. This holds for any scale of the scores, even if they fall while the
    regressor learns. The scores are those of Taddy, Gramacy and Polson[^1].

    Parameters
    ----------
    regressor
        The regressor to wrap.
    criterion
        A score of `DynamicTreeRegressor.acquisition_one`: `"alm"` prefers the least certain
        predictions; `"alc"` prefers targets that help to predict samples like those seen so far;
        `"ei"` prefers samples whose target may be the lowest.
    budget
        Share of the targets to request, in (0, 1).
    n_first
        Number of samples at the start. All of their targets are requested.

    References
    ----------
    [^1]: Taddy, M.A., Gramacy, R.B. and Polson, N.G., 2011. Dynamic trees for learning and design.
        Journal of the American Statistical Association, 106(493), pp.109-123.

    Examples
    --------

    In this stream most samples come from a flat part of the function. The requested targets give a
    smaller error than the same number of targets from the start of the stream.

    >>> import itertools
    >>> import math
    >>> import random
    >>> from river import metrics
    >>> from river_extra_trees import DynamicTreeRegressor
    >>> from river_extra_trees.active import AcquisitionSampler

    >>> def stream(n, seed):
    ...     rng = random.Random(seed)
    ...     for _ in range(n):
    ...         x = rng.random() ** 4
    ...         yield {"x": x}, math.sin(8 * x * x) + rng.gauss(0, 0.1)

    >>> def error(model):
    ...     metric = metrics.RMSE()
    ...     for i in range(100):
    ...         metric.update(math.sin(8 * (i / 100) ** 2), model.predict_one({"x": i / 100}))
    ...     return metric

    >>> active = AcquisitionSampler(DynamicTreeRegressor(n_particles=50, seed=1), budget=0.1)
    >>> by_chance = DynamicTreeRegressor(n_particles=50, seed=1)
    >>> n_asked = 0
    >>> for x, y in stream(1000, seed=0):
    ...     y_pred, ask = active.predict_one(x)
    ...     if ask:
    ...         n_asked += 1
    ...         active.learn_one(x, y)

    >>> for x, y in itertools.islice(stream(1000, seed=0), n_asked):
    ...     by_chance.learn_one(x, y)
    >>> 80 < n_asked < 120
    True
    >>> print(f"{error(active.regressor).get():.1f} {error(by_chance).get():.1f}")
    0.1 0.3
    """

    @plain_parameters
    def __init__(
        self,
        regressor: DynamicTreeRegressor,
        criterion: str = "alc",
        budget: float = 0.2,
        n_first: int = 20,
    ) -> None:
        check_parameter(
            isinstance(regressor, DynamicTreeRegressor), "regressor", regressor, "dynamic trees"
        )
        check_choice("criterion", criterion, "alc", "alm", "ei")
        check_number("budget", budget, 0, 1, "()")
        check_whole("n_first", n_first, 1)
        self.regressor = regressor
        self.criterion = criterion
        self.budget = budget
        self.n_first = n_first
        self._threshold = 0.0
        self._n_seen = 0
        self._n_refused = 0

    @property
    def _wrapped_model(self) -> DynamicTreeRegressor:
        return self.regressor

    def predict_one(self, x: Sample) -> tuple[float, bool]:
        """Predict the target of a sample, and decide whether to request it.

        Parameters
        ----------
        x
            Features.

        Returns
        -------
        The prediction, and whether the target is requested.
        """
        return self.regressor.predict_one(x), self._ask_for_target(x)

    def _ask_for_target(self, x: Sample) -> bool:
        score = self.regressor.acquisition_one(x, self.criterion)
        self._n_seen += 1
        if (
            self._n_seen <= self.n_first
            or not 0.0 < self._threshold < math.inf
            or self._n_refused * self.budget > PATIENCE
        ):
            self._threshold = score
            self._n_refused = 0
            return True
        ask = score > self._threshold
        self._threshold *= math.exp(STEP * (ask - self.budget))
        self._n_refused = 0 if ask else self._n_refused + 1
        return ask

    def learn_one(self, x: Sample, y: float, w: float = 1.0) -> None:
        """Learn a sample whose target was requested.

        Parameters
        ----------
        x
            Features.
        y
            The target.
        w
            Weight of the sample.
        """
        self.regressor.learn_one(x, y, w)

    @classmethod
    def _unit_test_params(cls) -> typing.Iterator[dict[str, typing.Any]]:
        yield {"regressor": DynamicTreeRegressor(n_particles=10, seed=1)}
