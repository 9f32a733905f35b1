"""Plots of learners and of their learning (extra `plot`).

Each plot is a display object, as in scikit-learn. A class method `from_...` collects the data.
`plot` draws them with matplotlib, on new or given axes, and stores the axes in `ax_` (or `axes_`)
and the figure in `figure_`.

- `PrequentialDisplay`: scores, drifts and memory of learners over a stream.
- `TreeDisplay`: one tree. The method `draw` of every learner makes this plot.
- `LeafMapDisplay`: the leaves of one tree in the plane of two features.
- `WindowWeightsDisplay`: the weights of the window sizes of extra trees over the stream.
- `ImportancesDisplay`: the importance of each feature for the splits.
- `ExplanationDisplay`: the contributions of the features to one prediction, or to several.
- `ContributionsDisplay`: the size of these contributions along the stream.
- `Live`: a figure that is updated while a stream runs.
"""

from __future__ import annotations

from importlib import util

if util.find_spec("matplotlib") is None:
    raise ImportError("this needs matplotlib (extra 'plot'): pip install matplotlib")

from .explanation import ContributionsDisplay, ExplanationDisplay
from .importances import ImportancesDisplay
from .leaf_map import LeafMapDisplay
from .live import Live
from .prequential import PrequentialDisplay
from .tree import TreeDisplay
from .window_weights import WindowWeightsDisplay

__all__ = [
    "ContributionsDisplay",
    "ExplanationDisplay",
    "ImportancesDisplay",
    "LeafMapDisplay",
    "Live",
    "PrequentialDisplay",
    "TreeDisplay",
    "WindowWeightsDisplay",
]
