"""Fuzz the loader of model files: bytes that bear the right hash, and are otherwise anything.

    make fuzz SECONDS=600        # or: python -m tests.fuzz.model_file FOLDER -max_total_time=600

The folder keeps what was found worth keeping; it is filled with small files at the start. Anything
but `ModelFileError` or a sound model stops the run and leaves the bytes in a file named crash-...
"""

import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["river_extra_trees"]):
    from river_extra_trees import persistence
    from tests.tools import damage


def changed(content: bytes, most: int, seed: int) -> bytes:
    """Let the fuzzer change the description or the arrays; put length and hash right."""
    length = damage.length_of_header(content)
    if length > len(content):
        return content[:most]  # is refused
    text, block = content[8:length], content[length:]
    if seed % 2:
        block = atheris.Mutate(block or b"0", max(1, len(block) + 8))
    else:
        text = atheris.Mutate(text or b"0", max(1, min(most, 2 * len(text) + 8)))
    file = damage.signed(len(text).to_bytes(8, "little") + text + block)
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
