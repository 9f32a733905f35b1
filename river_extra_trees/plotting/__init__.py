"""Pictures of learners and of how they learn (extra `plot`).

Each picture is a display object in the style of scikit-learn: a class method `from_...` gathers
what is to be shown, `plot` draws it, with matplotlib, on new axes or on those it is given, and
leaves them in `ax_` (or `axes_`) and `figure_`.

- `PrequentialDisplay`: scores, drifts and memory of learners over a stream.
- `TreeDisplay`: one tree. `draw` of every learner makes the same with graphviz.
- `LeafMapDisplay`: the leaves of one tree in the plane of two features.
- `ImportancesDisplay`: what each feature contributes to the splits.
- `PredictiveBandDisplay`: a predictive distribution along one feature.
- `Live`: a figure that is drawn again and again while a stream runs.
"""

from __future__ import annotations

from .bands import PredictiveBandDisplay
from .importances import ImportancesDisplay
from .leaf_map import LeafMapDisplay
from .live import Live
from .prequential import PrequentialDisplay
from .tree import TreeDisplay

__all__ = [
    "ImportancesDisplay",
    "LeafMapDisplay",
    "Live",
    "PredictiveBandDisplay",
    "PrequentialDisplay",
    "TreeDisplay",
]
