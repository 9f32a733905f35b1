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
# # Drift and forgetting
#
# After a concept drift, old samples mislead. Both families in this notebook learn from the stream
# how much to forget.

# %%
import random

from river import metrics, utils
from river.datasets import synth

import river_extra_trees as ret
from river_extra_trees import plotting

# %% [markdown]
# ## The forgetful tree: how many samples to retain
#
# After each batch, CART regrows a forgetful tree on the retained samples. Their number grows while
# the accuracy stays high, and shrinks when it falls. Here the concept changes abruptly twice: the
# number of retained samples drops, and so does the height of the tree.


# %%
def three_concepts():
    for concept in (0, 2, 1):
        yield from synth.STAGGER(
            classification_function=concept, seed=concept
        ).take(2000)


model = ret.ForgetfulDecisionTreeClassifier(seed=1)
rolling = utils.Rolling(metrics.Accuracy, window_size=200)
records, live = [], plotting.Live()
for n_samples, (x, y) in enumerate(three_concepts(), start=1):
    rolling.update(y, model.predict_one(x))
    model.learn_one(x, y)
    if n_samples % 50 == 0:
        records.append(
            {
                "learner": "ForgetfulDecisionTreeClassifier",
                "items": n_samples,
                "Accuracy, last 200": rolling.get(),
                "samples retained": model.retained_sizes[0],
                "height": model.height,
            }
        )
        if live.due or n_samples == 6000:
            live.draw(
                plotting.PrequentialDisplay.from_records(
                    records, drifts=[2000, 4000]
                )
            )

# %% [markdown]
# ## Dynamic trees: which forgetting factor?
#
# A factor of 1 forgets nothing; 0.9 remembers about ten samples. With `"auto"`, every tree has one
# of several factors, and the evidence determines their probabilities. The error then follows the
# better of the fixed factors, and the most probable factor shows how fast the stream changes. In
# this stream, the target is a step function, then another one, then the first one again.


# %%
def there_and_back(n=500, seed=3):
    rng = random.Random(seed)
    for part in range(3):
        for _ in range(n):
            a, b = rng.random(), rng.random()
            first = 3.0 * (a > 0.5) + 2.0 * (b > 0.3)
            second = 4.0 - 3.0 * (a > 0.4) * (b > 0.5)
            yield (
                {"a": a, "b": b},
                (second if part == 1 else first) + rng.gauss(0.0, 0.3),
            )


models = {
    f"λ = {factor}": ret.DynamicTreeRegressor(
        n_particles=50,
        leaf="constant",
        window=100,
        forgetting_factor=factor,
        seed=1,
    )
    for factor in (1.0, 0.9, "auto")
}


def most_probable(factors):
    return max(factors, key=factors.get)


errors = {name: utils.Rolling(metrics.MAE, window_size=100) for name in models}
whole = {name: metrics.MAE() for name in models}
records, live = [], plotting.Live()
for n_samples, (x, y) in enumerate(there_and_back(), start=1):
    for name, model in models.items():
        y_pred = model.predict_one(x)
        errors[name].update(y, y_pred)
        whole[name].update(y, y_pred)
        model.learn_one(x, y)
        if n_samples % 25 == 0:
            records.append(
                {
                    "learner": name,
                    "items": n_samples,
                    "MAE, last 100": errors[name].get(),
                    "height of the highest tree": model.height,
                    "most probable forgetting factor": most_probable(
                        model.forgetting_factors
                    ),
                }
            )
    if n_samples % 25 == 0 and (live.due or n_samples == 1500):
        live.draw(
            plotting.PrequentialDisplay.from_records(records, drifts=[500, 1000])
        )

# %% [markdown]
# Mean absolute error over the whole stream:

# %%
for name, error in whole.items():
    print(f"{name:10} {error.get():.3f}")
