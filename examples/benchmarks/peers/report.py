"""The page on peers: all tables, and the pictures on it."""

from __future__ import annotations

import tomllib
from pathlib import Path

from examples.benchmarks.common import results, streams
from examples.benchmarks.common.scores import NAMES
from examples.benchmarks.common.tables import render
from examples.benchmarks.peers import drift, intervals
from examples.benchmarks.peers.contenders import LIGHTGBM
from examples.benchmarks.peers.pictures import draw_ranks, draw_speed
from examples.benchmarks.peers.standings import AHEAD, DEFAULTS, RANKED, Standings, Table
from examples.benchmarks.stream import ablation
from river_extra_trees.cli.streams import Task

# Sentences about what the tables show; renewed by hand when the measurements are.
TEXTS = Path(__file__).with_name("texts.toml")


def write(source: Path, folder: Path) -> Path:
    """Write the page from the measurements in a folder."""
    texts = tomllib.loads(TEXTS.read_text())
    lines = [texts["introduction"].strip()]
    for task in DEFAULTS:
        lines += compared(task, source / "peers.csv", folder, texts)
    lines += ["## Beside LightGBM on longer streams", texts["long"].strip()]
    lines += [render(*longer(task, source / "peers.csv")) for task in DEFAULTS]
    lines += ["## Intervals", texts["intervals"].strip()]
    lines.append(render(*intervals.table(source / "intervals.csv")))
    lines += ["## After an abrupt drift", texts["drift"].strip()]
    lines.append(render(*drift.table(source / "drift.csv")))
    drift.draw(source / "drift.csv", folder / "peers_drift.png")
    lines.append("![Accuracy around abrupt drifts](peers_drift.png)")
    lines += ["## What each part brings", texts["ablation"].strip()]
    lines += [render(*ablation.table(source / "ablation.csv", task)) for task in DEFAULTS]
    path = folder / "peers.md"
    path.write_text("\n\n".join(lines) + "\n")
    return path


def compared(task: Task, source: Path, folder: Path, texts: dict[str, dict[str, str]]) -> list[str]:
    """Return the lines about a task."""
    found = Standings(task, results.read(source), streams.UNSEEN[task])
    lines = [f"## {task.capitalize()}", found.verdict() + ".", render(*found.summary())]
    for what, draw in (("ranks", draw_ranks), ("speed", draw_speed)):
        name = f"peers_{task}_{what}.png"
        draw(found, folder / name)
        lines.append(f"![Mean ranks, {task}: {what}]({name})")
    lines += [
        f"`{DEFAULTS[task]}` beside each peer: on how many streams it is better and on how "
        "many worse, and p of Wilcoxon's signed-rank test with Holm's correction:"
    ]
    lines.append(render(*found.against()))
    measure = " (of the mean absolute error 1 %)" if task == "regression" else ""
    lines.append(f"Streams on which a peer is ahead of it by more than {AHEAD}{measure}:")
    heads = ["stream", "score", "ours", "best peer", "its score", "why"]
    reasons = texts["reasons"]
    cells = []
    for stream, name, own, peer, other in found.losses():
        why = reasons.get(f"{stream}, {name}", reasons.get(stream, "-"))
        scores = f"{float(own[name]):.4g}", f"{float(other[name]):.4g}"
        cells.append([stream, name, scores[0], peer, scores[1], why])
    lines.append(render(heads, cells))
    for name in NAMES[task]:
        lines += [f"Every score, {name}, with the number of items:", render(*found.details(name))]
    return lines


def longer(task: Task, source: Path) -> Table:
    """Return the default and LightGBM on all rows that both have been over."""
    pair = DEFAULTS[task], LIGHTGBM
    own = [result for result in results.read(source) if result["learner"] in pair]
    found = Standings(task, own, streams.UNSEEN[task])
    names = [name for name in RANKED[task] if name != "kappa"]
    lines = []
    for stream in found.streams:
        known = [found.result(stream, learner) for learner in pair]
        cells = [f"{float(r[name]):.4g}" if r else "-" for name in names for r in known]
        lines.append([stream, f"{found.rows[stream]:,}", *cells])
    heads = [f"{name}, {who}" for name in names for who in ("ours", "LightGBM")]
    return ["stream", "items", *heads], lines
