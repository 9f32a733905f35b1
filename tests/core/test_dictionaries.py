"""Texts of dictionaries and categories: they have the codes of the plain texts."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from river_extra_trees._core.texts import Texts

TYPES = [pa.string(), pa.large_string(), pa.string_view()]
POSITIONS = [
    *(pa.int8(), pa.uint8(), pa.int16(), pa.uint16()),
    *(pa.int32(), pa.uint32(), pa.int64(), pa.uint64()),
]
WORDS = [
    *("", "a", "b", "c", "ä", "\0a", "a" * 8, "a" * 9, "a" * 15),  # short ones as two words
    *("longer than others", "longer than either", "longer than others, and more"),
]

Dictionary = list[str | None]
Places = list[int | None]  # of each row in its dictionary


def stream(arrays: list[Any], kind: pa.DataType) -> Any:
    return pa.chunked_array(arrays, kind).__arrow_c_stream__()


def of_arrow(chunks: list[tuple[Dictionary, Places]], kind: Any, positions: Any) -> Any:
    arrays = [
        pa.DictionaryArray.from_arrays(
            pa.array([None, *places], positions), pa.array(["before", *words], kind)[1:]
        )[1:]
        for words, places in chunks
    ]
    return stream(arrays, pa.dictionary(positions, kind)), "x"


def of_categories(chunks: list[tuple[Dictionary, Places]], kind: Any, _: Any) -> Any:
    [(words, places)] = chunks
    codes = np.array([-1 if each is None else each for each in places], np.int8)
    return stream([pa.array(words, kind)], kind), "x", codes


def of_objects(chunks: list[tuple[Dictionary, Places]], kind: Any, positions: Any) -> Any:
    [(words, _)] = chunks
    new = ["".join([*(each or "")]) for each in words]  # equal texts, but other objects
    codes = of_categories(chunks, kind, positions)[2]
    return np.repeat(np.array(new, object), 2)[::2], "x", np.repeat(codes, 2)[::2]


def changed(words: Dictionary, way: str, rng: random.Random) -> Dictionary:
    """A dictionary as a library may make it of the last one."""
    words = list(words)
    if way == "grown":
        words += rng.choices([None, *WORDS], k=4)
    elif way == "shorter":
        del words[rng.randrange(len(words) + 1) :]
    elif way == "mixed":
        rng.shuffle(words)
    elif way == "replaced" and words:
        words[rng.randrange(len(words))] = rng.choice([None, *WORDS])
    elif way == "other":
        words = rng.choices([None, *WORDS], k=rng.randrange(30))
    return words


@given(
    st.integers(0, 2**32),
    st.lists(
        st.tuples(
            st.sampled_from(["same", "same", "grown", "shorter", "mixed", "replaced", "other"]),
            st.sampled_from([of_arrow, of_categories, of_objects]),
            st.sampled_from(TYPES),
            st.sampled_from(POSITIONS),
            st.sampled_from(["all", "in another order", "the first", "another", "none"]),
        ),
        max_size=8,
    ),
)
def test_dictionaries_in_a_row(seed: int, steps: list[tuple[Any, ...]]) -> None:
    """It does not matter what the last dictionary was, and which of its texts were learned."""
    rng = random.Random(seed)
    coded, plain = Texts(), Texts()
    words: Dictionary = []
    for way, source, kind, positions, learned in steps:
        chunks, values = [], []
        for _ in range(rng.randrange(4) if source is of_arrow else 1):
            words = changed(words, way, rng)
            if source is of_objects:
                words = [each or "" for each in words]
            most = rng.choice([2, 60])  # most frames have enough rows for a table of places
            places = rng.choices([None, *range(len(words))], k=rng.randrange(most))
            chunks.append((words, places))
            values += [None if each is None else words[each] for each in places]
        codes, texts = coded.codes_of(*source(chunks, kind, positions))
        by_text = plain.codes_of(stream([pa.array(values, pa.string())], pa.string()))
        assert (codes.dtype, codes.tolist(), texts) == (np.intc, by_text[0].tolist(), by_text[1])
        news = texts[len(coded.values) :]
        if learned == "in another order":
            news.reverse()
        elif learned == "the first":
            news = news[:1]
        elif learned == "another":
            news = [word for word in [f"new {seed}", *WORDS[-2:]] if word not in coded.values]
        if learned != "none":
            coded.know(news)
            plain.know(news)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("source", [of_arrow, of_categories, of_objects])
def test_a_text_in_the_place_of_another(source: Any, kind: pa.DataType) -> None:
    """Also if it differs in one word of its key, in its length, or is missing."""
    texts = Texts()
    texts.know(WORDS)
    values = WORDS if source is of_objects else [None, *WORDS]
    for pair in itertools.permutations(values, 2):
        for word in pair:
            codes, _ = texts.codes_of(*source([(["b", word], [0, 1])], kind, pa.int8()))
            assert codes.tolist() == [WORDS.index("b"), -1 if word is None else WORDS.index(word)]


@pytest.mark.parametrize("source", [of_arrow, of_categories, of_objects])
def test_memory_of_dictionaries(source: Any) -> None:
    """Four bytes per place, but none if there are few rows, or thousands of places."""
    words: Dictionary = [f"value {i}" for i in range(100)]
    texts = Texts()
    texts.know(words)
    size = texts.__sizeof__()
    for n, rows, kept in [(1000, 3, 0), (1000, 250, 4000), (9000, 9000, 0), (500, 500, 2000)]:
        places: Places = [i % 99 for i in range(rows)]
        codes, _ = texts.codes_of(*source([(words * (n // 100), places)], pa.string(), pa.int16()))
        assert codes.tolist() == places
        assert texts.__sizeof__() == size + kept


@pytest.mark.parametrize("kind", TYPES)
def test_a_dictionary_with_wrong_offsets_after_a_good_one(kind: pa.DataType) -> None:
    """Its texts are not compared with those of the good one, and not read if they do not occur."""
    texts, places = Texts(), [0, 1, 2, 2]
    words: Dictionary = ["fourteen bytes", "b", "c"]
    texts.know(words)
    codes, _ = texts.codes_of(*of_arrow([(words, places)], kind, pa.int8()))
    assert codes.tolist() == places
    good = pa.array(words, kind)
    buffers = good.buffers()
    layout = np.frombuffer(buffers[1], np.int64 if kind == pa.large_string() else np.int32).copy()
    if kind == pa.string_view():
        layout[2] = -1  # number of a buffer
    else:
        layout[1] = 99
    wrong = pa.Array.from_buffers(kind, 3, [None, pa.py_buffer(layout), *buffers[2:]])

    def read(places: Places) -> list[int]:
        array = pa.DictionaryArray.from_arrays(pa.array(places), wrong, safe=False)
        return texts.codes_of(stream([array], array.type))[0].tolist()

    with pytest.raises(ValueError, match="outside of their buffer"):
        read([2, 0])
    assert read([2, 2, 2]) == [2, 2, 2]


def test_the_largest_position() -> None:
    array = pa.DictionaryArray.from_arrays(
        pa.array([0, 2**64 - 1], pa.uint64()), pa.array(["a"]), safe=False
    )
    with pytest.raises(ValueError, match=f"^row 1: y: no category has the code {2**64 - 1}$"):
        Texts().codes_of(stream([array], array.type), "y")


@pytest.mark.parametrize("source", [of_categories, of_objects])
@pytest.mark.parametrize("place", [-2, 2, 127])
def test_positions_outside_of_the_categories(source: Any, place: int) -> None:
    categories, what, codes = source([(["a", "b"], [0, None, place])], pa.string(), None)
    with pytest.raises(ValueError, match=f"^row 2: x: no category has the code {place}$"):
        Texts().codes_of(categories, what, codes)


@pytest.mark.parametrize("source", [of_categories, of_objects])
@pytest.mark.parametrize("words", [[], ["a"]])
def test_no_rows(source: Any, words: Dictionary) -> None:
    for places in ([], [None, None]):
        codes, texts = Texts().codes_of(*source([(words, places)], pa.string(), None))
        assert (codes.tolist(), texts) == ([-1] * len(places), [])


def test_objects_are_the_known_texts() -> None:
    """A text that a stream brings is not made again."""
    texts = Texts()
    objects = np.array(["".join(["long", " ", each]) for each in ("text", "list")], object)
    _, found = texts.codes_of(objects, "x", np.array([1, 0]))
    assert found[0] is objects[1]
    assert found[1] is objects[0]


@pytest.mark.parametrize("other", [np.str_("a"), 1, None, b"a"])
def test_objects_that_are_no_texts(other: Any) -> None:
    """They are refused if they occur, whatever was there before."""
    texts = Texts()
    texts.know(["a", "b"])
    for last in ("b", "a"):
        for codes in ([0, 0], [0, 1]):
            before, now = (np.array([each, "b"], object) for each in (last, other))
            texts.codes_of(before, "x", np.array(codes))
            with pytest.raises(TypeError, match="something else than a text"):
                texts.codes_of(now, "x", np.array(codes))
            assert texts.codes_of(now, "x", np.array([1, 1]))[0].tolist() == [1, 1]


def test_an_object_that_utf_8_cannot_represent() -> None:
    objects = np.array(["a", "\ud800"], object)
    texts = Texts()
    with pytest.raises(UnicodeEncodeError):
        texts.codes_of(objects, "x", np.array([0, 1]))
    assert texts.codes_of(objects, "x", np.array([0, -1]))[0].tolist() == [0, -1]


def test_dictionaries_are_no_categories() -> None:
    array = pa.array(["a"]).dictionary_encode()
    with pytest.raises(TypeError, match="something else than texts"):
        Texts().codes_of(stream([array], array.type), "x", np.array([0]))
