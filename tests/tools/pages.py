"""The pages of the documentation, and the blocks of code in them."""

import re
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / "README.md", ROOT / "CONTRIBUTING.md"),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").rglob("*.md")),
]
BLOCK = re.compile(
    r"^(?P<indent> *)```(?P<language>\w*)\n(?P<code>.*?)^(?P=indent)```$", re.M | re.S
)
INLINE = re.compile(r"(?<!`)`([^`]+)`(?!`)")


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def all_blocks(page: Path) -> list[tuple[str, str]]:
    """Every block of code of a page: language and code."""
    text = page.read_text(encoding="utf-8")
    return [(block["language"], textwrap.dedent(block["code"])) for block in BLOCK.finditer(text)]


def blocks(page: Path, language: str) -> list[str]:
    """The code of the blocks in one language."""
    return [code for found, code in all_blocks(page) if found == language]


def pages_with(language: str) -> list[Path]:
    return [page for page in PAGES if blocks(page, language)]


def inline_code(page: Path) -> list[str]:
    """What stands between single backticks."""
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    return [" ".join(code.split()) for code in INLINE.findall(text)]
