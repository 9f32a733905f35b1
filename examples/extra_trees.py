"""Extra trees: trees on windows of several sizes, in a pipeline.

Run it with `.venv/bin/python examples/extra_trees.py`.
"""

from __future__ import annotations

import time

from river import compose, datasets, metrics

import river_extra_trees as ret


def main() -> None:
    forest = ret.ExtraTreesClassifier(seed=1)
    model = compose.Discard("region-pixel-count") | forest
    metric = metrics.Accuracy()
    start = time.process_time()
    for x, y in datasets.ImageSegments():
        metric.update(y, model.predict_one(x))
        model.learn_one(x, y)
    seconds = time.process_time() - start
    microseconds = 1e6 * seconds / forest.n_samples_seen
    print(f"{metric}, {microseconds:.0f} µs of CPU time per sample, including the pipeline")
    print("size:", forest.summary)
    shares = sorted(forest.feature_importances_.items(), key=lambda item: -item[1])
    print("weight of each window size:", {n: round(w, 2) for n, w in forest.window_weights.items()})
    print("most important features:", {name: round(share, 2) for name, share in shares[:3]})
    print("path of the last sample through the first tree:")
    print(forest.debug_one(x))


if __name__ == "__main__":
    main()
