"""Texts of Arrow arrays, as naive programs find them; each text is one object."""

from __future__ import annotations

import ctypes
import gc
import itertools
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


def read(texts: Texts, stream: Any) -> list[str | None]:
    codes, values = texts.codes_of(stream)
    assert codes.dtype == np.intc
    assert len(set(values)) == len(values)
    return [None if code < 0 else values[code] for code in codes]


def stream(chunks: list[list[str | None]], kind: pa.DataType) -> Any:
    column = pa.chunked_array([pa.array(chunk, kind) for chunk in chunks], kind)
    return column.__arrow_c_stream__()


@given(st.lists(VALUES, max_size=3), st.sampled_from(TYPES), st.integers(0, 9))
def test_texts_of_streams(chunks: list[list[str | None]], kind: pa.DataType, start: int) -> None:
    column = pa.chunked_array([pa.array(chunk, kind) for chunk in chunks], kind)[start:]
    values = [value for chunk in chunks for value in chunk][start:]
    codes, texts = Texts().codes_of(column.__arrow_c_stream__())
    assert texts == list(dict.fromkeys(value for value in values if value is not None))
    assert [None if code < 0 else texts[code] for code in codes] == values


@given(st.lists(st.tuples(VALUES, st.lists(TEXT | st.integers())), max_size=4))
def test_known_texts(streams: list[tuple[list[str | None], list[Any]]]) -> None:
    """What was told comes first, as the same objects; what a stream brings is forgotten."""
    texts, told = Texts(), []
    for i, (values, news) in enumerate(streams):
        codes, found = texts.codes_of(stream([values], TYPES[i % 3]))
        assert [None if code < 0 else found[code] for code in codes] == values
        assert all(a is b for a, b in zip(texts.values, found, strict=False))
        assert texts.values == list(dict.fromkeys(each for each in told if isinstance(each, str)))
        texts.know(news)
        told += news
        assert texts.n_told == len(told)


def test_texts_that_a_learner_took_keep_their_codes() -> None:
    """The next stream finds them, whether they come in the order of the last one or not."""
    first = ["b", None, "a", "c", "d"]
    for taken in (["b", "a"], ["b", "a", "c", "d"], ["a", "b"], ["b", "x", "a"], []):
        texts = Texts()
        _, found = texts.codes_of(stream([first], pa.string()))
        known = [found[found.index(each)] if each in found else each for each in taken]
        texts.know(known)
        assert texts.values == taken
        codes, values = texts.codes_of(stream([["e", "d", *taken, "c"]], pa.string()))
        assert [values[code] for code in codes] == ["e", "d", *taken, "c"]
        assert all(a is b for a, b in zip(known, values, strict=False))
        assert read(texts, stream([first], pa.string())) == first


def test_a_text_that_a_learner_made_anew() -> None:
    """An equal text is another object: the schema has its own."""
    texts, made = Texts(), "".join(["long", " ", "text"])
    texts.codes_of(stream([["long text", "b"]], pa.string()))
    texts.know([made])
    assert texts.codes_of(stream([["long text"]], pa.string()))[1][0] is made


@given(
    st.lists(st.tuples(VALUES, st.lists(st.none() | st.integers(0, 59))), max_size=3),
    st.sampled_from(TYPES),
    st.sampled_from([pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.int64()]),
    st.integers(0, 9),
)
def test_dictionaries(
    chunks: list[tuple[list[str | None], list[int | None]]],
    kind: pa.DataType,
    positions: pa.DataType,
    start: int,
) -> None:
    """With equal texts, null, or texts of no row; each chunk has a dictionary of its own."""
    arrays, values = [], []
    for texts, places in chunks:
        inside = [None if each is None or each >= len(texts) else each for each in places]
        dictionary = pa.array(["before", *texts], kind)[1:]
        arrays.append(
            pa.DictionaryArray.from_arrays(pa.array(inside, positions), dictionary, safe=False)
        )
        values += [None if each is None else texts[each] for each in inside]
    column = pa.chunked_array(arrays, pa.dictionary(positions, kind))[start:]
    codes, found = Texts().codes_of(column.__arrow_c_stream__())
    assert found == list(dict.fromkeys(each for each in values[start:] if each is not None))
    assert [None if code < 0 else found[code] for code in codes] == values[start:]


@pytest.mark.parametrize("position", [2, -1, 2**31, -(2**40)])
def test_positions_outside_of_the_dictionary(position: int) -> None:
    good, wrong = (
        pa.DictionaryArray.from_arrays(pa.array([0, each]), pa.array(["a", "b"]), safe=False)
        for each in (1, position)
    )
    texts = Texts()
    with pytest.raises(ValueError, match=rf"^row 3: y: no category has the code {position}$"):
        texts.codes_of(pa.chunked_array([good, wrong]).__arrow_c_stream__(), "y")
    assert read(texts, pa.chunked_array([good]).__arrow_c_stream__()) == ["a", "b"]


def test_offsets_of_a_dictionary_outside_of_the_data() -> None:
    buffers = [None, pa.py_buffer(np.array([0, 0, 9, 4], np.int32)), pa.py_buffer(b"abcd")]
    dictionary = pa.Array.from_buffers(pa.string(), 3, buffers)
    wrong = pa.DictionaryArray.from_arrays(pa.array([0, 1]), dictionary)
    with pytest.raises(ValueError, match="outside of their buffer"):
        Texts().codes_of(pa.chunked_array([wrong]).__arrow_c_stream__())


@given(VALUES)
def test_texts_of_polars(values: list[str | None]) -> None:
    series = pl.Series(values, dtype=pl.String)[1:]
    assert read(Texts(), series.__arrow_c_stream__()) == values[1:]


def test_many_texts() -> None:
    """The table grows several times, and gives the room back; some texts are long."""
    values = [f"{i * 7 % 5000} " + "x" * (i % 50) for i in range(20_000)]
    texts = Texts()
    texts.know(values[:10])
    for kind in TYPES:
        assert read(texts, stream([values], kind)) == values
        assert texts.values == values[:10]
        assert texts.__sizeof__() < 200_000
    texts.know(values)
    assert read(texts, stream([values], kind)) == values
    assert texts.values == list(dict.fromkeys(values))


def test_a_text_that_utf_8_cannot_represent() -> None:
    texts = Texts()
    texts.know(["a", "\ud800", "b"])
    assert texts.values == ["a", "b"]
    assert read(texts, stream([["b", "a"]], pa.string())) == ["b", "a"]


@pytest.mark.parametrize("kind", [pa.int32(), pa.binary(), pa.dictionary(pa.int8(), pa.int8())])
def test_other_types_have_no_texts(kind: pa.DataType) -> None:
    with pytest.raises(TypeError, match="something else than texts"):
        Texts().codes_of(pa.chunked_array([], kind).__arrow_c_stream__())


def test_bytes_that_are_no_text() -> None:
    wrong = pa.array([b"good", b"\xff"]).view(pa.string())
    texts = Texts()
    with pytest.raises(UnicodeDecodeError):
        texts.codes_of(pa.chunked_array([wrong]).__arrow_c_stream__())
    assert texts.values == []
    assert read(texts, stream([["x", "good"]], pa.string())) == ["x", "good"]


def test_what_is_no_stream() -> None:
    for wrong in (None, pa.array(["a"]).__arrow_c_array__()[1]):
        with pytest.raises(ValueError, match="PyCapsule"):
            Texts().codes_of(wrong)


def test_a_stream_is_read_once() -> None:
    capsule = stream([["a"]], pa.string())
    assert read(Texts(), capsule) == ["a"]
    assert read(Texts(), capsule) == []


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


def test_known_texts_are_not_copied() -> None:
    """Columns without new texts share one list, so that a frame costs no object per known text."""
    texts = Texts()
    texts.know(["a", "b"])
    shared = texts.codes_of(stream([["b"]], pa.string()))[1]
    assert shared is texts.codes_of(stream([["a"]], pa.string()))[1]
    assert texts.codes_of(stream([["c", "a"]], pa.string()))[1] == ["a", "b", "c"]
    assert shared == ["a", "b"]
    texts.know(["d"])
    assert read(texts, stream([["d", "c", "a"]], pa.string())) == ["d", "c", "a"]


def test_texts_that_a_callback_brings() -> None:
    """Texts of another call, while a stream is read, do not mix with the texts of the stream."""
    texts, kind, left = Texts(), pa.string(), [pa.array(["a", "b"]), pa.array(["b", "x"])]
    texts.know(["x"])

    def schema(_: Any, address: int) -> int:
        kind._export_to_c(address)
        return 0

    def following(_: Any, address: int) -> int:
        texts.know(["y", "z"])
        assert read(texts, stream([["b", "y", "x"]], kind)) == ["b", "y", "x"]
        if left:
            left.pop(0)._export_to_c(address)
        else:
            ctypes.memset(address, 0, 80)
        return 0

    source = Stream(READ(schema), READ(following), SAY(lambda _: None), RELEASE(lambda _: None))
    assert read(texts, capsule_of(source)) == ["a", "b", "b", "x"]
    assert (texts.values, texts.n_told) == (["x"], 1)


def test_texts_that_a_finalizer_reads_as_others_become_known() -> None:
    """Python 3.11 collects garbage when it makes a list, and the finalizers may read a frame."""
    texts, words = Texts(), [f"word {i}" for i in range(30)]
    _, found = texts.codes_of(stream([words], pa.string()))

    def finalize(*_: Any) -> None:
        texts.codes_of(np.array(["a"], object), "x", np.zeros(1, int))

    thresholds = gc.get_threshold()
    gc.disable()
    lists: list[list[Any]] = [[] for _ in range(200)]  # none of those that Python keeps is left
    gc.callbacks.append(finalize)
    try:
        gc.set_threshold(1)
        gc.enable()
        texts.know(found)
    finally:
        gc.enable()
        gc.set_threshold(*thresholds)
        gc.callbacks.remove(finalize)
    assert (texts.values, texts.n_told, len(lists)) == (words, len(words), 200)


OFFSETS = [[0, 5, 4], [0, -3, 4], [2, 1, 4], [-1, 2, 4]]


@pytest.mark.parametrize(
    ("kind", "offsets"),
    [
        *itertools.product([pa.string(), pa.large_string()], OFFSETS),
        (pa.large_string(), [1, -(2**63), 4]),  # no 64 bits hold the length
    ],
)
def test_offsets_outside_of_the_data(kind: pa.DataType, offsets: list[int]) -> None:
    """An array is accepted by pyarrow if its last text ends in the data."""
    dtype = np.int32 if kind == pa.string() else np.int64
    buffers = [None, pa.py_buffer(np.array([0, *offsets], dtype)), pa.py_buffer(b"abcd")]
    wrong = pa.chunked_array([pa.Array.from_buffers(kind, 3, buffers)])
    texts = Texts()
    with pytest.raises(ValueError, match="outside of their buffer"):
        texts.codes_of(wrong.__arrow_c_stream__())
    assert read(texts, stream([["ab", "cd"]], kind)) == ["ab", "cd"]


@pytest.mark.parametrize("view", [(-1, 0, 0, 0), (13, 0, 1, 0), (13, 0, -1, 0), (13, 0, 0, 8)])
def test_views_outside_of_the_data(view: tuple[int, ...]) -> None:
    """A view is a length, four bytes, the number of a buffer and a position in it."""
    buffers = [None, pa.py_buffer(np.array(view, np.int32)), pa.py_buffer(b"x" * 20)]
    wrong = pa.chunked_array([pa.Array.from_buffers(pa.string_view(), 1, buffers)])
    with pytest.raises(ValueError, match="outside of their buffer"):
        Texts().codes_of(wrong.__arrow_c_stream__())
