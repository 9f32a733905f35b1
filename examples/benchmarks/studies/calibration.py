"""Simulation-based calibration of the dynamic trees: whether their posteriors are right.

Trees and streams are drawn from the model. A dynamic tree model learns each stream, and the rank of
the drawn tree among the model's trees is noted for four quantities: the mean and the variance of
the leaf at one place, the number of leaves, and the log likelihood. If the formulas are right, the
ranks are uniform (chi-square test):

    python -m examples.benchmarks.studies.calibration --replications 10000
    python -m examples.benchmarks.studies.calibration linear --replications 1000

The exit code is the number of problems with a p-value below 1e-6. As a control, streams come from
models with one mistake each. The replications then end as soon as a p-value falls below 1e-6, and
the exit code is the number of mistakes that were not noticed:

    python -m examples.benchmarks.studies.calibration --wrong --replications 10000

Whether the evidence is estimated without bias: its mean over many runs, divided by the exact
evidence of streams so small that every tree can be listed.

    python -m examples.benchmarks.studies.calibration --evidence --replications 5000

The simulation is the naive one of the tests, so that it shares no code with the core.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np

from tests.naive import dynamic_problems
from tests.naive.dynamic_calibration import (
    PROBLEMS,
    QUANTITIES,
    SMALLEST_P,
    p_values,
    ranks,
    replications_to_notice,
    wrong_models,
)
from tests.naive.dynamic_enumeration import law_of
from tests.naive.dynamic_filters import filter_of, learn_stream, open_constant


def print_evidence(replications: int) -> None:
    print(f"{'problem':14}{'particles':>10}{'mean / exact':>14}{'error':>9}")
    for name, model in dynamic_problems.PROBLEMS.items():
        exact, _ = law_of(open_constant(model))
        for n_particles in (1, 5, 50):
            runs = (filter_of(model, n_particles, seed) for seed in range(replications))
            ratios = np.array([learn_stream(model, run) / exact for run in runs])
            error = ratios.std(ddof=1) / replications**0.5
            print(f"{name:14}{n_particles:10}{ratios.mean():14.4f}{error:9.4f}", flush=True)


def calibrate(name: str, replications: int) -> bool:
    """Print the p-values of a problem; tell whether its ranks may be uniform."""
    problem, started = PROBLEMS[name], time.process_time()
    found = list(ranks(problem, problem.model(), replications))
    values = p_values(found, problem.n_asked).values()
    printed = "".join(f"{p:20.2g}" for p in values)
    print(f"{name:14}{printed} {time.process_time() - started:7.0f}", flush=True)
    return min(values) >= SMALLEST_P


def count_unnoticed(name: str, replications: int) -> int:
    """Print after how many replications each mistake is noticed; count those that never are."""
    problem, unnoticed = PROBLEMS[name], 0
    for wrong, model in wrong_models(problem).items():
        started = time.process_time()
        n = replications_to_notice(problem, model, replications)
        unnoticed += n is None
        printed = "never" if n is None else f"{n:,}"
        used = time.process_time() - started
        print(f"{name:14}{wrong:22}{printed:>14} {used:7.0f}", flush=True)
    return unnoticed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", choices=[[], *PROBLEMS], help="default: all")
    parser.add_argument("--replications", type=int, default=1000)
    parser.add_argument("--wrong", action="store_true", help="draw from models with one mistake")
    parser.add_argument("--evidence", action="store_true", help="bias of the evidence instead")
    options = parser.parse_args()
    names = options.names or list(PROBLEMS)
    if options.evidence:
        print_evidence(options.replications)
        return 0
    if options.wrong:
        print(f"{'problem':14}{'mistake':22}{'noticed after':>14}   CPU s")
        return sum(count_unnoticed(name, options.replications) for name in names)
    print(f"{'problem':14}" + "".join(f"{'p ' + name:>20}" for name in QUANTITIES) + "   CPU s")
    return sum(not calibrate(name, options.replications) for name in names)


if __name__ == "__main__":
    sys.exit(main())
