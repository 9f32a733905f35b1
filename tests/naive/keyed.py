"""One model per key in a dict: who stays, who leaves, and what each has learned."""

from __future__ import annotations

from typing import Any

Row = dict[Any, Any]


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
