"""What pytest leaves out of the whole repository."""

from __future__ import annotations

import sys

# It imports what only POSIX systems have.
collect_ignore = (
    ["river_extra_trees/persistence/writing_posix.py"] if sys.platform == "win32" else []
)
