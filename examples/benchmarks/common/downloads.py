"""Streams that are downloaded from GitHub and OpenML, and kept as files.

A file NAME.csv.gz has a header and the target in its last column. Files are kept in the folder
that `folder` names. `sources.toml` says from which files at which commit a stream of the tables in
README.md is made, and which SHA-256 its table has. OpenML has other streams, without a guarantee.

    python -m examples.benchmarks.common.downloads          get all streams of the tables
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import os
import sys
import tomllib
import urllib.request
import zipfile
from pathlib import Path
from typing import Any

from examples.benchmarks.common.raw_tables import Layout
from river_extra_trees.cli import UserError

SOURCES = Path(__file__).with_name("sources.toml")
SITE = "https://raw.githubusercontent.com"
OPENML = {
    **{"abalone": 183, "adult": 1590, "ailerons": 296, "bank8FM": 572, "bank_marketing": 1461},
    **{"cal_housing": 537, "covtype": 1596, "cpu_act": 197, "elec": 151, "house_8L": 218},
    **{"kdd99_10pct": 1113, "letter": 6, "magic": 1120, "pendigits": 32, "phishing": 4534},
    **{"segment": 36, "shuttle": 40685, "spambase": 44, "splice": 46, "wind": 503},
}
# With the column of the target, as some have several.
UCI = {
    "airfoil": (291, "scaled-sound-pressure"),
    "bike_sharing_hourly": (275, "cnt"),
    "power_plant_ccpp": (294, "PE"),
}


def folder() -> Path:
    """Return the folder of the streams: RIVER_EXTRA_TREES_DATA, or one for downloads."""
    default = Path.home() / ".cache" / "river-extra-trees"
    return Path(os.environ.get("RIVER_EXTRA_TREES_DATA") or default)


def download(name: str) -> None:
    """Get a stream into the folder."""
    sources = tomllib.loads(SOURCES.read_text(encoding="utf-8"))
    if name in sources["streams"]:
        table = from_github(name, sources["commits"], **sources["streams"][name])
    elif name in OPENML:
        table = from_openml(name)
    elif name in UCI:
        table = from_uci(name)
    else:
        raise UserError(
            f"the stream {name!r} cannot be downloaded; put {name}.csv.gz into {folder()}, or into "
            f"the folder that RIVER_EXTRA_TREES_DATA names. Its source: {origin(name, sources)}"
        )
    path = folder() / f"{name}.csv.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    # Without the time, the same table makes the same file.
    path.write_bytes(gzip.compress(table.encode(), mtime=0))


def origin(name: str, sources: dict[str, Any]) -> str:
    """Say which files a stream was made of that is not downloaded here."""
    known = sources["elsewhere"]
    return next((text for each, text in known.items() if name.startswith(each)), "unknown")


def from_github(
    name: str, commits: dict[str, str], *, files: list[str], sha256: str, **options: Any
) -> str:
    """Return the table that is made of files at a commit, if it is the expected one."""
    repository = options.pop("from")
    texts = []
    for file in files:
        address = f"{SITE}/{repository}/{commits[repository]}/{file}"
        try:
            with urllib.request.urlopen(address, timeout=60) as answer:
                texts.append(text_of(file, answer.read()))
        except OSError as error:
            raise UserError(f"cannot download {address} ({error})") from error
    table = Layout(**options).read(texts)
    found = hashlib.sha256(table.encode()).hexdigest()
    if found != sha256:
        raise UserError(
            f"the stream {name!r} from {repository} is not the one that was measured: its SHA-256 "
            f"is {found}, not {sha256}"
        )
    return table


def text_of(file: str, content: bytes) -> str:
    """Return the text of a file, of the only table in an archive, or of a sheet."""
    if file.endswith(".zip"):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            content = archive.read(archive.namelist()[0])
    if file.endswith(".xls"):
        import pandas as pd

        sheet = pd.read_excel(io.BytesIO(content))
        return ",".join("?" * len(sheet.columns)) + "\n" + sheet.to_csv(index=False, header=False)
    return content.decode("utf-8")


def from_openml(name: str) -> str:
    """Return the table as OpenML has it."""
    from sklearn.datasets import fetch_openml

    try:
        found = fetch_openml(data_id=OPENML[name], as_frame=True, parser="auto")
    except OSError as error:
        raise UserError(f"cannot download {name!r} from OpenML ({error})") from error
    return found.data.assign(target=found.target).to_csv(index=False)


def from_uci(name: str) -> str:
    """Return the table as the UCI repository has it."""
    from ucimlrepo import fetch_ucirepo

    number, target = UCI[name]
    try:
        found = fetch_ucirepo(id=number).data
    except OSError as error:
        raise UserError(f"cannot download {name!r} from UCI ({error})") from error
    return found.features.assign(target=found.targets[target]).to_csv(index=False)


def main() -> None:
    """Get the streams that are not there yet."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("streams", nargs="*", help="by default all of the tables")
    named = parser.parse_args().streams
    for name in named or tomllib.loads(SOURCES.read_text(encoding="utf-8"))["streams"]:
        if not (folder() / f"{name}.csv.gz").exists():
            download(name)
            print(folder() / f"{name}.csv.gz", flush=True)


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        sys.exit(f"error: {error}")
    except ImportError as error:
        sys.exit(f"error: {error}; install it with: .venv/bin/python -m pip install --group peers")
