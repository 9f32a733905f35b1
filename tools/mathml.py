"""A hook of mkdocs: formulas become MathML when the pages are built.

Browsers draw MathML by themselves, so that pages with formulas load no script and no font, and can
be read without a network.
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


def on_page_content(content: str, **_: Any) -> str:
    """Replace every formula of a page."""
    return FORMULA.sub(_mathml, content)


def _mathml(match: re.Match[str]) -> str:
    display = "inline" if match["tag"] == "span" else "block"
    latex = html.unescape(match["latex"]).strip()
    mathml: str = converter.convert(latex, display=display)
    return f'<{match["tag"]} class="arithmatex">{mathml}</{match["tag"]}>'
