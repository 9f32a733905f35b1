"""Streaming tree learners for river.

**Stream decision trees and forests** (`StreamDecisionTreeClassifier`, `StreamDecisionTreeRegressor`,
`StreamDecisionForestClassifier`, `StreamDecisionForestRegressor`) are CART trees that keep growing
with each batch of samples (Xu, Dey, Panda and Vogelstein 2022).

Every learner is a river classifier or regressor: `learn_one`, `predict_one`, pipelines, metrics,
drift detectors and `evaluate.progressive_val_score` work with it as with river's own.
"""

from __future__ import annotations

from .stream_forest import (
    StreamDecisionForestClassifier,
    StreamDecisionForestRegressor,
    StreamDecisionTreeClassifier,
    StreamDecisionTreeRegressor,
)

__all__ = [
    "StreamDecisionForestClassifier",
    "StreamDecisionForestRegressor",
    "StreamDecisionTreeClassifier",
    "StreamDecisionTreeRegressor",
]
