"""Parse the arguments of commands without running them: one JSON list of words per line of input.

python -m tests.tools.arguments < commands
"""

import argparse
import contextlib
import importlib
import io
import json
import runpy
import sys
from typing import Any

parse = argparse.ArgumentParser.parse_args


class ParsedError(Exception):
    """The arguments are valid."""


def parse_and_stop(parser: argparse.ArgumentParser, *arguments: Any) -> None:
    parse(parser, *arguments)
    raise ParsedError


def complaint(module: str, arguments: list[str]) -> str:
    """What a module says about its arguments; nothing where they are valid."""
    said = io.StringIO()
    sys.argv = [module, *arguments]
    with contextlib.redirect_stderr(said):
        try:
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        except ParsedError:
            return ""
        except SystemExit:
            return said.getvalue()
    return "it does not read its arguments"


def main() -> None:
    """Print what is wrong; exit with 1 if anything is."""
    argparse.ArgumentParser.parse_args = parse_and_stop  # type: ignore[method-assign,assignment]
    importlib.import_module("river_extra_trees")
    wrong = 0
    for line in sys.stdin:
        module, *arguments = json.loads(line)
        said = complaint(module, arguments)
        if said:
            print(module, *arguments, said, sep="\n  ")
            wrong = 1
    sys.exit(wrong)


if __name__ == "__main__":
    main()
