"""The commands on every page work, in a clean copy of the repository.

Each block runs as it stands, but for the commands that take minutes, need a network, compile, or
never end. `NOT_RUN` lists them, with how each is checked instead. Where the program stands alone,
without anything of a shell, it runs in this process: a new one would import for seconds.
"""

import functools
import json
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pandas
import pytest

import river_extra_trees as ret
from river_extra_trees import persistence
from river_extra_trees.__main__ import main
from tests.tools.pages import PAGES, ROOT, blocks, inline_code, name_of, pages_with
from tests.tools.scripts import Done, done

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="the commands are for POSIX shells"),
    pytest.mark.skipif(not (ROOT / ".git").exists(), reason="the files are those that git knows"),
]

MODULE = re.compile(r"\.venv/bin/python -m (?:examples|tests)\.")
MAKE = re.compile(r"make\b")
PIP = re.compile(r"(?:\.venv/bin/python -m )?pip install ")
CLONE = re.compile(r"git clone |cd river-extra-trees$|sudo apt-get ")
PROGRAM = re.compile(r"\.venv/bin/river-extra-trees [^|&;<>$`]*")
STATE = re.compile(r"[&$]|\bexport\b")  # what only one shell for the whole block understands
NOT_RUN = {
    MODULE: "a benchmark takes minutes: test_arguments parses its arguments",
    MAKE: "compiles, or runs what is tested elsewhere: test_make looks for its target",
    PIP: "compiles for minutes, and needs a network: test_pip looks for its extras",
    CLONE: "needs a network",
}


def commands(block: str) -> list[str]:
    """The commands of a block, without comments; a command may go on in the next line."""
    return [shlex.join(shlex.split(line, comments=True)) for line in lines_of(block)]


def lines_of(block: str) -> list[str]:
    """The commands of a block as a shell reads them."""
    return [line for line in block.replace("\\\n", " ").splitlines() if line.strip()]


def matching(pattern: re.Pattern[str]) -> list[str]:
    """All commands of a kind, in blocks and within texts."""
    found = [
        command for page in PAGES for block in blocks(page, "sh") for command in commands(block)
    ]
    found += [code for page in PAGES for code in inline_code(page)]
    return sorted({command for command in found if pattern.match(command)})


@pytest.mark.slow
def test_arguments() -> None:
    """The benchmarks and tools that texts name take the arguments that the texts give them."""
    found = [command for command in matching(MODULE) if not re.search(r"\b[A-Z]{4,}\b", command)]
    assert len(found) > 20
    words = [json.dumps(shlex.split(command)[2:]) for command in found]
    done = subprocess.run(
        [sys.executable, "-m", "tests.tools.arguments"],
        cwd=ROOT,
        input="\n".join(words),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("arguments", [[], ['ARGS=-m "not slow"']])
def test_make(arguments: list[str]) -> None:
    """The Makefile has every target that a text names, also when it gets arguments of pytest."""
    found = {command.split()[1] for command in matching(re.compile(r"make [a-z]"))}
    assert "demo" in found
    # The make that runs this test would pass its variables on.
    env = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "ARGS")}
    done = subprocess.run(
        ["make", "-n", *sorted(found), *arguments],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_pip() -> None:
    """Texts install this folder, extras and groups that there are, or packages of these.

    Until the package is on the index, no text may install it by its name.
    """
    said = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras, groups = said["project"]["optional-dependencies"], said["dependency-groups"]
    listed = [package for each in (*extras.values(), *groups.values()) for package in each]
    packages = {re.split(r"[><=]", package)[0] for package in listed if isinstance(package, str)}
    for command in matching(PIP):
        words = shlex.split(PIP.sub("", command))
        if words[0] == "--group":
            assert set(words[1:]) <= set(groups), command
            continue
        for word in words:
            name, _, extra = word.rstrip("]").partition("[")
            assert name == "." or name in packages, command
            assert set(filter(None, extra.split(","))) <= set(extras), command


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What git knows of this tree, compiled, with an environment, and a few tables."""
    folder = tmp_path_factory.mktemp("pages") / "clone"
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\0")
    compiled = (ROOT / "river_extra_trees").rglob("*.so")
    for name in [*filter(None, listed), *(str(path.relative_to(ROOT)) for path in compiled)]:
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    for name, module in (("python", ""), ("river-extra-trees", "-m river_extra_trees")):
        script = folder / ".venv" / "bin" / name
        script.parent.mkdir(parents=True, exist_ok=True)
        script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {module} "$@"\n')
        script.chmod(0o755)
    write_tables(folder)
    return folder


def write_tables(folder: Path) -> None:
    """The tables that the pages name, all with the same rows, and a model that has learned them."""
    rng = random.Random(1)
    table = pandas.DataFrame({"age": [rng.randrange(18, 90) for _ in range(120)]})
    table["balance"] = [rng.gauss(0.0, 1.0) for _ in table.index]
    prices = table.assign(price=table["age"] + table["balance"])
    people = table.assign(label=["yes" if age > 50 else "no" for age in table["age"]])
    customers = people.rename(columns={"label": "subscribed"})
    people.to_csv(folder / "table.csv", index=False)
    people.to_csv(folder / "log.csv", index_label="id")
    people.to_parquet(folder / "table.parquet")
    prices.to_csv(folder / "table.csv.gz", index=False)
    customers.to_csv(folder / "bank.csv", index=False)
    model = ret.ExtraTreesClassifier(n_models=3, seed=1)
    model.learn_many(table, customers["subscribed"])
    persistence.save(model, folder / "bank.model")


@functools.cache
def files_of(clone: Path) -> set[Path]:
    """What is in the folder before any page is tried."""
    return set(clone.iterdir())


def as_run(block: str) -> str:
    """A block with `:` in the place of what is not run.

    A log is read once, not for ever; of a stream that comes with river the first rows are raced.
    """
    lines = []
    for command in block.replace("\\\n", " ").splitlines():
        skipped = any(pattern.match(command.strip()) for pattern in NOT_RUN)
        command = re.sub(r"tail -n \+1 -[fF]", "tail -n +1", command)
        command = re.sub(r"( race [A-Z]\w+)", r"\1 --limit 150", command)
        lines.append(":" if skipped else command)
    return "\n".join(lines)


@pytest.fixture(scope="module")
def tried() -> set[tuple[str, ...]]:
    """The pages whose commands have run; two pages may have the same ones."""
    return set()


@pytest.mark.slow
@pytest.mark.parametrize("page", pages_with("sh"), ids=name_of)
def test_blocks(page: Path, clone: Path, tried: set[tuple[str, ...]]) -> None:
    """The commands of a page run one after the other, as a reader would run them."""
    programs = tuple(
        block for block in map(as_run, blocks(page, "sh")) if set(block.split()) != {":"}
    )
    if programs in tried:
        return
    tried.add(programs)
    for path in set(clone.iterdir()) - files_of(clone):
        path.unlink()  # what the commands of another page have left
    for block in programs:
        found = run(block, clone)
        assert found.returncode == 0, f"{block}\n{found.stdout}{found.stderr}"


def run(block: str, clone: Path) -> Done:
    """Run a block in a folder, up to the first command that fails."""
    found = Done(0, "", "")
    for command in [block] if STATE.search(block) else lines_of(block):
        if found.returncode == 0 and PROGRAM.fullmatch(command):
            found = done(main, *shlex.split(command, comments=True)[1:], folder=clone)
        elif found.returncode == 0:
            found = run_in_shell(command, clone)
    return found


def run_in_shell(program: str, clone: Path) -> Done:
    ended = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", program],
        cwd=clone,
        env={**os.environ, "PYTHONPATH": ""},
        capture_output=True,
        text=True,
        timeout=300,
    )
    return Done(ended.returncode, ended.stdout, ended.stderr)
