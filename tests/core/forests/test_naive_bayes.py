"""Naive Bayes beside the trees of the default forest; `test_memories.py` has what it predicts."""

from __future__ import annotations

import pickle

import river_extra_trees as ret


def test_many_columns_and_classes_take_a_fixed_memory() -> None:
    """Columns times classes are at most 16,384, with up to 64 counts each of 8 bytes."""
    model = ret.ExtraTreesClassifier(n_models=1, window_sizes=(30,), seed=1)
    for i in range(600):
        model.learn_one({j: f"value {(i + j) % 7}" for j in range(100)}, i)
    naive = model._core.naive
    assert len(naive.state()["n_values"]) == 16_384 // 600
    assert naive.__sizeof__() < 16_384 * 64 * 8 * 1.1
    naive.check()
    copy = pickle.loads(pickle.dumps(model))
    x = {j: f"value {j % 7}" for j in range(100)}
    assert copy.predict_proba_one(x) == model.predict_proba_one(x)
