"""Products of `make` that are up to date, so that a test need not make them again."""

from collections.abc import Iterable
from pathlib import Path

from .pages import ROOT

CODE = ROOT / "river_extra_trees"


def is_made(product: Path, sources: Iterable[Path]) -> bool:
    """Whether a file is there, and newer than its sources and the code of the package."""
    if not product.exists():
        return False
    code = (path for kind in ("py", "pyx", "pxd") for path in CODE.rglob(f"*.{kind}"))
    made = product.stat().st_mtime
    return all(path.stat().st_mtime < made for path in (*code, *sources))
