"""Texts of Arrow arrays, as naive programs find them; each text is one object."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from river_extra_trees._core.texts import Texts

TYPES = [pa.string(), pa.large_string(), pa.string_view()]

# Views hold up to 12 bytes themselves. The last letter takes more than one byte.
TEXT = st.text("ab\0ä", max_size=14)
VALUES = st.lists(st.none() | TEXT, max_size=60)


def shown(texts: Texts, codes: Any) -> list[str | None]:
    assert codes.dtype == np.intc
    return [None if code < 0 else texts.values[code] for code in codes]


def stream(chunks: list[list[str | None]], kind: pa.DataType) -> Any:
    column = pa.chunked_array([pa.array(chunk, kind) for chunk in chunks], kind)
    return column.__arrow_c_stream__()


@given(st.lists(VALUES, max_size=3), st.sampled_from(TYPES), st.integers(0, 9))
def test_texts_of_streams(chunks: list[list[str | None]], kind: pa.DataType, start: int) -> None:
    column = pa.chunked_array([pa.array(chunk, kind) for chunk in chunks], kind)[start:]
    values = [value for chunk in chunks for value in chunk][start:]
    texts = Texts()
    codes = texts.codes_of(column.__arrow_c_stream__())
    assert shown(texts, codes) == values
    assert texts.values == list(dict.fromkeys(value for value in values if value is not None))


@given(st.lists(VALUES, max_size=4))
def test_codes_stay_from_stream_to_stream(streams: list[list[str | None]]) -> None:
    texts = Texts()
    before: list[str] = []
    for i, values in enumerate(streams):
        codes = texts.codes_of(stream([values], TYPES[i % 3]))
        assert shown(texts, codes) == values
        assert all(a is b for a, b in zip(before, texts.values, strict=False))
        before = list(texts.values)
    assert len(set(before)) == len(before)


@given(VALUES)
def test_texts_of_polars(values: list[str | None]) -> None:
    texts = Texts()
    codes = texts.codes_of(pl.Series(values, dtype=pl.String)[1:].__arrow_c_stream__())
    assert shown(texts, codes) == values[1:]


def test_many_texts() -> None:
    """The table grows several times; some texts are long."""
    values = [f"{i * 7 % 5000} " + "x" * (i % 50) for i in range(20_000)]
    texts = Texts()
    for kind in TYPES:
        assert shown(texts, texts.codes_of(stream([values], kind))) == values


@pytest.mark.parametrize("kind", [pa.int32(), pa.binary(), pa.dictionary(pa.int8(), pa.string())])
def test_other_types_have_no_texts(kind: pa.DataType) -> None:
    texts = Texts()
    assert texts.codes_of(pa.chunked_array([], kind).__arrow_c_stream__()) is None
    assert texts.values == []


def test_bytes_that_are_no_text() -> None:
    wrong = pa.array([b"good", b"\xff"]).view(pa.string())
    texts = Texts()
    with pytest.raises(UnicodeDecodeError):
        texts.codes_of(pa.chunked_array([wrong]).__arrow_c_stream__())
    assert shown(texts, texts.codes_of(stream([["good", "x"]], pa.string()))) == ["good", "x"]


def test_what_is_no_stream() -> None:
    for wrong in (None, pa.array(["a"]).__arrow_c_array__()[1]):
        with pytest.raises(ValueError, match="PyCapsule"):
            Texts().codes_of(wrong)


def test_a_stream_is_read_once() -> None:
    capsule = stream([["a"]], pa.string())
    texts = Texts()
    assert texts.codes_of(capsule).tolist() == [0]
    assert texts.codes_of(capsule).tolist() == []


class Stream(ctypes.Structure):
    """A stream of the Arrow C interface."""


READ = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.c_void_p)
SAY = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(Stream))
RELEASE = ctypes.CFUNCTYPE(None, ctypes.POINTER(Stream))
Stream._fields_ = [
    ("get_schema", READ),
    ("get_next", READ),
    ("get_last_error", SAY),
    ("release", RELEASE),
    ("private_data", ctypes.c_void_p),
]


def capsule_of(stream: Stream) -> Any:
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = (
        ctypes.py_object,
        (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p),
    )
    return new(ctypes.addressof(stream), b"arrow_array_stream", None)


@pytest.mark.parametrize("message", [b"the disk is full", None])
@pytest.mark.parametrize("fails_late", [False, True])
def test_errors_of_the_library(message: bytes | None, fails_late: bool) -> None:
    """The message of a stream that fails is that of the error."""
    kind = pa.string()

    def schema(_: Any, address: int) -> int:
        kind._export_to_c(address)
        return 0 if fails_late else 5

    text = message and ctypes.create_string_buffer(message)
    broken = Stream(
        get_schema=READ(schema),
        get_next=READ(lambda *_: 5),
        get_last_error=SAY(lambda _: text and ctypes.addressof(text)),
        release=RELEASE(lambda _: None),
    )
    with pytest.raises(ValueError, match="the disk is full" if message else "says no more"):
        Texts().codes_of(capsule_of(broken))


def test_a_stream_that_was_taken() -> None:
    capsule = stream([["a"]], pa.string())
    pa.ChunkedArray._import_from_c_capsule(capsule)
    with pytest.raises(ValueError, match="taken already"):
        Texts().codes_of(capsule)
