"""What is no file of ours: wrong headers, lengths, descriptions and tags."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

from river_extra_trees import persistence
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


def with_description(change: Any) -> bytes:
    """A file whose description was changed as a text, with a new hash."""
    content = damage.small_file("StreamDecisionTreeClassifier")
    length = damage.length_of_header(content)
    header = json.loads(content[8:length])
    header["__metadata__"]["river_extra_trees"] = change(
        header["__metadata__"]["river_extra_trees"]
    )
    text = json.dumps(header).encode()
    return damage.signed(len(text).to_bytes(8, "little") + text + content[length:])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda text: text, None),
        (lambda text: "[" * 100_000, "JSON cannot be read"),
        (lambda text: "", "JSON cannot be read"),
        (lambda text: "{}", "another kind of file"),
        (lambda text: "[1]", "another kind of file"),
        (lambda text: text.replace('"seed":', '"seed":["none",null],"seed":', 1), "JSON cannot"),
        (lambda text: text.replace('"version":1', '"version":99'), "version 99 of the format; .*1"),
        (lambda text: text.replace('"version":1', '"version":true'), "version True of the format"),
        (lambda text: text.replace('"version":1', '"version":1,"more":2'), "unknown entries"),
    ],
)
def test_descriptions_that_are_not_ours_are_refused(change: Any, says: str | None) -> None:
    """Deep nesting, nothing, something else, a name that is there twice, a later format."""
    content = with_description(change)
    if says is None:
        assert persistence.load_bytes(content).n_samples_seen == 19
        return
    with pytest.raises(persistence.ModelFileError, match=says):
        persistence.load_bytes(content)


def test_a_lying_length_takes_no_memory() -> None:
    """Lengths are compared with the file before anything is allocated."""
    content = damage.small_file("StreamDecisionTreeClassifier")
    for length in (0, 2**63, 2**64 - 1, 2**40):
        with pytest.raises(persistence.ModelFileError, match="another kind of file"):
            persistence.load_bytes(length.to_bytes(8, "little") + content[8:])


@pytest.mark.parametrize("content", [b"", b"{}", bytes(100)])
def test_what_is_no_model_file_is_refused(content: bytes) -> None:
    """So is a file of safetensors that holds no model, and one with bytes behind its end."""
    others = safetensors.numpy.save({"a": np.zeros(3)}), safetensors.numpy.save({}, {"a": "b"})
    behind = damage.signed(damage.small_file("StreamDecisionTreeClassifier") + b"\0")
    for each in (content, *others, behind):
        with pytest.raises(persistence.ModelFileError):
            persistence.load_bytes(each)


def test_errors_name_the_file(tmp_path: Path) -> None:
    """The path is in the message; a file that is not there is the usual error."""
    (tmp_path / "broken").write_bytes(b"no model")
    with pytest.raises(persistence.ModelFileError, match="broken: not a valid model file"):
        persistence.load(tmp_path / "broken")
    with pytest.raises(FileNotFoundError):
        persistence.load(tmp_path / "absent")
