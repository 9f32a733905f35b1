"""What several files of tests use."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A CSV file with numbers, names, missing values and a class."""
    path = tmp_path / "table.csv"
    rows = [f"{i % 7},{('red', 'blue')[i % 2]},{'' if i % 5 else i / 8},{i % 2}" for i in range(90)]
    path.write_text("\n".join(["number,name,gaps,class", *rows, ""]))
    return path
