"""Answers of a model to a frame whose rows it learns, each after it was answered."""

from __future__ import annotations

from typing import Any

from river import base

from river_extra_trees._estimator.frames import into_frame, values_of

__all__ = ["answered", "predict_learn", "reads_frames"]


def reads_frames(model: Any) -> bool:
    """Return whether a model predicts and learns whole frames."""
    return hasattr(model, "predict_learn_many")


def predict_learn(
    model: Any, X: Any, targets: list[Any], weights: Any = None, *, probabilities: bool = False
) -> list[Any]:
    """Predict each row of a frame and then learn it; return the answers of `predict_one`.

    Parameters
    ----------
    model
        A model of this package.
    X
        A frame of any kind.
    targets
        The target of each row.
    weights
        The weight of each row; None for weights of 1.
    probabilities
        Whether to answer with the probabilities of labels, as `predict_proba_one` does.
    """
    if probabilities:
        shares = into_frame(model.predict_proba_learn_many(X, targets, weights)).to_numpy()
        labels = model._labels()
        # A label that was not yet known has no probability.
        return [
            {label: share for label, share in zip(labels, row, strict=True) if share == share}
            for row in shares.tolist()
        ]
    answers = values_of(model.predict_learn_many(X, targets, weights), "answers")
    if isinstance(model, base.Regressor):
        return answers
    # A frame may hold the labels in another form, and NaN where there is no answer.
    known = {label: label for label in model._labels()}
    return [known.get(answer) for answer in answers]


def answered(targets: list[Any], answers: list[Any]) -> tuple[list[Any], list[Any]]:
    """Return targets and answers of the rows that got one; as in river, others are not scored."""
    kept = [i for i, answer in enumerate(answers) if answer is not None and answer != {}]
    if len(kept) == len(answers):
        return targets, answers
    return [targets[i] for i in kept], [answers[i] for i in kept]
