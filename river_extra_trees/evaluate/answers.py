"""Answers of a model to samples that it learns, each after it was answered."""

from __future__ import annotations

from typing import Any

from river_extra_trees._estimator.rows import labels_of_codes, probabilities_of

__all__ = ["answered", "predict_learn", "reads_samples"]


def reads_samples(model: Any) -> bool:
    """Return whether a model reads samples as columns; a class derived elsewhere may not."""
    is_ours = type(model).__module__.startswith("river_extra_trees.")
    return is_ours and hasattr(model, "_answer_and_learn")


def predict_learn(model: Any, samples: Any, *, probabilities: bool = False) -> list[Any]:
    """Predict each sample and then learn it; return what `predict_one` would.

    Parameters
    ----------
    model
        A model that reads samples as columns.
    samples
        Samples with targets, see `Block.samples`.
    probabilities
        Whether to answer with the probabilities of labels, as `predict_proba_one` does.
    """
    answers = model._core.reader(samples, learns=True)
    model._answer_and_learn(answers, shares=probabilities)
    if answers.numbers is not None:
        numbers: list[Any] = answers.numbers.tolist()
        return numbers
    labels = model._core.labels.labels
    if probabilities:
        return probabilities_of(answers.shares, labels)
    return labels_of_codes(answers.labels, labels)


def answered(targets: list[Any], answers: list[Any]) -> tuple[list[Any], list[Any]]:
    """Return targets and answers of the rows that got one; as in river, others are not scored."""
    if None not in answers and {} not in answers:
        return targets, answers
    kept = [i for i, answer in enumerate(answers) if answer is not None and answer != {}]
    return [targets[i] for i in kept], [answers[i] for i in kept]
