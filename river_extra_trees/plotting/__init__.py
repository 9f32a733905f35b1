"""Pictures of learners and of how they learn (extra `plot`).

Each picture is a display object in the style of scikit-learn. A class method `from_...` gathers the
data. `plot` draws them with matplotlib, on new axes or on given ones, and stores the axes in `ax_`
(or `axes_`) and `figure_`.

- `PrequentialDisplay`: scores, drifts and memory of learners over a stream.
- `TreeDisplay`: one tree. The method `draw` of every learner draws it, too.
- `LeafMapDisplay`: the leaves of one tree in the plane of two features.
- `MemoryWeightsDisplay`: how much each memory of a stream forest is worth, along the stream.
- `ImportancesDisplay`: how much each feature contributes to the splits.
- `PredictiveBandDisplay`: a predictive distribution along one feature.
- `Live`: a figure that is updated while a stream runs.
"""

from __future__ import annotations

from .bands import PredictiveBandDisplay
from .importances import ImportancesDisplay
from .leaf_map import LeafMapDisplay
from .live import Live
from .memory_weights import MemoryWeightsDisplay
from .prequential import PrequentialDisplay
from .tree import TreeDisplay

__all__ = [
    "ImportancesDisplay",
    "LeafMapDisplay",
    "Live",
    "MemoryWeightsDisplay",
    "PredictiveBandDisplay",
    "PrequentialDisplay",
    "TreeDisplay",
]
