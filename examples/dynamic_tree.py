"""Dynamic trees: regression with predictive intervals.

Run it with `.venv/bin/python examples/dynamic_tree.py`.
"""

from __future__ import annotations

import statistics

from river import datasets, metrics

import river_extra_trees as ret


def main() -> None:
    for leaf in ("constant", "linear"):
        model = ret.DynamicTreeRegressor(leaf=leaf, seed=1)
        error, inside, widths = metrics.MAE(), metrics.Accuracy(), []
        for n, (x, y) in enumerate(datasets.TrumpApproval()):
            if n > 0:
                prediction = model.predict_one(x, with_dist=True)
                low, high = prediction.interval(0.9)
                error.update(y, prediction.mean)
                inside.update(True, low <= y <= high)
                widths.append(high - low)
            model.learn_one(x, y)
        print(f"{leaf} leaves: {error}, log evidence {model.log_evidence:.1f}")
        print(
            f"  {inside.get():.1%} of the targets are in their 90 % interval; "
            f"its median width is {statistics.median(widths):.2f}"
        )
        print(f"  the tallest of {model.n_particles} trees has height {model.height}")
        print(f"  prediction of the last target: {prediction!r}")


if __name__ == "__main__":
    main()
