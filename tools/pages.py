"""A hook of mkdocs: makes generated pages, and turns formulas and footnotes into plain HTML.

Every public class has a page of its own, `api/NAME.md`, and a place in the navigation. Both are
made here from the names that the modules export. `commands.md` lists all commands and options of
the command line, as typer describes them.

Formulas become MathML. Browsers draw it without help, so a page loads no script and no font, and
can be read without a network.

mkdocstrings converts the sections of a docstring one by one, so the footnotes of one section are
unknown to the others. Marks such as [^1] are linked to their footnotes here.
"""

from __future__ import annotations

import html
import importlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from latex2mathml import converter
from mkdocs.structure.files import File

# Section of the navigation -> the module whose exported names get a page each.
API = {
    "Learners": "river_extra_trees",
    "Evaluation": "river_extra_trees.evaluate",
    "Tables": "river_extra_trees.streams",
    "Active learning": "river_extra_trees.active",
    "Displays": "river_extra_trees.plotting",
    "Models per key": "river_extra_trees.keyed",
    "Several machines": "river_extra_trees.distributed",
}

# What the Markdown extension arithmatex makes of $...$ and $$...$$.
FORMULA = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\[(\[](?P<latex>.*?)\\[)\]]</(?P=tag)>', re.DOTALL
)
FOOTNOTE_MARK = re.compile(r"\[\^(\d+)\]")
FOOTNOTE_RETURN = re.compile(r'(?:&#160;)?<a class="footnote-backref" href="#(?P<id>[^"]*)".*?</a>')


def on_config(config: Any) -> Any:
    """Add the API pages to the navigation, below the entry "API", and the version to each page."""
    config.copyright = f"river-extra-trees {_version()}"
    entries = next(entry["API"] for entry in config.nav if "API" in entry)
    for section, module in API.items():
        names = importlib.import_module(module).__all__
        entries.append({section: [f"api/{name}.md" for name in names]})
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the page of the commands, and the API pages."""
    files.append(File.generated(config, "commands.md", content=commands()))
    for module in API.values():
        for name in importlib.import_module(module).__all__:
            page = f"::: {module}.{name}\n"
            files.append(File.generated(config, f"api/{name}.md", content=page))
    return files


def commands() -> str:
    """Return the page of all commands and options."""
    program = [sys.executable, "-m", "typer", "river_extra_trees.cli.app", "utils", "docs"]
    names = ["--name", "river-extra-trees", "--title", "Commands and options"]
    return subprocess.run(
        [*program, *names], capture_output=True, text=True, encoding="utf-8", check=True
    ).stdout


def on_page_content(content: str, **_: Any) -> str:
    """Finish the HTML of a page."""
    return _link_footnotes(FORMULA.sub(_mathml, content))


def _version() -> str:
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(project["version"])


def _mathml(match: re.Match[str]) -> str:
    display = "inline" if match["tag"] == "span" else "block"
    latex = html.unescape(match["latex"]).strip()
    mathml: str = converter.convert(latex, display=display)
    return f'<{match["tag"]} class="arithmatex">{mathml}</{match["tag"]}>'


def _link_footnotes(content: str) -> str:
    """Link each mark to the next footnote of its number, and drop links back to no mark."""
    linked = set(re.findall(r'id="([^"]*fnref:\d+)"', content))

    def link(match: re.Match[str]) -> str:
        number = match[1]
        footnote = re.compile(rf'id="([^"]*)fn:{number}"').search(content, match.end())
        if footnote is None:
            return f"<sup>{number}</sup>"
        mark = f"{footnote[1]}fnref:{number}"
        own_id = "" if mark in linked else f' id="{mark}"'
        linked.add(mark)
        target = f"#{footnote[1]}fn:{number}"
        return f'<sup{own_id}><a class="footnote-ref" href="{target}">{number}</a></sup>'

    content = FOOTNOTE_MARK.sub(link, content)
    return FOOTNOTE_RETURN.sub(lambda match: match[0] if match["id"] in linked else "", content)
