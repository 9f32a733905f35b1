"""Texts from files, packed or not, and from pipes, in blocks of whole records."""

from __future__ import annotations

import bz2
import codecs
import gzip
import importlib
import lzma
import re
import zlib
from collections.abc import Iterator, Mapping
from typing import IO, Any, cast

from .batch import TableError

__all__ = ["PACKED", "UNKNOWN", "Source"]

CHUNK = 1 << 18
BYTES_PER_COLUMN = 4096  # at least in a block, because each column of a block costs time
LONGEST_RECORD = 1 << 24
PACKED: Mapping[str, Any] = {
    ".gz": lambda file: gzip.GzipFile(fileobj=file),
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
    ".zst": lambda file: importlib.import_module("pyarrow").CompressedInputStream(file, "zstd"),
}
BROKEN = (OSError, EOFError, zlib.error, lzma.LZMAError, ValueError)

# Takes the place of bytes that are not text in the encoding. No text holds this code point.
UNKNOWN = "\ufdd0"
codecs.register_error("river_extra_trees.unknown", lambda error: (UNKNOWN, cast(Any, error).end))


class Source:
    """A text that is read block by block, as UTF-8.

    A block has whole records. It is as long as what is there: a chunk of a file, or what a pipe
    holds by now.

    Parameters
    ----------
    name
        The name of the text in messages.
    file
        A binary file or pipe.
    packed
        The suffix of its compression, or an empty string.
    encoding
        The encoding of the text.

    Attributes
    ----------
    n_columns
        The number of columns, as far as it is known.
    is_over
        Whether the last block was given.
    position
        Number of bytes of the file that were read, packed as they are.

    """

    def __init__(self, name: str, file: IO[bytes], packed: str, encoding: str) -> None:
        self.name = name
        self.encoding = encoding
        self.file = file
        self.content: Any = PACKED[packed](file) if packed else file
        try:
            b"a".decode(encoding, "ignore")  # refuses codecs from bytes to bytes, such as hex
            self.decoder = codecs.getincrementaldecoder(encoding)("river_extra_trees.unknown")
        except LookupError as error:
            raise TableError(f"there is no text encoding {encoding!r}") from error
        self.begins = encoding == "utf-8-sig"  # the default: a mark may tell another
        self.rest = b""
        self.n_columns = 0
        self.is_over = False
        self.position = 0

    def first_line(self) -> str:
        """Return the first line, which stays to be read."""
        while not self.rest.splitlines()[1:] and self._read():
            pass
        return self.rest.splitlines()[0].decode() if self.rest else ""

    def blocks(self, quoted: re.Pattern[bytes] | None = None) -> Iterator[bytes]:
        """Yield the text.

        Parameters
        ----------
        quoted
            A pattern of texts in quotation marks, in which lines may end.
        """
        comes_more = True
        while comes_more:
            hidden = hide(self.rest, quoted)
            end = max(hidden.rfind(b"\n"), hidden.rfind(b"\r")) + 1
            block, self.rest = self.rest[:end], self.rest[end:]
            if block.strip(b"\r\n"):
                yield block
            comes_more = self._read()
        self.is_over = True
        if self.rest:
            yield self.rest

    def _read(self) -> bool:
        """Read what is there, at least one byte; return False at the end."""
        if len(self.rest) > LONGEST_RECORD:
            raise TableError(
                f"cannot read {self.name}: a row has more than {LONGEST_RECORD:,} bytes; is a "
                "quotation mark never closed?"
            )
        try:
            chunk = self.content.read1(max(CHUNK, BYTES_PER_COLUMN * self.n_columns))
            if self.begins and chunk[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
                self.encoding = "utf-16"
                self.decoder = codecs.getincrementaldecoder("utf-16")("river_extra_trees.unknown")
            self.begins = False
            text = self.decoder.decode(chunk, final=not chunk)
            if not self.file.closed and self.file.seekable():  # pyarrow closes it at the end
                self.position = self.file.tell()
        except BROKEN as error:
            raise TableError(f"cannot read {self.name}: {error}") from error
        self.rest += text.encode(errors="replace")
        return bool(chunk)

    @property
    def not_text(self) -> str:
        """What to say about bytes that are not text in the encoding."""
        return f"not text in {self.encoding} (--encoding names another, such as latin-1)"


def hide(text: bytes, quoted: re.Pattern[bytes] | None) -> bytes:
    """Return a text with dots for what is in quotation marks.

    Examples
    --------
    >>> import re
    >>> from river_extra_trees.streams import sources
    >>> sources.hide(b'a,"b,c"', re.compile(b'"[^"]*"'))
    b'a,.....'

    """
    if quoted is None or b'"' not in text:
        return text
    return quoted.sub(lambda found: b"." * len(found[0]), text)
