"""The documentation builds without a warning, and needs nothing from elsewhere to be read."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
def test_pages(tmp_path: Path) -> None:
    """Every page is built; formulas are drawn by the browser itself."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    pages = {path: path.read_text(encoding="utf-8") for path in tmp_path.rglob("*.html")}
    assert len(pages) >= len(list((ROOT / "docs").rglob("*.md")))
    for path, page in pages.items():
        fetched = re.findall(
            r'<(?:script|img|link rel="stylesheet")[^>]*(?:src|href)="(http[^"]*)', page
        )
        assert fetched == [], path
    assert "<math" in pages[tmp_path / "algorithms" / "shrub_ensembles.html"]
    assert "min_samples_leaf" in pages[tmp_path / "api" / "DynamicTreeRegressor.html"]
