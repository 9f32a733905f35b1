"""Logistic leaves in the plainest way: regressions of one class against the rest, by matrices.

The regression on all active points has a normal prior about zero; that on a leaf has one about the
coefficients of the window, and takes one step of Newton's method from there.
"""

from __future__ import annotations

import numpy as np

Array = np.ndarray

N_WINDOW_STEPS = 5
LARGEST_STEP = 5.0
LARGEST_LOG_ODDS = 10.0


def chances(Z: Array, coefficients: Array) -> Array:
    log_odds = np.clip(Z @ coefficients, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)
    return 1 / (1 + np.exp(-log_odds))


def newton_step(Z: Array, hit: Array, weights: Array, prior: Array, at: Array) -> Array:
    p = chances(Z, at)
    gradient = Z.T @ (weights * (p - hit)) + at - prior
    hessian = Z.T @ np.diag(weights * p * (1 - p)) @ Z + np.eye(len(at))
    step = np.linalg.solve(hessian, gradient)
    return at - step * LARGEST_STEP / max(LARGEST_STEP, np.abs(step).sum())


class Window:
    """The active points, scaled, and a regression on all of them for each class."""

    def __init__(self, X: Array, y: Array, weights: Array, n_classes: int) -> None:
        self.mean, deviation = X.mean(axis=0), X.std(axis=0)
        self.factor = np.where(deviation > 1e-12, 1 / np.maximum(deviation, 1e-12), 0.0)
        self.Z, self.y = self.scaled(X), y
        self.classes = [1] if n_classes == 2 else list(range(n_classes))
        self.coefficients = {k: np.zeros(self.Z.shape[1]) for k in self.classes}
        for k in self.classes:
            for _ in range(N_WINDOW_STEPS):
                self.coefficients[k] = newton_step(
                    self.Z, y == k, weights, np.zeros(self.Z.shape[1]), self.coefficients[k]
                )

    def scaled(self, X: Array) -> Array:
        return np.column_stack([np.ones(len(X)), (X - self.mean) * self.factor])

    def leaf_chances(self, rows: list[int], weights: Array, x: Array) -> Array:
        """Probabilities of the classes at x in the leaf that holds these rows."""
        z = self.scaled(x[None, :])
        found = []
        for k in self.classes:
            prior = self.coefficients[k]
            at = newton_step(self.Z[rows], self.y[rows] == k, weights, prior, prior)
            found.append(float(chances(z, at)[0]))
        if self.classes == [1]:
            return np.array([1 - found[0], found[0]])
        return np.array(found) / np.sum(found)
