"""A hook of mkdocs: what formulas and docstrings need before they are a page.

Formulas become MathML. Browsers draw it by themselves, so that pages with formulas load no script
and no font, and can be read without a network.

Sections of a docstring are turned into HTML one by one, so that a footnote in one is not found from
another: the marks [^1] are made small numbers here.
"""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml import converter

# What the Markdown extension arithmatex makes of $...$ and $$...$$.
FORMULA = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\[(\[](?P<latex>.*?)\\[)\]]</(?P=tag)>', re.DOTALL
)
FOOTNOTE_MARK = re.compile(r"\[\^(\d+)\]")


def on_page_content(content: str, **_: Any) -> str:
    """Finish the HTML of a page."""
    return FOOTNOTE_MARK.sub(r"<sup>\1</sup>", FORMULA.sub(_mathml, content))


def _mathml(match: re.Match[str]) -> str:
    display = "inline" if match["tag"] == "span" else "block"
    latex = html.unescape(match["latex"]).strip()
    mathml: str = converter.convert(latex, display=display)
    return f'<{match["tag"]} class="arithmatex">{mathml}</{match["tag"]}>'
