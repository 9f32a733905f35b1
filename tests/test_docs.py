"""The documentation builds without a warning, and needs nothing from elsewhere to be read."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

import river_extra_trees as ret

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.py"))
BROWSERS = ("chromium", "chromium-browser", "google-chrome")

pytestmark = pytest.mark.slow  # the pages are built


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
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
    """Every page is built; formulas are drawn by the browser itself."""
    assert len(pages) >= len(list((ROOT / "docs").rglob("*.md")))
    for path, page in pages.items():
        fetched = re.findall(
            r'<(?:script|img|link rel="stylesheet")[^>]*(?:src|href)="(http[^"]*)', page
        )
        assert fetched == [], path
    assert "<math" in pages["algorithms/shrub_ensembles.html"]


@pytest.mark.parametrize("name", ret.__all__)
def test_learner(pages: dict[str, str], name: str) -> None:
    """Each learner has a page, with its source, and a place in the navigation."""
    assert "Source code in" in pages[f"api/{name}.html"]
    assert f'href="api/{name}.html"' in pages["index.html"]


def test_links_within_pages(pages: dict[str, str]) -> None:
    """No link within a page is dead, those from and to footnotes among them."""
    for path, page in pages.items():
        ids = set(re.findall(r' id="([^"]*)"', page))
        targets = set(re.findall(r' href="#([^"]+)"', page))
        assert targets <= ids, path
        assert "[^" not in re.sub(r"<code.*?</code>", "", page, flags=re.DOTALL), path


def test_search_without_a_server(site: Path) -> None:
    """A browser that reads the pages from the disk finds words in them."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip("there is no Chromium")
    page = (site / "index.html").as_uri() + "?q=simplex"
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000"]
    done = subprocess.run(
        [browser, *options, "--dump-dom", page], capture_output=True, text=True, timeout=120
    )
    assert "matching document" in done.stdout
    assert "algorithms/shrub_ensembles.html" in done.stdout.partition("matching document")[2]


def test_every_page_is_in_the_navigation(pages: dict[str, str]) -> None:
    """A page that no other one leads to is never read."""
    navigation = re.findall(r'class="md-nav__link[^"]*"[^>]*href="([^"#]*)"', pages["404.html"])
    navigation += re.findall(r'href="([^"#]*)"[^>]*class="md-nav__link', pages["404.html"])
    for path in pages.keys() - {"404.html", "index.html"}:
        assert any(link.endswith(path) for link in navigation), path


@pytest.mark.parametrize("script", NOTEBOOKS, ids=lambda script: script.stem)
def test_notebook(pages: dict[str, str], script: Path) -> None:
    """Each notebook has a page, with its code and without links to files that are not there."""
    page = pages[f"notebooks/{script.stem}.html"]
    assert "river_extra_trees" in page
    assert ".ipynb" not in page


def test_results_of_notebooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page of a notebook that has run shows its pictures, described by the heading above."""
    monkeypatch.syspath_prepend(ROOT / "tools")
    import notebooks

    notebook = nbformat.v4.new_notebook()
    picture = nbformat.v4.new_output("display_data", {"image/png": "aGVsbG8="})
    cell = nbformat.v4.new_code_cell("draw()", outputs=[picture])
    notebook.cells = [nbformat.v4.new_markdown_cell("# A title\n\n[next](other.ipynb)"), cell]
    nbformat.write(notebook, tmp_path / "one.ipynb")
    text, pictures = notebooks.page_of(tmp_path / "one.py")
    assert "[next](other.md)" in text
    [(name, content)] = pictures.items()
    assert f"![A title]({name})" in text
    assert content == b"hello"


PATH = re.compile(r"`((?:docs|examples|river_extra_trees|tests|tools)/[\w./-]*)`")
MODULE = re.compile(r"python -m ((?:examples|tests)[\w.]*)")


def test_files_that_texts_name() -> None:
    """Texts name files and modules of the repository as they are called now."""
    texts = [
        *(ROOT / "README.md", ROOT / "CONTRIBUTING.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "examples").rglob("*.md"),
        *(ROOT / "examples").rglob("*.py"),
        *(ROOT / "river_extra_trees").rglob("*.py"),
    ]
    missing = []
    for text in texts:
        content = text.read_text(encoding="utf-8")
        named = [ROOT / path for path in PATH.findall(content)]
        for module in MODULE.findall(content):
            path = ROOT.joinpath(*module.split("."))
            named.append(path / "__main__.py" if path.is_dir() else path.with_suffix(".py"))
        missing += [(text.name, path) for path in named if not path.exists()]
    assert missing == []
