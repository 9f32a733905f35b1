# ---
# jupyter:
#   jupytext:
#     formats: py:percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # The first five minutes
#
# This notebook shows the learners in use: alone, in pipelines and ensembles, and with a drift
# detector. Every learner of this package is a river classifier or regressor. It predicts and learns
# one sample at a time, and works wherever river's own learners work. The data sets of this notebook
# come with river, so it needs no download.

# %%
from river import compose, datasets, drift, ensemble, evaluate, metrics, tree, utils
from river.datasets import synth

import river_extra_trees as ret
from river_extra_trees import plotting

# %% [markdown]
# ## One sample at a time
#
# A sample consists of a dict of features and a target. Features may be numbers, booleans and
# strings, and values may be missing. The learner predicts from the first sample on.

# %%
model = ret.ExtraTreesClassifier(seed=1)
metric = metrics.Accuracy()
for x, y in datasets.ImageSegments():
    metric.update(y, model.predict_one(x))
    model.learn_one(x, y)
print(metric)
model

# %% [markdown]
# ## Compare learners
#
# Prequential evaluation predicts each sample, scores the prediction, and then learns the sample.
# `PrequentialDisplay` does this with several learners, and draws their scores and their memory
# while the stream runs.

# %%
learners = [
    ret.ExtraTreesClassifier(seed=1),
    ret.ShrubEnsembleClassifier(seed=1),
    ret.ForgetfulDecisionTreeClassifier(seed=1),
    tree.HoeffdingTreeClassifier(),
]
race = plotting.PrequentialDisplay.from_stream(
    learners,
    datasets.ImageSegments(),
    metrics.Accuracy(),
    step=50,
    muted=["HoeffdingTreeClassifier"],
    live=True,
)

# %% [markdown]
# ## In a pipeline
#
# Trees need no scaling and no encoding, but a pipeline can select or derive features.


# %%
def with_weekend(x):
    return {**x, "weekend": x["ordinal_date"] % 7 in (5, 6)}


pipeline = compose.Pipeline(
    compose.FuncTransformer(with_weekend),
    compose.Discard("gallup"),
    ret.DynamicTreeRegressor(seed=1),
)
evaluate.progressive_val_score(datasets.TrumpApproval(), pipeline, metrics.MAE())

# %% [markdown]
# ## In an ensemble
#
# A single tree can be the base learner of any of river's ensembles.

# %%
bagging = ensemble.BaggingClassifier(
    ret.StreamDecisionTreeClassifier(max_features="sqrt", seed=1),
    n_models=5,
    seed=1,
)
evaluate.progressive_val_score(
    datasets.ImageSegments(), bagging, metrics.Accuracy()
)

# %% [markdown]
# ## With a drift detector
#
# In this stream the concept changes twice. Triangles mark where ADWIN detects a change in the
# errors of a learner. The first tree forgets nothing. River's `DriftRetrainingClassifier` replaces
# a copy of it by a new tree after a drift. The forgetful tree adapts without a detector.


# %%
def three_concepts():
    for concept in (0, 1, 2):
        yield from synth.Sine(classification_function=concept, seed=concept).take(
            1500
        )


keeps_all = ret.StreamDecisionTreeClassifier(leaf_memory=None, seed=1)
learners = {
    "stream tree that keeps all": keeps_all,
    "stream tree retrained after a drift": drift.DriftRetrainingClassifier(
        keeps_all.clone(), drift_detector=drift.binary.DDM()
    ),
    "forgetful tree": ret.ForgetfulDecisionTreeClassifier(seed=1),
}
display = plotting.PrequentialDisplay.from_stream(
    learners,
    three_concepts(),
    utils.Rolling(metrics.Accuracy, window_size=300),
    detector=drift.ADWIN(),
    drifts=[1500, 3000],
    step=50,
    live=True,
)

# %% [markdown]
# ## Inspect a model
#
# A tree can be drawn, and `debug_one` explains a prediction in words.

# %%
model = ret.ForgetfulDecisionTreeClassifier(max_depth=4, seed=1)
samples = [
    ({"x₁": x["1"], "x₂": x["2"]}, y) for x, y in datasets.Bananas().take(2000)
]
for x, y in samples:
    model.learn_one(x, y)
picture = model.draw()
print(model.debug_one(samples[0][0]))

# %% [markdown]
# The leaves are rectangles in the plane of the two features.

# %%
picture = plotting.LeafMapDisplay.from_estimator(model, samples[-300:]).plot()

# %% [markdown]
# The feature importances of a forest adapt to the stream.

# %%
forest = ret.ForgetfulRandomForestClassifier(seed=1)
for x, y in datasets.Phishing():
    forest.learn_one(x, y)
picture = plotting.ImportancesDisplay.from_estimator(forest).plot()

# %% [markdown]
# Next: [dynamic trees](dynamic_trees.ipynb) and their prediction intervals; [drift and
# forgetting](drift_and_forgetting.ipynb); and how to [choose a learner under a memory
# budget](memory_budget.ipynb).
