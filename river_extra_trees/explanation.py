"""Why a model predicts what it does: contributions of the features to its predictions."""

from __future__ import annotations

import dataclasses
import operator
import typing
from collections.abc import Hashable

import numpy as np
import numpy.typing as npt

from ._core.safe_repr import brief, safe_repr
from ._estimator.extras import import_extra
from ._estimator.parameters import check_whole
from ._estimator.rows import objects

if typing.TYPE_CHECKING:
    from ._core.explain import Contributions

__all__ = ["Explanation"]

Array = npt.NDArray[typing.Any]

SHOWN, LONGEST = 10, 40  # features in a printed explanation; characters of a name, and of a value
LATE = ("base_value", "values", "data", "feature_names")


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """Contributions of the features to one prediction, or to one per row.

    The base value and the contributions add up to the output of the model: the predicted number, or
    the log odds of a label. `explain_one` and `explain_many` of a learner make explanations, and
    `print` shows them as a table. `explanation[row]` is that of one row, `explanation[:5]` that of
    some.

    Attributes
    ----------
    base_value
        The output if no feature is known; of several rows, an array (n).
    values
        Contribution of each feature, an array (features) in the order of `feature_names`; of
        several rows (n, features).
    data
        Value of each feature in the sample, in an array like `values`; `None` if it is missing.
    feature_names
        Names of the features that the model has learned.
    label
        The label whose log odds are explained; of several rows, one label for each. `None` in a
        regression.
    method
        The method of the contributions: "shapley" or "path".

    Examples
    --------
    >>> from river import datasets
    >>> import river_extra_trees as ret

    >>> model = ret.StreamDecisionTreeRegressor(batch_size=100, seed=1)
    >>> for x, y in datasets.TrumpApproval():
    ...     model.learn_one(x, y)
    >>> explanation = model.explain_one(x)
    >>> abs(explanation.output - model.predict_one(x)) < 1e-9
    True
    >>> explanation.largest(1)[0][0]
    'ordinal_date'
    """

    base_value: float | npt.NDArray[np.float64]
    values: npt.NDArray[np.float64]
    data: Array
    feature_names: tuple[Hashable, ...]
    label: typing.Any = None
    method: str = "shapley"

    @classmethod
    def of_sample(
        cls,
        found: Contributions,
        sample: dict[Hashable, typing.Any],
        method: str,
    ) -> typing.Self:
        """Return the explanation of one prediction, whose fields are made when they are read."""
        explanation = cls.__new__(cls)
        own = explanation.__dict__  # the fields are frozen
        own["_found"] = found
        own["_sample"] = sample
        own["method"] = method
        own["label"] = found.labels[0] if found.labels else None
        return explanation

    def __getattr__(self, name: str) -> typing.Any:
        """Make a field of the explanation of one prediction."""
        if name not in LATE or "_found" not in self.__dict__:
            raise AttributeError(f"an Explanation has no attribute {name!r}")
        found, sample = self.__dict__["_found"], self.__dict__["_sample"]
        bases, parts = found.arrays()
        names = found.features[0]
        made = {
            "base_value": bases.item(0),
            "values": by_feature(parts, found.features)[0],
            "data": objects([sample.get(each) for each in names]),
            "feature_names": names,
        }
        for field, value in made.items():
            self.__dict__.setdefault(field, value)  # another thread may read one, too
        return self.__dict__[name]

    def __reduce__(self) -> tuple[typing.Any, ...]:
        """Return the fields, which are made now."""
        fields = dataclasses.fields(self)
        return type(self), tuple(getattr(self, field.name) for field in fields)

    @property
    def output(self) -> typing.Any:
        """The output of the model, base value plus contributions; of several rows, an array."""
        total = self.base_value + self.values.sum(axis=-1)
        return float(total) if self.values.ndim == 1 else total

    def __len__(self) -> int:
        """Return the number of rows; an explanation of one prediction has none."""
        if self.values.ndim == 1:
            raise TypeError("this is the explanation of one prediction; it has no rows")
        return len(self.values)

    def __getitem__(self, row: int | slice) -> Explanation:
        """Return the explanation of one row, or of some."""
        n = len(self)
        if not isinstance(row, slice) and not -n <= (row := operator.index(row)) < n:
            raise IndexError(f"there is no row {row} among {n}")
        base = np.asarray(self.base_value)[row]
        return Explanation(
            base if isinstance(row, slice) else float(base),
            self.values[row],
            self.data[row],
            self.feature_names,
            None if self.label is None else self.label[row],
            self.method,
        )

    def __eq__(self, other: object) -> bool:
        """Return whether another explanation says the same, to the bit."""
        if not isinstance(other, Explanation):
            return NotImplemented
        pairs = zip(self.__reduce__()[1], other.__reduce__()[1], strict=True)
        return all(
            np.array_equal(one, two) if isinstance(one, np.ndarray) else one == two
            for one, two in pairs
        )

    __hash__ = None  # type: ignore[assignment]  # arrays have no hash

    def largest(self, n: int) -> list[tuple[Hashable, typing.Any, float]]:
        """Return the n largest contributions to one prediction.

        Parameters
        ----------
        n
            Number of features.

        Returns
        -------
        Name of the feature, its value in the sample, and contribution; equal ones in the order of
        `feature_names`.

        Raises
        ------
        ValueError
            If this is the explanation of several rows, or n is no number of features.
        """
        if self.values.ndim > 1:
            raise ValueError("choose a row of this explanation first: explanation[row]")
        check_whole("n", n, 0)
        order = np.argsort(-np.abs(self.values), kind="stable")[:n].tolist()
        return [(self.feature_names[i], self.data[i], float(self.values[i])) for i in order]

    def importances(self) -> dict[Hashable, float]:
        """Return the mean size of the contributions of each feature over the rows, largest first.

        It says what the model uses at present. Nothing in it says whether the predictions are good.
        """
        values = np.atleast_2d(self.values)
        sizes = np.abs(values).sum(axis=0) / max(1, len(values))
        order = np.argsort(-sizes, kind="stable").tolist()
        return {self.feature_names[i]: float(sizes[i]) for i in order}

    def __repr__(self) -> str:
        """Return a table, the largest contributions first."""
        if self.values.ndim > 1:
            means = list(self.importances().items())
            rows = [(brief(name, LONGEST), f"{size:.6g}") for name, size in means[:SHOWN]]
            rows = [("feature", "mean size of its contributions"), *rows]
            if len(means) > SHOWN:
                rows.append((f"{len(means) - SHOWN} other features", "no more each"))
            return aligned(rows)
        what = "prediction" if self.label is None else f"log odds of {brief(self.label, LONGEST)}"
        largest = self.largest(SHOWN)
        rows = [("without any feature", f"{self.base_value:+.6g}")]
        rows += [
            (f"{brief(name, LONGEST)} = {brief(value, LONGEST)}", f"{part:+.6g}")
            for name, value, part in largest
        ]
        if len(self.values) > SHOWN:
            rest = self.output - self.base_value - sum(part for *_, part in largest)
            rows.append((f"{len(self.values) - SHOWN} other features", f"{rest:+.6g}"))
        return aligned([*rows, (what, f"{self.output:+.6g}")])

    def to_shap(self) -> typing.Any:
        """Convert to `shap.Explanation`, for the plots of shap (needs shap).

        Returns
        -------
        A `shap.Explanation` for `shap.plots.waterfall`, `bar`, `beeswarm` and others.
        """
        shap = import_extra("shap", "shap")
        return shap.Explanation(
            values=self.values,
            base_values=self.base_value,
            data=as_numbers(self.data),
            feature_names=[safe_repr(name, str) for name in self.feature_names],
        )


def by_feature(
    parts: npt.NDArray[np.float64],
    features: tuple[tuple[Hashable, ...], tuple[list[int], list[int]] | None],
) -> npt.NDArray[np.float64]:
    """Add up the contributions of the columns of each feature.

    A feature with numbers and other values has two columns, and some columns are free.
    """
    names, places = features
    if places is None:
        return parts
    values = np.zeros((len(parts), len(names)))
    for column, place in zip(*places, strict=True):
        values[:, place] += parts[:, column]
    return values


def aligned(rows: list[tuple[str, str]]) -> str:
    """Write a table of two columns."""
    width = max(len(text) for text, _ in rows)
    return "\n".join(f"{text:<{width}}  {value}" for text, value in rows)


def as_numbers(data: Array) -> Array:
    """Return values as numbers, NaN where they are missing; unchanged if some are no numbers."""
    try:
        return np.array(data, dtype=np.float64)  # None becomes NaN
    except (TypeError, ValueError):
        return data
