"""What is no file of ours: wrong headers, lengths, descriptions and tags."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from river_extra_trees import persistence
from river_extra_trees.persistence import container, files
from tests.tools import damage, nasty


@pytest.mark.parametrize(
    "code",
    [
        *(None, [], ["?"], ["int", 3], ["int", "x"], ["int"], ["str", 1], ["float", "1e"]),
        *(["bytes", "0"], ["bool", 1], ["none", 0], ["list", 1], ["array", "a"], ["numpy", "x"]),
        *(["numpy", "int8", "int", "0x80"], ["numpy", "int8", "str", "a"], ["object", "X", {}]),
        *(["numpy", "float16", "float", "0x1p+20"], ["numpy", "uint8", "int", "-0x1"], ["dict", 1]),
        *(["numpy", "str", "int", "0x1"], ["numpy", "int64", "none", None]),
    ],
    ids=repr,
)
def test_values_that_are_not_what_their_tags_say_are_refused(code: Any) -> None:
    """A seed of any such form."""
    content = damage.small_file("StreamDecisionTreeClassifier")

    def change(document: Any, arrays: Any) -> None:
        document[1]["parameters"][1]["seed"] = code

    with pytest.raises(persistence.ModelFileError):
        persistence.load_bytes(nasty.changed(content, change))


@pytest.mark.parametrize("text", [b"[" * 100_000, b"\xff", b"", b"{}"], ids=len)
def test_descriptions_that_are_no_json_of_ours_are_refused(text: bytes) -> None:
    """Deep nesting, no UTF-8, nothing, something else."""
    block = damage.plain(container.pack(b"12345678", 1, None, {}))[-8:]
    head = container.HEAD.pack(files.MAGIC, 1, len(text), len(block))
    with pytest.raises(persistence.ModelFileError):
        persistence.load_bytes(damage.signed(head + bytes(32) + text + block))


def test_a_name_that_is_there_twice_is_refused() -> None:
    """Two readers could otherwise take one file for two models."""
    content = damage.plain(damage.small_file("StreamDecisionTreeClassifier"))
    n_text = int.from_bytes(content[12:20], "little")
    text = content[damage.START_OF_CONTENT :][:n_text]
    block = content[damage.START_OF_CONTENT + n_text :]
    text = text.replace(b'"seed":', b'"seed":["none",null],"seed":', 1)
    head = container.HEAD.pack(files.MAGIC, 1, len(text), len(block))
    with pytest.raises(persistence.ModelFileError, match="JSON cannot be read"):
        persistence.load_bytes(damage.signed(head + bytes(32) + text + block))


def test_later_formats_are_named() -> None:
    """A file of the future says so."""
    content = bytearray(damage.small_file("StreamDecisionTreeClassifier"))
    content[8:12] = (99).to_bytes(4, "little")
    said = "version 99 of the format; this package reads versions 1 to 1"
    with pytest.raises(persistence.ModelFileError, match=said):
        persistence.load_bytes(damage.signed(bytes(content)))


def test_a_lying_length_takes_no_memory() -> None:
    """Lengths are compared with the file before anything is allocated."""
    content = damage.small_file("StreamDecisionTreeClassifier")
    for start in (12, 20):
        for length in (2**63, 2**64 - 1, 2**40):
            lying = content[:start] + length.to_bytes(8, "little") + content[start + 8 :]
            with pytest.raises(persistence.ModelFileError, match="length in its header"):
                persistence.load_bytes(damage.signed(lying))


def test_bytes_behind_the_content_are_refused() -> None:
    """Each model has one file: neither the hash nor the lengths cover such bytes by themselves."""
    for n_more in (0, 1):
        content = damage.small_file("StreamDecisionTreeClassifier")
        head = content[: container.HEAD.size]
        stored = content[container.HEAD.size + container.DIGEST :] + b"\0" * n_more
        signed = head + container.digest_of(head, stored) + stored
        if n_more:
            with pytest.raises(persistence.ModelFileError, match="length"):
                persistence.load_bytes(signed)
        else:
            assert signed == content


def test_errors_name_the_file(tmp_path: Path) -> None:
    """The path is in the message; a file that is not there is the usual error."""
    (tmp_path / "broken").write_bytes(b"no model")
    with pytest.raises(persistence.ModelFileError, match="broken: not a valid model file"):
        persistence.load(tmp_path / "broken")
    with pytest.raises(FileNotFoundError):
        persistence.load(tmp_path / "absent")
