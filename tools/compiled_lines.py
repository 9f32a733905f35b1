"""Tell coverage.py which lines of the Cython files were executed in a build of the mode `coverage`.

Usage: tools/compiled_lines.py forget|collect. `make coverage` forgets the counts of earlier runs,
runs the tests, and collects the counts of this one into a file for `coverage combine`.

gcc counts how often each line of the generated C ran, and Cython marks in the C where the code of
each line of its own begins. The tests then take no longer than in any build without optimization;
a tracer would be called at every line of the numerical loops. The inline functions in .pxd files
are left out: the plugin of Cython does not report on them.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from coverage import CoverageData

ROOT = Path(__file__).parents[1]
PLUGIN = "Cython.Coverage.Plugin"
SOURCE = re.compile(r' */[*] +"(.*)":[0-9]+$')
MARK = re.compile(r" *__Pyx_TraceLine\(([0-9]+),")


def counts_of(counted: list[Path]) -> dict[Path, dict[int, int]]:
    """Return how often each line of each C file ran, from what gcc has counted."""
    found: dict[Path, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    command = ["gcov", "--json-format", "--stdout", *map(str, counted)]
    with tempfile.TemporaryDirectory() as folder:
        reports = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    for report in reports.stdout.splitlines():
        for file in json.loads(report)["files"]:
            for line in file["lines"]:
                found[ROOT / file["file"]][line["line_number"]] += line["count"]
    return found


def executed(c_file: Path, counts: dict[int, int]) -> Iterator[tuple[str, int]]:
    """Yield the file and number of each Cython line of which the first counted C line ran.

    A line without code, such as the head of a C function, goes with the next one that has some.
    """
    file = ""
    marked: list[tuple[str, int]] = []
    for number, text in enumerate(c_file.read_text(encoding="utf-8").splitlines(), start=1):
        if named := SOURCE.match(text):
            file = named[1]
        elif mark := MARK.match(text):
            marked.append((file, int(mark[1])))
        elif number in counts:
            if counts[number] > 0:
                yield from marked
            marked.clear()


def collect(counted: list[Path]) -> None:
    """Write the executed lines of the Cython files to a file beside coverage's own."""
    lines = defaultdict(set)
    for c_file, counts in counts_of(counted).items():
        if c_file.is_relative_to(ROOT / "river_extra_trees"):
            for file, line in executed(c_file, counts):
                # Cython's shared utility code is generated: it has no source to report on.
                if file.endswith(".pyx") and (ROOT / file).exists():
                    lines[str(ROOT / file)].add(line)
    data = CoverageData(str(ROOT / ".coverage.compiled"))
    data.erase()
    data.add_lines(lines)
    data.add_file_tracers(dict.fromkeys(lines, PLUGIN))
    data.write()


def main() -> None:
    """Do what the command line says."""
    counted = [path.resolve() for path in sorted(ROOT.glob("build/coverage-*/objects/**/*.gcda"))]
    if sys.argv[1:] == ["forget"]:
        for path in counted:
            path.unlink()
    elif sys.argv[1:] == ["collect"]:
        if not counted:
            raise SystemExit("error: nothing was counted; was the build one of the mode coverage?")
        collect(counted)
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main()
