# %% [markdown]
# # Demo
#
# This notebook shows the package on one stream: the accuracy of several learners, their adaptation
# to concept drift, prediction intervals, and explanations of a prediction. It needs no data and
# runs in less than a minute.
#
# The stream simulates a machine that casts parts of iron or brass. Each sample has four
# measurements. The label says whether the part is good. After 3,000 parts the machine gets a new
# mould, and the settings that produce bad parts change.

# %%
import math
import random

import matplotlib.pyplot as plt
from river import drift, metrics, tree, utils

import river_extra_trees as ret
from river_extra_trees import persistence, plotting


def parts(n=6000, seed=1):
    rng = random.Random(seed)
    for i in range(n):
        x = {
            "metal": rng.choice(["iron", "brass"]),
            "temperature": rng.uniform(600, 900),
            "pressure": rng.uniform(1, 5),
            "humidity": rng.uniform(20, 80),
        }
        hot = x["temperature"] > (700 if x["metal"] == "brass" else 820)
        if i < n // 2:
            label = "crack" if hot else "hole" if x["pressure"] < 2 else "good"
        else:
            label = "crack" if x["pressure"] > 3.5 else "hole" if hot else "good"
        if rng.random() < 0.05:  # a label in twenty is wrong
            label = rng.choice(["crack", "hole", "good"])
        yield x, label


# %% [markdown]
# ## Accuracy of several learners
#
# Each learner predicts the label of a part, and then learns the true label. The picture is updated
# while the stream runs. A triangle marks where the drift detector ADWIN detects a change in a
# learner's errors.

# %%
learners = {
    "extra trees": ret.ExtraTreesClassifier(seed=1),
    "forgetful forest": ret.ForgetfulRandomForestClassifier(seed=1),
    "shrubs": ret.ShrubEnsembleClassifier(seed=1),
    "river's Hoeffding tree": tree.HoeffdingTreeClassifier(),
}
race = plotting.PrequentialDisplay.from_stream(
    learners,
    parts(),
    utils.Rolling(metrics.Accuracy, window_size=300),
    detector=drift.ADWIN(),
    drifts=[3000],
    step=100,
    muted=["river's Hoeffding tree"],
    live=True,
)

# %% [markdown]
# ## Adaptation to concept drift
#
# The forgetful tree adapts the number of samples that it retains to its accuracy: the number grows
# while the concept is stable, and drops after the change. Extra trees are grown on windows of
# several sizes, and the forest learns a weight for each size.

# %%
forgetful = ret.ForgetfulDecisionTreeClassifier(seed=1)
forest = ret.ExtraTreesClassifier(seed=1)
records = []
for n_samples, (x, y) in enumerate(parts(), start=1):
    forgetful.learn_one(x, y)
    forest.learn_one(x, y)
    if n_samples % 100 == 0:
        remembered = {  # in the order of the first picture, so that colours mean the same
            "extra trees, on average": sum(
                min(size, n_samples) * weight
                for size, weight in forest.window_weights.items()
            ),
            "forgetful tree": forgetful.retained_sizes[0],
        }
        records += [
            {"learner": name, "items": n_samples, "samples remembered": n}
            for name, n in remembered.items()
        ]
display = plotting.PrequentialDisplay.from_records(records, drifts=[3000])
picture = display.plot()

# %% [markdown]
# ## Prediction intervals
#
# Dynamic trees predict a whole distribution. Here they learn the strength of a part from the
# temperature alone. The dark band should contain half of all parts, the light band nine out of ten.


# %%
def strengths(n=600, seed=1):
    rng = random.Random(seed)
    for _ in range(n):
        temperature = rng.uniform(600, 900)
        noise = 1 if temperature < 750 else 4
        strength = 50 + 10 * math.sin(temperature / 40) + rng.gauss(0, noise)
        yield {"temperature": temperature}, strength


model = ret.DynamicTreeRegressor(seed=1)
inside = metrics.Accuracy()
for n_samples, (x, y) in enumerate(strengths(), start=1):
    if n_samples > 100:
        low, high = model.predict_one(x, with_dist=True).interval(0.9)
        inside.update(True, low <= y <= high)
    model.learn_one(x, y)
temperatures = range(600, 901, 3)
found = [
    model.predict_one({"temperature": each}, with_dist=True)
    for each in temperatures
]
for level in (0.9, 0.5):
    low, high = zip(*(each.interval(level) for each in found), strict=True)
    plt.fill_between(temperatures, low, high, color="C0", alpha=0.3)
plt.plot(temperatures, [each.mean for each in found])
plt.plot(
    *zip(*((x["temperature"], y) for x, y in strengths()), strict=True),
    ".k",
    markersize=2,
    alpha=0.5,
)
plt.xlabel("temperature")
plt.ylabel("strength")
print(f"{inside.get():.0%} of the parts were inside the 90 % interval")

# %% [markdown]
# ## Explanations
#
# `explain_one` divides a prediction among the features: the bars lead from the base value to the
# log odds of the predicted label. [Explain predictions](explain.ipynb) shows more.

# %%
*_, (part, label) = parts()  # the last one
explanation = forest.explain_one(part)
print(explanation)
picture = plotting.ExplanationDisplay(explanation).plot()

# %% [markdown]
# A small tree can be drawn, and `debug_one` describes the path of the same part. This tree has been
# learned since the change.

# %%
small = ret.ForgetfulDecisionTreeClassifier(max_depth=2, seed=1)
for x, y in parts():
    small.learn_one(x, y)
picture = plotting.TreeDisplay.from_estimator(small).plot()
print(small.debug_one(part))

# %% [markdown]
# ## Saving
#
# A loaded model continues exactly as the saved one would.

# %%
stored = persistence.save_bytes(small)
loaded = persistence.load_bytes(stored)
print(
    f"{len(stored):,} bytes;",
    loaded.predict_proba_one(x) == small.predict_proba_one(x),
)

# %% [markdown]
# Next: [prediction intervals](dynamic_trees.ipynb) of dynamic trees, a choice under [a memory
# budget](memory_budget.ipynb), and [a year of logs](replay_a_year.ipynb) from a file.
