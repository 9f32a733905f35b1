# %% [markdown]
# # Replay a year in a minute
#
# This notebook evaluates models on a year of logs, a row every half minute, in a Parquet file.
# Prequential evaluation shows what a model would have predicted if it had run all year: every row
# is predicted, scored and then learned. The file is read batch by batch, and the model reads the
# columns of each batch. The memory therefore does not grow with the length of the file.

# %%
import os
import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import psutil
import pyarrow as pa
from pyarrow import parquet
from river import metrics, utils

import river_extra_trees as ret
from river_extra_trees import evaluate, plotting, streams

ROWS = int(os.environ.get("REPLAY_ROWS", 1_000_000))
PATH = Path(tempfile.mkdtemp(), "year.parquet")

# %% [markdown]
# ## The year
#
# Six sensors monitor a machine, and the label says whether the machine is about to fail. The rule
# that determines the label rotates slowly through the year, like the seasons. From June to
# September it is a different rule, because a part was replaced. One label in twenty is wrong, so no
# model can reach more than 95 % accuracy.

# %%
rng = np.random.default_rng(1)
start = np.datetime64("2025-01-01", "ms")
step = 365 * 86_400_000 // ROWS


def month_of_logs(first, n):
    """A part of the year as a table."""
    share = np.arange(first, first + n) / ROWS
    sensors = rng.normal(size=(n, 6))
    angle = 2 * np.pi * share
    usual = np.cos(angle) * sensors[:, 0] + np.sin(angle) * sensors[:, 1]
    replaced = (share > 0.45) & (share < 0.7)
    fails = np.where(replaced, sensors[:, 2] - sensors[:, 3], usual) > 0
    return pa.table(
        {
            "when": start + np.arange(first, first + n) * step,
            **{f"sensor {i}": sensors[:, i] for i in range(6)},
            "fails": fails ^ (rng.random(n) < 0.05),
        }
    )


parts = 100
with parquet.ParquetWriter(PATH, month_of_logs(0, 1).schema) as writer:
    for part in range(parts):
        writer.write_table(month_of_logs(part * ROWS // parts, ROWS // parts))
print(f"{ROWS:,} rows, {PATH.stat().st_size / 2**20:,.0f} MiB")

# %% [markdown]
# ## The replay
#
# `open_table` reads batches, and `iter_progressive_val_score` yields the state after every step, so
# that the curves are updated during the replay. The accuracy is that of the latest rows. A stream
# tree keeps what it has learned; a forgetful tree forgets samples of old concepts. Extra trees, the
# default, learn which of several windows to rely on; they take most of the time.

# %%
figure, (upper, lower) = plt.subplots(
    2, 1, sharex=True, figsize=(8, 5), height_ratios=(3, 1)
)
upper.set_ylabel("accuracy,\nlatest rows")
upper.set_xlim(0, 365)
upper.set_ylim(0.45, 1)
lower.set_ylabel("memory of the\nprocess, MiB")
lower.set_xlabel("day of the year")
live = plotting.Live(figure)
process = psutil.Process()


def replay(model, colour):
    """Replay the year, and draw the curves while it goes by."""
    table = streams.open_table(PATH, target="fails", drop=["when"])
    accuracy = utils.Rolling(metrics.Accuracy, window_size=max(ROWS // 500, 100))
    (curve,) = upper.plot([], [], color=colour, label=type(model).__name__)
    (memory,) = lower.plot([], [], color=colour)
    upper.legend(loc="lower left")
    days, scores, sizes = [], [], []
    begin = time.process_time()
    for state in evaluate.iter_progressive_val_score(
        table, model, accuracy, step=ROWS // 250
    ):
        days.append(365 * state["Step"] / ROWS)
        scores.append(accuracy.get())
        sizes.append(process.memory_info().rss / 2**20)
        if live.due or state["Step"] == ROWS:
            curve.set_data(days, scores)
            memory.set_data(days, sizes)
            lower.set_ylim(0, 1.3 * max(sizes))
            live.show()
    return time.process_time() - begin, sizes


results = {
    name: replay(getattr(ret, name)(seed=1), colour)
    for name, colour in (
        ("ExtraTreesClassifier", "#0072B2"),
        ("ForgetfulDecisionTreeClassifier", "#D55E00"),
        ("StreamDecisionTreeClassifier", "#009E73"),
    )
}

# %% [markdown]
# ## Time and memory
#
# Seconds of the processor, which other programs on the machine hardly change.

# %%
for name, (seconds, sizes) in results.items():
    grown = max(0.0, sizes[-1] - sizes[len(sizes) // 10])
    print(
        f"{name}: {seconds:.0f} s, {ROWS / seconds:,.0f} rows per second; "
        f"memory grew by {grown:.0f} MiB after the first tenth of the year"
    )

# %% [markdown]
# Any river model can be evaluated in this way; it gets the rows one by one. The result is
# bit-identical to that of `river.evaluate.progressive_val_score` on the same rows.

# %%
first = streams.open_table(PATH, target="fails", drop=["when"], batch_size=1000)
evaluate.progressive_val_score(
    (batch for batch, _ in zip(first, range(5), strict=False)),
    ret.StreamDecisionTreeClassifier(seed=1),
    metrics.Accuracy() + metrics.ROCAUC(),
)

# %%
PATH.unlink()
PATH.parent.rmdir()
