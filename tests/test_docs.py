"""The documentation builds without a warning, and needs nothing from elsewhere to be read."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import river_extra_trees as ret
from tests.tools.made import is_made

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.slow  # the pages are built


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = ROOT / "build" / "docs"
    sources = [ROOT / "mkdocs.yml", *(ROOT / "docs").rglob("*.*"), *(ROOT / "tools").glob("*.py")]
    if is_made(made / "index.html", sources):
        return made
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, str]:
    return {
        path.relative_to(site).as_posix(): path.read_text(encoding="utf-8")
        for path in site.rglob("*.html")
    }


def test_pages(pages: dict[str, str]) -> None:
    """Every page is built, and needs nothing from elsewhere; no link within a page is dead."""
    assert len(pages) >= len(list((ROOT / "docs").rglob("*.md")))
    for path, page in pages.items():
        fetched = re.findall(
            r'<(?:script|img|link rel="stylesheet")[^>]*(?:src|href)="(http[^"]*)', page
        )
        assert fetched == [], path
        ids = set(re.findall(r' id="([^"]*)"', page))
        assert set(re.findall(r' href="#([^"]+)"', page)) <= ids, path
        assert "[^" not in re.sub(r"<code.*?</code>", "", page, flags=re.DOTALL), path
    assert "<math" in pages["algorithms/shrub_ensembles.html"]
    with_methods = [name for name in ret.__all__ if name != "Alarm"]
    assert all("Source code in" in pages[f"api/{name}.html"] for name in with_methods)
    assert "Number of samples that had been watched" in pages["api/Alarm.html"]


def test_every_page_is_in_the_navigation(pages: dict[str, str]) -> None:
    """A page that no other one leads to is never read."""
    navigation = re.findall(r'class="md-nav__link[^"]*"[^>]*href="([^"#]*)"', pages["404.html"])
    navigation += re.findall(r'href="([^"#]*)"[^>]*class="md-nav__link', pages["404.html"])
    for path in pages.keys() - {"404.html", "index.html"}:
        assert any(link.endswith(path) for link in navigation), path
