"""Other ways to predict with the trees of a dynamic tree model.

A model learns a stream with its defaults. Every few samples, each way predicts the next one from
the same trees, so that the columns differ in the prediction only:

    python -m examples.benchmarks.dynamic.extras classification [name ...]
    python -m examples.benchmarks.dynamic.extras regression [name ...]
    python -m examples.benchmarks.dynamic.extras whole [name ...]

`leaf` is the prediction of the learners. `prunings` averages over all prunings of each tree,
weighted by their posterior (context-tree weighting). `shrinkage` gives every node the prediction of
its parent as a prior worth one sample. For classes, `bayes` and `discriminant` put a classifier in
each leaf, fitted to its active samples: a Gaussian per class and feature with a variance per class
or with a common one; each is shrunk toward the whole window. Names such as `bayes+leaf` average the
two ways, weighted by how well each predicted so far. `whole` measures whole runs of the learner.

Streams are those of `common/streams.py`; `fraud`, `movingxor` and `friedman` are generated here.
The columns are the error in per cent and the mean log probability for classes, RMSE and mean log
density for numbers.
"""

from __future__ import annotations

import argparse
import math
import time
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import special

from examples.benchmarks.common import streams
from examples.benchmarks.dynamic.paper import drifting_friedman, moving_xor
from river_extra_trees import DynamicTreeClassifier, DynamicTreeRegressor
from tests.tools import particle_trees

Array = np.ndarray
CLASSIFICATION = [
    *("fraud", "movingxor", "elec", "spambase", "bank_marketing", "phishing", "magic"),
    *("pendigits", "forgetful_gradual", "occupancy"),
]
REGRESSION = [
    *("friedman", "bike_sharing_hourly", "cal_housing", "abalone", "power_plant_ccpp", "airfoil"),
    *("bank8FM", "wind"),
]


def fraud(n: int, seed: int = 0) -> Iterator[tuple[dict[str, float], int]]:
    """Ten features, one in ten positive, and a linear boundary that turns slowly."""
    rng = np.random.default_rng(seed)
    for t in range(n):
        x = rng.normal(size=10)
        angle = 2 * math.pi * t / n
        score = math.cos(angle) * x[0] + math.sin(angle) * x[1] + x[2] - x[3] + 0.5 * x[4]
        y = rng.random() < 1 / (1 + math.exp(-3 * (score - 2.5)))
        yield {f"x{j}": float(value) for j, value in enumerate(x)}, int(y)


# Reading the cloud

Node = dict[str, Any]


def trees_of(cloud: Any) -> list[tuple[list[Node], float]]:
    """Nodes in preorder and share of each distinct tree; `row` is what the next sample meets."""
    found = []
    for tree, n_particles in particle_trees.trees_of(cloud):
        nodes = {node["node"]: node for node in tree}
        for node in reversed(list(nodes.values())):  # children before parents
            if node["feature"] < 0:
                node["fade"] = node["decay"] ** (cloud.n_seen + 1 - node["time"])
                node["row"] = np.array(node["total"])
            else:
                node["left"], node["right"] = nodes[node["left"]], nodes[node["right"]]
        found.append((list(nodes.values()), n_particles / cloud.n_particles))
    return found


def path(nodes: list[Node], x: list[float]) -> list[Node]:
    """The nodes from the root to the leaf of x."""
    node = nodes[0]
    found = [node]
    while node["feature"] >= 0:
        value = x[node["feature"]]
        left = value == node["threshold"] if node["nominal"] else value <= node["threshold"]
        if math.isnan(value):
            left = node["missing_left"]
        node = node["left" if left else "right"]
        found.append(node)
    return found


def log_prior(cloud: Any, depth: int) -> tuple[float, float]:
    """Log probabilities that a node at this depth is split, and that it is not."""
    share = cloud.alpha * (1 + depth) ** -cloud.beta
    return math.log(share), math.log1p(-share)


def stop_chances(cloud: Any, nodes: list[Node]) -> None:
    """Set `stop`: the chance, given that the tree reaches a node, that it is pruned there."""
    for node in reversed(nodes):
        split, stop = log_prior(cloud, node["depth"])
        here = stop + node["evidence"]
        if node["feature"] < 0:
            node["mass"], node["stop"] = here, 1.0
        else:
            below = split + node["left"]["mass"] + node["right"]["mass"]
            node["mass"] = float(np.logaddexp(here, below))
            node["stop"] = math.exp(here - node["mass"])


def shares_along(nodes: list[Node]) -> list[float]:
    """Weight of each node of a path in the average over prunings."""
    left, shares = 1.0, []
    for node in nodes:
        shares.append(left * node["stop"])
        left *= 1.0 - node["stop"]
    return shares


# Classes


def add_up_counts(nodes: list[Node], n_classes: int) -> None:
    for node in reversed(nodes):
        if node["feature"] >= 0:
            node["row"] = node["left"]["row"] + node["right"]["row"]
        else:
            node["row"] = node["row"] * node["fade"]
        a = 1.0 / n_classes
        node["evidence"] = float(
            special.gammaln(node["row"][1:] + a).sum()
            - special.gammaln(node["row"][0] + 1.0)
            - n_classes * special.gammaln(a)
        )


def shares_of(node: Node, prior: Array) -> Array:
    return (node["row"][1:] + prior) / (node["row"][0] + prior.sum())


class Window:
    """The active samples as arrays, numeric features scaled, and what they say as a whole."""

    def __init__(self, cloud: Any, n_classes: int) -> None:
        schema = cloud.schema
        self.columns = [j for j in range(schema.n_columns) if schema.codes[j] is None]
        slots = cloud.pool.slots()
        self.place = {slot: i for i, slot in enumerate(slots)}
        points = [cloud.pool.point(slot) for slot in slots]
        X = np.array([[point[0][j] for j in self.columns] for point in points])
        self.mean = np.nan_to_num(np.nanmean(X, axis=0))
        X = np.where(np.isnan(X), self.mean, X)
        self.sd = X.std(axis=0) + 1e-9
        self.X = (X - self.mean) / self.sd
        self.y = np.array([int(point[1][0]) for point in points])
        self.age = np.array([cloud.n_seen + 1 - point[3] for point in points])
        self.n_classes = n_classes
        q = len(self.columns)
        self.centre = np.zeros((n_classes, q))
        for k in set(self.y):
            inside = self.X[self.y == k]
            self.centre[k] = inside.sum(axis=0) / (len(inside) + 1.0)
        rest = self.X - self.centre[self.y]
        self.spread = (rest**2).mean(axis=0) + 1e-3
        self.scatter = rest.T @ rest / len(rest) + 1e-3 * np.eye(q)

    def scaled(self, x: list[float]) -> Array:
        """The numeric features of x in the scale of the window."""
        row = np.array([x[j] for j in self.columns])
        return (np.where(np.isnan(row), self.mean, row) - self.mean) / self.sd


def gaussian(window: Window, leaf: Node, x: Array, common: bool) -> Array:
    """Class-conditional normals: a full common covariance, or a variance per class and feature."""
    places = [window.place[slot] for slot in leaf["slots"]]
    X, y, w = window.X[places], window.y[places], leaf["decay"] ** window.age[places]
    q = len(x)
    logs = np.log(shares_of(leaf, np.full(window.n_classes, 1.0 / window.n_classes)))
    means, rests, masses = [], [], []
    for k in range(window.n_classes):
        inside = y == k
        mass = w[inside].sum()
        mean = (w[inside] @ X[inside] + window.centre[k]) / (mass + 1.0)
        means.append(mean)
        rests.append((X[inside] - mean, w[inside]))
        masses.append(mass)
    if common:
        scatter = window.scatter * (q + 2.0)
        for rest, weights in rests:
            scatter = scatter + (rest * weights[:, None]).T @ rest
        scatter /= q + 2.0 + sum(masses)
        inverse = np.linalg.inv(scatter)
        logs = logs + [-0.5 * (x - mean) @ inverse @ (x - mean) for mean in means]
    else:
        for k, (rest, weights) in enumerate(rests):
            df = 2.0 + masses[k]
            scale2 = (2.0 * window.spread + weights @ rest**2) / df * (1 + 1 / (1 + masses[k]))
            z2 = (x - means[k]) ** 2 / scale2
            logs[k] += np.sum(
                special.gammaln((df + 1) / 2)
                - special.gammaln(df / 2)
                - 0.5 * np.log(df * scale2)
                - 0.5 * (df + 1) * np.log1p(z2 / df)
            )
    return special.softmax(logs)


CLASSIFIERS = {
    "bayes": lambda window, leaf, x: gaussian(window, leaf, x, common=False),
    "discriminant": lambda window, leaf, x: gaussian(window, leaf, x, common=True),
}


def class_answers(cloud: Any, x: list[float]) -> dict[str, Array]:
    """What each way says of x."""
    n_classes = len(cloud.labels)
    prior = np.full(n_classes, 1.0 / n_classes)
    window = Window(cloud, n_classes)
    row = window.scaled(x)
    answers: dict[str, Array] = defaultdict(lambda: np.zeros(n_classes))
    known: dict[int, dict[str, Array]] = {}
    for nodes, share in trees_of(cloud):
        add_up_counts(nodes, n_classes)
        stop_chances(cloud, nodes)
        passed = path(nodes, x)
        leaf = passed[-1]
        answers["leaf"] += share * shares_of(leaf, prior)
        for node, part in zip(passed, shares_along(passed), strict=True):
            answers["prunings"] += share * part * shares_of(node, prior)
        belief = prior
        for node in passed:
            belief = shares_of(node, belief)
        answers["shrinkage"] += share * belief
        if leaf["node"] not in known:
            known[leaf["node"]] = {
                name: way(window, leaf, row) for name, way in CLASSIFIERS.items()
            }
        for name, answer in known[leaf["node"]].items():
            answers[name] += share * answer
    return answers


def class_rows(name: str, n: int) -> list[tuple[dict[str, Any], Any]]:
    if name == "fraud":
        return list(fraud(n))
    if name == "movingxor":
        return list(moving_xor(n, 1, 0))
    return streams.load(name, "classification", n)


def run_classification(options: argparse.Namespace) -> None:
    for name in options.names or CLASSIFICATION:
        rows = class_rows(name, options.n)
        model = DynamicTreeClassifier(n_particles=options.particles, seed=1)
        errors, logs = defaultdict(list), defaultdict(list)
        memory: dict[str, float] = defaultdict(float)
        for i, (x, y) in enumerate(rows):
            if i >= 100 and i % options.every == 0:
                cloud = model._core
                labels = list(cloud.labels.labels)
                answers = class_answers(cloud, cloud.schema.row_of(x))
                for way in CLASSIFIERS:
                    odds = special.expit(np.clip(memory[way] - memory["leaf"], -50, 50))
                    answers[f"{way}+leaf"] = odds * answers[way] + (1 - odds) * answers["leaf"]
                for way, answer in answers.items():
                    right = answer[labels.index(y)] if y in labels else 1e-6
                    log = math.log(max(float(right), 1e-6))
                    errors[way].append(labels[int(np.argmax(answer))] != y)
                    logs[way].append(log)
                    memory[way] = 0.99 * memory[way] + log
            model.learn_one(x, y)
        report(name, errors, logs, lambda e: f"{100 * np.mean(e):7.2f}")


def run_whole(options: argparse.Namespace) -> None:
    """Whole runs of the learner."""
    for name in options.names or CLASSIFICATION:
        model = DynamicTreeClassifier(n_particles=options.particles, seed=1)
        errors, logs = [], []
        used = time.process_time()
        for i, (x, y) in enumerate(class_rows(name, options.n)):
            answer = model.predict_proba_one(x)
            if i >= 100:
                errors.append(max(answer, key=answer.__getitem__) != y)
                logs.append(math.log(max(answer.get(y, 0.0), 1e-6)))
            model.learn_one(x, y)
        used = (time.process_time() - used) / len(errors)
        print(
            f"{name:28} {100 * np.mean(errors):7.2f} {np.mean(logs):9.4f} "
            f"{model.n_leaves / options.particles:6.1f} leaves {1e3 * used:6.2f} ms per sample",
            flush=True,
        )


# Numbers


def merged(one: Array, other: Array, size: int) -> Array:
    """Statistics of both sets of samples; the layout is in `_core/dynamic/leaf_models.pxd`."""
    weight = one[0] + other[0]
    if weight <= 0:
        return one
    means, others = one[1 : 1 + size], other[1 : 1 + size]
    step = others - means
    i, j = np.tril_indices(size)
    cells = one[1 + size :] + other[1 + size :]
    cells = cells + one[0] * other[0] / weight * step[i] * step[j]
    return np.concatenate(([weight], means + other[0] / weight * step, cells))


def student(row: Array, prior: Array, df_offset: float, v: Array, size: int) -> tuple[Array, float]:
    """(mean, squared scale, degrees of freedom) at v, and the log evidence of a node."""
    whole = merged(row, prior, size)
    square = np.zeros((size, size))
    square[np.tril_indices(size)] = whole[1 + size :]
    square = square + np.tril(square, -1).T
    S, s = square[:-1, :-1], square[:-1, -1]
    beta = np.linalg.solve(S, s) if size > 1 else s
    sse = max(square[-1, -1] - beta @ s, 1e-13 * square[-1, -1])
    df = row[0] + df_offset
    d = v - whole[1:size]
    leverage = 1 / whole[0] + (d @ np.linalg.solve(S, d) if size > 1 else 0.0)
    determinant = math.log(whole[0]) + (np.linalg.slogdet(S)[1] if size > 1 else 0.0)
    evidence = (
        -0.5 * row[0] * math.log(2 * math.pi)
        - 0.5 * determinant
        - 0.5 * df * math.log(0.5 * sse)
        + special.gammaln(0.5 * df)
    )
    return np.array([whole[size] + beta @ d, sse / df * (1 + leverage), df]), float(evidence)


def number_answers(cloud: Any, x: list[float]) -> dict[str, list[tuple[float, Array]]]:
    """Weighted Student-t components of each way."""
    state = cloud.state()
    prior, df_offset, fill = state["prior"], state["df_offset"], state["fill"]
    size = len(fill) + 1
    numeric = [j for j in range(cloud.schema.n_columns) if cloud.schema.codes[j] is None]
    v = np.array([x[j] for j in numeric[: size - 1]])
    v = np.where(np.isnan(v), fill, v)
    nothing = student(np.zeros_like(prior), prior, df_offset, v, size)[1]
    answers: dict[str, list[tuple[float, Array]]] = defaultdict(list)
    known: dict[int, tuple[Array, float]] = {}
    for nodes, share in trees_of(cloud):
        for node in reversed(nodes):
            if node["feature"] >= 0:
                node["row"] = merged(node["left"]["row"], node["right"]["row"], size)
            else:
                node["row"][0] *= node["fade"]
                node["row"][1 + size :] *= node["fade"]
            if node["node"] not in known:
                known[node["node"]] = student(node["row"], prior, df_offset, v, size)
            node["student"], evidence = known[node["node"]]
            node["evidence"] = evidence - nothing
        stop_chances(cloud, nodes)
        passed = path(nodes, x)
        answers["leaf"].append((share, passed[-1]["student"]))
        for node, part in zip(passed, shares_along(passed), strict=True):
            answers["prunings"].append((share * part, node["student"]))
        belief = passed[0]["row"]
        for node in passed[1:]:
            scaled = belief.copy()
            factor = 1.0 / max(1.0, belief[0])
            scaled[0] *= factor
            scaled[1 + size :] *= factor
            belief = merged(node["row"], scaled, size)
        answers["shrinkage"].append((share, student(belief, prior, df_offset, v, size)[0]))
    return answers


def run_regression(options: argparse.Namespace) -> None:
    for name in options.names or REGRESSION:
        rows = (
            list(drifting_friedman(options.n, 0.1, 0))
            if name == "friedman"
            else streams.load(name, "regression", options.n)
        )
        for leaf in ("constant", "linear"):
            model = DynamicTreeRegressor(n_particles=options.particles, leaf=leaf, seed=1)
            errors, logs = defaultdict(list), defaultdict(list)
            for i, (x, y) in enumerate(rows):
                if i >= 100 and i % options.every == 0:
                    cloud = model._core
                    for way, parts in number_answers(cloud, cloud.schema.row_of(x)).items():
                        shares = np.array([share for share, _ in parts])
                        mean, scale2, df = np.array([part for _, part in parts]).T
                        mean = np.clip(mean, cloud.lowest, cloud.highest)
                        z2 = (y - mean) ** 2 / scale2
                        densities = (
                            special.gammaln((df + 1) / 2)
                            - special.gammaln(df / 2)
                            - 0.5 * np.log(math.pi * df * scale2)
                            - 0.5 * (df + 1) * np.log1p(z2 / df)
                        )
                        errors[way].append((shares @ mean - y) ** 2)
                        logs[way].append(special.logsumexp(densities, b=shares))
                model.learn_one(x, y)
            report(f"{name} {leaf}", errors, logs, lambda e: f"{math.sqrt(np.mean(e)):7.4g}")


def report(name: str, errors: dict[str, Any], logs: dict[str, Any], show: Any) -> None:
    for way in errors:
        print(f"{name:28} {way:20} {show(errors[way])} {np.mean(logs[way]):9.4f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    runs = {"classification": run_classification, "regression": run_regression}
    for name, run in {**runs, "whole": run_whole}.items():
        command = commands.add_parser(name)
        command.add_argument("names", nargs="*")
        command.add_argument("--n", type=int, default=4000)
        command.add_argument("--every", type=int, default=5)
        command.add_argument("--particles", type=int, default=50)
        command.set_defaults(run=run)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
