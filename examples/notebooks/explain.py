# %% [markdown]
# # Explain predictions
#
# A model in use changes with every sample, and so do its reasons. This notebook asks a forest why
# it predicts what it does: for one sample, for many, and along a stream whose rule changes.
#
# The stream simulates machines that are hired by the hour. The target is the wear of a machine
# after the hire, in hundredths of a millimetre. Load and speed cause wear together, and dust does
# on gravel alone. After 3,000 hires the machines get new bearings, and speed has no effect any
# more. The colour of a machine never has one.

# %%
import random

import matplotlib.pyplot as plt
import pandas as pd

import river_extra_trees as ret
from river_extra_trees import plotting


def hires(n=6000, seed=1):
    rng = random.Random(seed)
    for i in range(n):
        x = {
            "load": rng.uniform(0, 10),
            "speed": rng.uniform(0, 10),
            "dust": rng.uniform(0, 10),
            "ground": rng.choice(["asphalt", "gravel"]),
            "colour": rng.choice(["red", "blue"]),
        }
        wear = 20 + 3 * x["load"]
        if i < n // 2:
            wear += 0.4 * x["load"] * x["speed"]
        if x["ground"] == "gravel":
            wear += 2 * x["dust"]
        yield x, wear + rng.gauss(0, 2)


# %% [markdown]
# ## Why this prediction?
#
# `explain_one` divides the prediction among the features. The base value is the prediction if
# nothing is known about the machine. All contributions add up to the prediction.

# %%
stream = list(hires())
model = ret.ExtraTreesRegressor(seed=1)
for x, wear in stream[:3000]:
    model.learn_one(x, wear)

hire = {
    "load": 9.0,
    "speed": 9.0,
    "dust": 8.0,
    "ground": "asphalt",
    "colour": "red",
}
explanation = model.explain_one(hire)
print(explanation)

# %%
plotting.ExplanationDisplay(explanation).plot()
plt.show()

# %% [markdown]
# The hire was on asphalt, which spares the machine the wear by dust: the ground lowers the
# prediction. What load and speed cause together is divided between both.

# %%
assert abs(explanation.output - model.predict_one(hire)) < 1e-9

# %% [markdown]
# ## What does the model use?
#
# `explain_many` explains the rows of a data frame. The mean size of the contributions of a feature
# says how much the model uses it, in units of the target.

# %%
latest = pd.DataFrame([x for x, _ in stream[2800:3000]])
plotting.ExplanationDisplay(model.explain_many(latest)).plot()
plt.show()

# %% [markdown]
# ## What does it use along the stream?
#
# The same model goes on learning. Every 200 samples, the latest 50 are explained. The contributions
# of the speed vanish after the new bearings.

# %%
display = plotting.ContributionsDisplay(drifts=[3000])
model = ret.ExtraTreesRegressor(seed=1)
for i, (x, wear) in enumerate(stream, start=1):
    model.learn_one(x, wear)
    if i % 200 == 0:
        rows = pd.DataFrame([x for x, _ in stream[i - 50 : i]])
        display.update(i, model.explain_many(rows, method="path"))
display.plot()
plt.show()

# %% [markdown]
# `method="path"` takes less time than Shapley values, and is good enough for such a curve. The
# explanation of the same hire is now another one:

# %%
print(model.explain_one(hire))

# %% [markdown]
# ## Labels
#
# The explanation of a label is that of its log odds. Positive contributions make the label more
# probable, and those of two labels are each other's opposite.

# %%
classifier = ret.ExtraTreesClassifier(seed=1)
for x, wear in stream[:3000]:
    classifier.learn_one(x, "repair" if wear > 70 else "keep")
print(classifier.predict_proba_one(hire))
print(classifier.explain_one(hire, label="repair"))
