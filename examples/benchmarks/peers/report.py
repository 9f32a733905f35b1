"""The page on peers: all tables, and the pictures on it."""

from __future__ import annotations

import tomllib
from pathlib import Path

from examples.benchmarks.common import results, streams
from examples.benchmarks.common.tables import render
from examples.benchmarks.peers import drift, intervals
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
    lines += ["## On whole streams", texts["whole"].strip()]
    for task in DEFAULTS:
        verdict, own = whole(task, source / "peers.csv")
        lines += [verdict + ".", *(render(*table) for table in own)]
    lines += ["## Intervals", texts["intervals"].strip()]
    lines.append(render(*intervals.table(source / "intervals.csv")))
    lines += ["## After an abrupt drift", texts["drift"].strip()]
    lines.append(render(*drift.table(source / "drift.csv")))
    drift.draw(source / "drift.csv", folder / "peers_drift.png")
    lines.append("![Accuracy around abrupt drifts](peers_drift.png)")
    lines += ["## What each parameter brings", texts["ablation"].strip()]
    lines += [render(*ablation.table(source / "ablation.csv", task)) for task in DEFAULTS]
    path = folder / "peers.md"
    path.write_text("\n\n".join(lines) + "\n")
    return path


def compared(task: Task, source: Path, folder: Path, texts: dict[str, dict[str, str]]) -> list[str]:
    """Return the lines about a task."""
    found = Standings(task, results.read(source), streams.UNSEEN[task])
    lines = [f"## {task.capitalize()}", found.verdict() + ".", render(*found.summary())]
    drawings = {
        "ranks": (draw_ranks, "Mean ranks and their critical difference"),
        "speed": (draw_speed, "Mean rank and speed"),
    }
    for what, (draw, shown) in drawings.items():
        name = f"peers_{task}_{what}.png"
        draw(found, folder / name)
        lines.append(f"![{shown}, {task}]({name})")
    lines += [
        f"`{DEFAULTS[task]}` compared with each peer: the number of streams on which it is better "
        "and worse, and p of Wilcoxon's signed-rank test with Holm's correction:"
    ]
    lines.append(render(*found.against()))
    measure = " (in mean absolute error, 1 %)" if task == "regression" else ""
    lines.append(f"Streams on which a peer is ahead of it by more than {AHEAD}{measure}:")
    heads = ["stream", "score", "ours", "best peer", "its score", "reason"]
    reasons = texts["reasons"]
    cells = []
    for stream, name, own, peer, other in found.losses():
        why = reasons.get(f"{stream}, {name}", reasons.get(stream, "-"))
        scores = f"{float(own[name]):.4g}", f"{float(other[name]):.4g}"
        cells.append([stream, name, scores[0], peer, scores[1], why])
    lines.append(render(heads, cells))
    lines.append(f"{RANKED[task][0].capitalize()} of our default and of the best peer by stream:")
    lines.append(render(*found.by_stream()))
    return lines


def whole(task: Task, source: Path) -> tuple[str, list[Table]]:
    """Return the verdict and the tables on whole streams, of the learners that were over all."""
    own = [result for result in results.read(source) if result["task"] == task]
    length = {
        stream: max(int(r["rows"]) for r in own if r["stream"] == stream)
        for stream in streams.UNSEEN[task]
    }
    ended = {
        (r["learner"], r["stream"])
        for r in own
        if r["stream"] in length and (r["error"] or int(r["rows"]) == length[r["stream"]])
    }
    over_all = {
        learner for learner, _ in ended if all((learner, stream) in ended for stream in length)
    }
    kept = [result for result in own if result["learner"] in over_all]
    found = Standings(task, kept, streams.UNSEEN[task])
    return found.verdict(), [found.summary(), found.by_stream()]
