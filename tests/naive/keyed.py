"""One model per key in a dict: who stays, and what each has learned; and with a pooled model.

A pooled model and those of the keys are mixed by Bayes' rule, from the formulas.
"""

from collections import defaultdict
from typing import Any

Row = dict[Any, Any]

ANSWERS = ("pooled", "half-way", "own")
SHARE, FLOOR, DEGREES, PSEUDO = 0.02, 0.02, 4.0, 2.0


class KeyedModels:
    """The plain version of `river_extra_trees.keyed.KeyedModels`."""

    def __init__(
        self,
        model: Any,
        max_models: int | None = None,
        time_to_live: int | None = None,
    ) -> None:
        self.model = model
        self.max_models = max_models
        self.time_to_live = time_to_live
        self.now = 0
        self.models: dict[Any, Any] = {}
        self.last: dict[Any, int] = {}
        self.refused: list[int] = []
        self.note: dict[str, int] = {}  # of the last commit

    def expire(self, now: int) -> None:
        """Drop the models whose last sample is too long ago."""
        for key, last in list(self.last.items()):
            if self.time_to_live is not None and now - last > self.time_to_live:
                self.forget(key)

    def forget(self, key: Any) -> bool:
        self.last.pop(key, None)
        return self.models.pop(key, None) is not None

    def learn_one(self, key: Any, x: Row, y: Any, w: float = 1.0) -> None:
        self.now += 1
        self.expire(self.now)
        if key not in self.models:
            if len(self.models) == self.max_models:
                self.forget(min(self.last, key=lambda each: self.last[each]))
            self.models[key] = self.model.clone()
        self.last[key] = self.now
        try:
            self.models[key].learn_one(x, y, **({} if w == 1.0 else {"w": w}))
        except Exception:
            self.refused.append(self.now)

    def predict_one(self, key: Any, x: Row) -> Any:
        self.expire(self.now + 1)
        return self.models[key].predict_one(x) if key in self.models else None

    def predict_proba_one(self, key: Any, x: Row) -> Any:
        self.expire(self.now + 1)
        return self.models[key].predict_proba_one(x) if key in self.models else {}


class PooledKeyedModels:
    """The plain version of `KeyedModels` with a pooled model that keeps every key."""

    def __init__(self, model: Any, pooled: Any, regression: bool) -> None:
        self.model, self.pooled, self.regression = model, pooled.clone(), regression
        self.models: dict[Any, Any] = {}
        self.ages: dict[Any, int] = defaultdict(int)
        self.evidence: dict[Any, dict[str, float]] = {}  # posterior weights, by the key alone
        self.squares: dict[Any, float] = defaultdict(float)
        self.votes: dict[int, dict[str, float]] = {}  # by group of ages: sums of the posteriors
        self.errors: list[float] = []  # of all keys

    def age_group(self, key: Any) -> int:
        """0 for new keys, 1 for one sample, 2 for two or three, and so on."""
        return self.ages[key].bit_length()

    def ask(self, model: Any, x: Row) -> Any:
        return model.predict_one(x) if self.regression else model.predict_proba_one(x)

    def answers(self, key: Any, x: Row) -> dict[str, Any]:
        """The three answers; without the key's own model, the pooled one alone."""
        common = self.ask(self.pooled, x) if self.ages else None
        own = self.ask(self.models[key], x) if key in self.models else None
        if own is None:
            return {"pooled": common}
        return {"pooled": common, "half-way": self.between(common, own, 0.5), "own": own}

    def between(self, common: Any, own: Any, share: float) -> Any:
        if self.regression:
            return common + share * (own - common)
        return {
            label: (1.0 - share) * common.get(label, 0.0) + share * own.get(label, 0.0)
            for label in {**common, **own}
        }

    def predict(self, key: Any, x: Row) -> Any:
        """The number, or the probabilities."""
        answers = self.answers(key, x)
        if len(answers) == 1:
            return answers["pooled"]
        votes = self.votes.get(self.age_group(key), dict.fromkeys(ANSWERS, 1.0))
        weights = {name: votes[name] * self.evidence[key][name] for name in ANSWERS}
        share = (0.5 * weights["half-way"] + weights["own"]) / sum(weights.values())
        return self.between(answers["pooled"], answers["own"], share)

    def fits(self, key: Any, answers: dict[str, Any], y: Any) -> dict[str, float]:
        """How probable each answer held the target."""
        if not self.regression:
            labels = {*answers["half-way"], y}
            return {
                name: (1.0 - FLOOR) * answer.get(y, 0.0) + FLOOR / len(labels)
                for name, answer in answers.items()
            }
        common = sum(self.errors) / len(self.errors) if self.errors else 0.0
        scale = (self.squares[key] + PSEUDO * common) / (self.ages[key] + PSEUDO)
        if scale == 0.0:
            return dict.fromkeys(ANSWERS, 1.0)
        return {
            name: (1.0 + (y - answer) ** 2 / (DEGREES * scale)) ** (-(DEGREES + 1.0) / 2.0)
            for name, answer in answers.items()
        }

    def learn_one(self, key: Any, x: Row, y: Any) -> None:
        answers = self.answers(key, x)
        if len(answers) == 3:
            fits = self.fits(key, answers, y)
            if self.regression:
                error = (y - self.predict(key, x)) ** 2
                self.errors.append(error)
                self.squares[key] += error
            group = self.age_group(key)
            votes = self.votes.setdefault(group, dict.fromkeys(ANSWERS, 1.0))
            after = {name: self.evidence[key][name] * fits[name] for name in ANSWERS}
            posterior = {name: votes[name] * after[name] for name in ANSWERS}
            for name in ANSWERS:
                votes[name] += posterior[name] / sum(posterior.values())
                share = after[name] / sum(after.values())
                self.evidence[key][name] = (1.0 - SHARE) * share + SHARE / 3.0
        else:
            self.evidence[key] = dict.fromkeys(ANSWERS, 1.0 / 3.0)
            self.models[key] = self.model.clone()
        self.ages[key] += 1
        self.pooled.learn_one(x, y)
        self.models[key].learn_one(x, y)
