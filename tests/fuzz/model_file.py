"""Fuzz the loader of model files: bytes that bear the right hash, and are otherwise anything.

    make fuzz SECONDS=600        # or: python -m tests.fuzz.model_file FOLDER -max_total_time=600

The folder keeps what was found worth keeping; it is filled with small files at the start. Anything
but `ModelFileError` or a sound model stops the run and leaves the bytes in a file named crash-...
"""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["river_extra_trees"]):
    from river_extra_trees import persistence
    from river_extra_trees.persistence import container
    from tests.tools import damage


def changed(content: bytes, most: int, seed: int) -> bytes:
    """Let the fuzzer change the description and the arrays; put the header right."""
    try:
        content = damage.plain(content)
    except (container.DamagedError, struct.error):
        return content[:most]  # is refused
    lengths = content[12 : damage.START_OF_HASH]
    n_text = int.from_bytes(lengths[:8], "little")
    body = content[damage.START_OF_CONTENT :]
    text = atheris.Mutate(body[:n_text] or b"0", max(1, min(most, 2 * n_text + 8)))
    block = body[n_text:]
    if seed % 2:
        text, block = body[:n_text], atheris.Mutate(block or b"0", max(1, len(block) + 8))
    lengths = len(text).to_bytes(8, "little") + len(block).to_bytes(8, "little")
    file = damage.signed(content[:12] + lengths + bytes(32) + text + block)
    return file if len(file) <= most else content[:most]  # more is refused


def test(content: bytes) -> None:
    """One execution."""
    damage.outcome(content)


def main() -> None:
    """Fill the folder, then fuzz."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in damage.SMALL:
        (folder / name).write_bytes(damage.small_file(name))
    empty = damage.CLASSES["StreamDecisionTreeClassifier"](batch_size=1)
    (folder / "empty").write_bytes(persistence.save_bytes(empty))
    atheris.Setup([*sys.argv, "-max_len=20000"], test, custom_mutator=changed)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
