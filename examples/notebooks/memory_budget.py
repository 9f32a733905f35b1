# %% [markdown]
# # Choosing a learner under a memory budget
#
# Suppose that a model may use 400 kB of memory. This notebook finds the most accurate learner
# within that budget: it runs candidates and river's trees side by side, and compares accuracy and
# memory.

# %%
import matplotlib.pyplot as plt
from river import datasets, dummy, metrics, neighbors, tree

import river_extra_trees as ret
from river_extra_trees import plotting

BUDGET = 400_000  # bytes

# %% [markdown]
# Parameters limit the memory: the number of trees (`n_models`), of nodes (`max_nodes`), of samples
# (`window_size`, `window`, `max_retained`) or of particles (`n_particles`).

# %%
candidates = {
    "stream tree": ret.StreamDecisionTreeClassifier(seed=1),
    "extra trees, 3 trees": ret.ExtraTreesClassifier(
        n_models=3, window_sizes=(125, 500, 2000), seed=1
    ),
    "forgetful tree": ret.ForgetfulDecisionTreeClassifier(seed=1),
    "forgetful tree, 200 samples": ret.ForgetfulDecisionTreeClassifier(
        max_retained=200, seed=1
    ),
    "shrubs": ret.ShrubEnsembleClassifier(seed=1),
    "shrubs, window of 64": ret.ShrubEnsembleClassifier(
        window_size=64, n_models=8, seed=1
    ),
    "dynamic trees, 20 particles": ret.DynamicTreeClassifier(
        n_particles=20, window=100, seed=1
    ),
    "river HoeffdingTree": tree.HoeffdingTreeClassifier(),
    "river kNN, 100 samples": neighbors.KNNClassifier(
        engine=neighbors.LazySearch(window_size=100)
    ),
    "river NoChange": dummy.NoChangeClassifier(),
}
display = plotting.PrequentialDisplay.from_stream(
    candidates,
    datasets.ImageSegments(),
    metrics.Accuracy(),
    step=210,
    muted=[name for name in candidates if name.startswith("river")],
    live=True,
)

# %% [markdown]
# The final results, with the most accurate learner at the top. A bar that crosses the line is over
# budget.

# %%
curves = sorted(display.curves, key=lambda curve: curve.scores["Accuracy"][-1])
names = [curve.name for curve in curves]
colours = ["#8A8A8A" if name.startswith("river") else "#0072B2" for name in names]
figure, (left, right) = plt.subplots(
    1, 2, figsize=(9, 4), sharey=True, layout="constrained"
)
left.barh(names, [curve.scores["Accuracy"][-1] for curve in curves], color=colours)
left.set_xlabel("accuracy")
right.barh(names, [max(curve.memory) / 1000 for curve in curves], color=colours)
right.axvline(BUDGET / 1000, color="black", linestyle=":")
right.set_xscale("log")
right.xaxis.set_major_formatter("{x:,.0f}")
right.set_xlabel("largest memory, kB")
plt.show()

# %% [markdown]
# The winner within the budget:

# %%
fitting = [curve for curve in display.curves if max(curve.memory) <= BUDGET]
best = max(fitting, key=lambda curve: curve.scores["Accuracy"][-1])
print(
    f"{best.name}: accuracy {best.scores['Accuracy'][-1]:.3f} with at most "
    f"{max(best.memory) / 1000:,.0f} kB"
)
candidates[best.name]

# %% [markdown]
# This is only one short stream. Streams differ in complexity and in the speed of concept drift. Run
# the same cells on your own stream before you choose.
