"""Members of the pool that need no trees."""

import pickle

import river_extra_trees as ret


def test_many_classes_take_a_fixed_memory() -> None:
    """A table of transitions has at most 131,072 cells, then without rows for the last labels."""
    model = ret.ExtraTreesClassifier(n_models=1, window_sizes=(30,), seed=1)
    for i in range(600):
        model.learn_one({"a": i}, i)
    transitions = model._core.pool.transitions
    assert transitions.state()["counts"].shape == (131_072 // 600, 600)
    assert transitions.__sizeof__() < 1.1 * 8 * 131_072
    copy = pickle.loads(pickle.dumps(model))
    assert copy.predict_proba_one({"a": 1}) == model.predict_proba_one({"a": 1})
