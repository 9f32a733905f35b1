# %% [markdown]
# # Dynamic trees: prediction intervals
#
# A dynamic tree model consists of many Bayesian trees. For every sample, the trees are weighted by
# how well they predicted it. Then each tree stays as it is, grows, or is pruned. The prediction is
# a whole distribution.

# %%
import math
import random

import matplotlib.pyplot as plt
import numpy as np
from river import metrics

import river_extra_trees as ret
from river_extra_trees import plotting

# %% [markdown]
# ## Bands that follow a stream
#
# The target is a wave with noise. After 300 samples the wave is inverted. The trees have different
# forgetting factors (`forgetting_factor="auto"`, the default), and those that forget fast enough
# become the most probable. The bands widen when old samples mislead, and then become narrow again.


# %%
def wave(n, seed=7):
    rng = random.Random(seed)
    for i in range(n):
        x = rng.uniform(-3.0, 3.0)
        sign = 1.0 if i < 300 else -1.0
        yield {"x": x}, sign * 2.0 * math.sin(1.5 * x) + rng.gauss(0.0, 0.4)


model = ret.DynamicTreeRegressor(n_particles=100, window=120, seed=1)
figure, ax = plt.subplots(figsize=(7, 4))
live = plotting.Live(figure, seconds=0.4)


def draw_bands(ax, model, start, stop, levels=(0.9, 0.5)):
    xs = np.linspace(start, stop, 80)
    found = [model.predict_one({"x": x}, with_dist=True) for x in xs]
    for level in levels:
        low, high = zip(*(each.interval(level) for each in found), strict=True)
        ax.fill_between(
            xs, low, high, color="C0", alpha=0.3, label=f"{level:.0%} interval"
        )
    ax.plot(xs, [each.mean for each in found], label="predictive mean")
    ax.plot(
        *zip(*((x["x"], y) for x, y in model.active_samples()), strict=True), "k."
    )


def probable_factor(model):
    factors = model.forgetting_factors
    return max(factors, key=factors.get)


for n_samples, (x, y) in enumerate(wave(600), start=1):
    model.learn_one(x, y)
    if n_samples >= 20 and (live.due or n_samples == 600):
        factor = probable_factor(model)
        ax.clear()
        draw_bands(ax, model, -3, 3)
        ax.set_title(f"after {n_samples} samples, forgetting factor {factor:.3f}")
        ax.legend()
        live.show()

# %% [markdown]
# ## Coverage
#
# Of the targets that the model has not yet learned, 90 % should lie inside the 90 % interval. This
# cell counts them before the change and some time after it. After the change the bands are too wide
# rather than too narrow: the most probable trees remember some thirty samples (a factor of 0.967),
# and with so few samples a leaf is uncertain.

# %%
model = ret.DynamicTreeRegressor(n_particles=100, window=120, seed=1)
inside = {
    "samples 100 to 300": metrics.Accuracy(),
    "samples 450 to 600": metrics.Accuracy(),
}
for n_samples, (x, y) in enumerate(wave(600), start=1):
    for name, metric in inside.items():
        _, first, _, last = name.split()
        if int(first) <= n_samples <= int(last):
            low, high = model.predict_one(x, with_dist=True).interval(0.9)
            metric.update(True, low <= y <= high)
    model.learn_one(x, y)
for name, metric in inside.items():
    print(f"{name}: {metric.get():.0%} inside the 90 % interval")

# %% [markdown]
# ## Which samples to keep
#
# The window has 25 samples. With each new sample, one sample retires: the one that reduces the
# predictive variance least (`discard="alc"`). A retired sample remains in the prior of its leaf.
# This is the example of Figure 1 of Anagnostopoulos and Gramacy (2013): `y = x + x² + noise`,
# constant leaves. At first the active samples are spread evenly. Then they concentrate where the
# curve is steep and a constant fits worst: at both ends (`t = 75`), and later in the leaves of the
# slope on the right.


# %%
def parabola(n, seed=1):
    rng = random.Random(seed)
    for _ in range(n):
        x = rng.uniform(-3.0, 2.0)
        yield {"x": x}, x + x * x + rng.gauss(0.0, 1.0)


model = ret.DynamicTreeRegressor(
    n_particles=300,
    leaf="constant",
    window=25,
    discard="alc",
    forgetting_factor=1.0,
    seed=1,
)
figure, axes = plt.subplots(
    2, 2, figsize=(9, 6), sharex=True, sharey=True, layout="constrained"
)
panels = dict(zip((25, 75, 150, 300), axes.flat, strict=True))
for n_samples, (x, y) in enumerate(parabola(300), start=1):
    model.learn_one(x, y)
    if n_samples in panels:
        draw_bands(panels[n_samples], model, -3, 2, levels=(0.9,))
        panels[n_samples].set_title(f"t = {n_samples}")
plt.show()

# %% [markdown]
# ## Linear or constant leaves?
#
# The evidence of a model is the product of its predictive densities of all targets. The logarithm
# of the Bayes factor of two models is the difference of their values of `log_evidence`.

# %%
evidence = {}
for leaf in ("constant", "linear"):
    model = ret.DynamicTreeRegressor(leaf=leaf, seed=1)
    for x, y in parabola(300):
        model.learn_one(x, y)
    evidence[leaf] = model.log_evidence
    print(f"{leaf:8} leaves: log evidence {evidence[leaf]:.1f}")
