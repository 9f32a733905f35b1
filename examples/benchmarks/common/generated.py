"""Streams made by river's generators, most of them with drift, the same rows every time."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any

from river.datasets import synth

Rows = list[tuple[dict[str, Any], Any]]


def in_turn(generators: Iterable[Any], n: int) -> Rows:
    """Return equal parts of all generators, one after the other: abrupt drift."""
    generators = list(generators)
    parts = [generator.take(-(-n // len(generators))) for generator in generators]
    return list(itertools.chain(*parts))[:n]


def by_and_by(generators: Iterable[Any], n: int) -> Rows:
    """Return equal parts of all generators, each taking over during a twentieth of the rows."""
    first, *others = generators
    stream = first
    for i, following in enumerate(others, start=1):
        stream = synth.ConceptDriftStream(
            stream,
            following,
            seed=42,
            position=i * n // (len(others) + 1),
            width=max(1, n // 20),
        )
    return list(stream.take(n))


def sea_drift(n: int) -> Rows:
    """Four thresholds of the sum of two features, one after the other; a tenth is noise."""
    return in_turn((synth.SEA(variant=i, noise=0.1, seed=i) for i in range(4)), n)


def hyperplane(n: int) -> Rows:
    """A hyperplane that turns steadily; a twentieth is noise."""
    return list(
        synth.Hyperplane(seed=42, n_features=10, n_drift_features=10, mag_change=0.001).take(n)
    )


def sine_drift(n: int) -> Rows:
    """Four functions of two features, one after the other."""
    return in_turn((synth.Sine(classification_function=i, seed=42 + i) for i in range(4)), n)


def random_tree_drift(n: int) -> Rows:
    """Two random trees over numbers and names; the second takes over gradually."""
    trees = [
        synth.RandomTree(
            seed_tree=seed,
            seed_sample=seed,
            n_classes=4,
            n_num_features=5,
            n_cat_features=5,
            n_categories_per_feature=5,
        )
        for seed in (1, 2)
    ]
    drift = synth.ConceptDriftStream(*trees, seed=42, position=n // 2, width=n // 10)
    return list(drift.take(n))


def mv(n: int) -> Rows:
    """Numbers and names that depend on one another; no drift."""
    rows = synth.Mv(seed=42).take(n)
    # Names of one type, as river's encoder makes names of the numbers and the values of features.
    return [({f"x{key:02}": value for key, value in x.items()}, y) for x, y in rows]


def planes_drift(n: int) -> Rows:
    """Two planes, chosen by the first feature; halfway the signs of all features change."""
    rows = list(synth.Planes2D(seed=42).take(n))
    return [
        (x if i < n // 2 else {key: -value for key, value in x.items()}, y)
        for i, (x, y) in enumerate(rows)
    ]


def rbf(n: int, change_speed: float = 0.001) -> Rows:
    """Five classes around fifty moving centres."""
    return list(
        synth.RandomRBFDrift(
            seed_model=42,
            seed_sample=42,
            n_classes=5,
            n_features=10,
            n_centroids=50,
            change_speed=change_speed,
            n_drift_centroids=50,
        ).take(n)
    )


def rbf_moderate(n: int) -> Rows:
    """The same, ten times as slow."""
    return rbf(n, change_speed=0.0001)


def agrawals() -> list[Any]:
    """Return Agrawal's first four functions of a person's loan."""
    return [
        synth.Agrawal(classification_function=i, seed=42 + i, perturbation=0.05) for i in range(4)
    ]


def agrawal(n: int) -> Rows:
    """Four classification functions, one after the other."""
    return in_turn(agrawals(), n)


def agrawal_gradual(n: int) -> Rows:
    """Four classification functions, each taking over gradually."""
    return by_and_by(agrawals(), n)


def leds() -> list[Any]:
    """Return digits whose display changes places with more and more irrelevant features."""
    return [
        synth.LEDDrift(
            seed=42 + i, noise_percentage=0.1, irrelevant_features=True, n_drift_features=drifted
        )
        for i, drifted in enumerate((0, 3, 5, 7))
    ]


def led(n: int) -> Rows:
    """Digits whose display changes three times."""
    return in_turn(leds(), n)


def led_gradual(n: int) -> Rows:
    """Digits whose display changes three times, gradually."""
    return by_and_by(leds(), n)


MAKERS: dict[str, Callable[[int], Rows]] = {
    "sea_drift": sea_drift,
    "hyperplane": hyperplane,
    "sine_drift": sine_drift,
    "random_tree_drift": random_tree_drift,
    "mv": mv,
    "planes_drift": planes_drift,
    "rbf": rbf,
    "rbf_moderate": rbf_moderate,
    "agrawal": agrawal,
    "agrawal_gradual": agrawal_gradual,
    "led": led,
    "led_gradual": led_gradual,
}
