"""A hook of mkdocs: what formulas and docstrings need before they are a page.

Formulas become MathML. Browsers draw it by themselves, so that pages with formulas load no script
and no font, and can be read without a network.

Sections of a docstring are turned into HTML one by one, so that a footnote in one is not found from
another: the marks [^1] are made small numbers here.

Pages that benchmarks write (`peers.md`, `papers.md`) are left out of the navigation where they have
not been written.
"""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

from latex2mathml import converter

# What the Markdown extension arithmatex makes of $...$ and $$...$$.
FORMULA = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\[(\[](?P<latex>.*?)\\[)\]]</(?P=tag)>', re.DOTALL
)
FOOTNOTE_MARK = re.compile(r"\[\^(\d+)\]")


def on_config(config: Any) -> Any:
    """Leave absent pages out of the navigation."""
    config.nav = _present(config.nav, Path(config.docs_dir))
    return config


def _present(entries: list[Any], folder: Path) -> list[Any]:
    kept: list[Any] = []
    for entry in entries:
        title, below = next(iter(entry.items())) if isinstance(entry, dict) else (None, entry)
        if isinstance(below, list):
            kept.append({title: _present(below, folder)})
        elif (folder / below).is_file():
            kept.append(entry)
    return kept


def on_page_content(content: str, **_: Any) -> str:
    """Finish the HTML of a page."""
    return FOOTNOTE_MARK.sub(r"<sup>\1</sup>", FORMULA.sub(_mathml, content))


def _mathml(match: re.Match[str]) -> str:
    display = "inline" if match["tag"] == "span" else "block"
    latex = html.unescape(match["latex"]).strip()
    mathml: str = converter.convert(latex, display=display)
    return f'<{match["tag"]} class="arithmatex">{mathml}</{match["tag"]}>'
