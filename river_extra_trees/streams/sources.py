"""Lines of text from files, packed or not, and from pipes."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import re
import sys
import zlib
from collections import deque
from pathlib import Path
from typing import IO, Any

from .batch import TableError

__all__ = ["PACKED", "Lines", "suffix_of"]

CHUNK = 1 << 16
LONGEST_LINE = 1 << 24
PACKED = (".gz", ".bz2", ".xz", ".zst")
UNKNOWN = re.compile("[\udc80-\udcff]")
BROKEN = (OSError, EOFError, zlib.error, lzma.LZMAError, ValueError)


def suffix_of(path: str) -> tuple[str, str]:
    """Return the suffix that tells the format of a file, and that of its compression.

    Examples
    --------
    >>> from river_extra_trees.streams import sources
    >>> sources.suffix_of("table.csv.gz"), sources.suffix_of("table.parquet")
    (('.csv', '.gz'), ('.parquet', ''))

    """
    packed = next((suffix for suffix in PACKED if path.lower().endswith(suffix)), "")
    return Path(path.lower().removesuffix(packed)).suffix, packed


def unpacked(file: IO[bytes], packed: str) -> Any:
    """Return the content of a file that may be packed, as a binary file."""
    if packed == ".gz":
        return gzip.GzipFile(fileobj=file)
    if packed == ".bz2":
        return bz2.BZ2File(file)
    if packed == ".xz":
        return lzma.LZMAFile(file)
    if packed == ".zst":
        return _unpacked_zstd(file)
    return file


def _unpacked_zstd(file: IO[bytes]) -> Any:
    if sys.version_info >= (3, 14):
        from compression import zstd

        return zstd.ZstdFile(file)
    try:
        import pyarrow
    except ImportError as error:
        raise TableError("zstd files need pyarrow: pip install pyarrow") from error
    return pyarrow.CompressedInputStream(file, "zstd")


class Lines:
    """The lines of a text, as soon as they come.

    Bytes that are not text in the encoding become lone surrogates, so that one bad line does not
    end the stream; see `is_text`.

    Parameters
    ----------
    name
        The name of the text in messages.
    file
        A binary file or pipe.
    packed
        The suffix of its compression, if any.
    encoding
        The encoding of the text.
    is_pipe
        Whether the next line may let one wait.

    Attributes
    ----------
    is_clean
        Whether every byte so far was text in the encoding.
    position
        Number of bytes of the file that were read, packed as they are.

    """

    def __init__(
        self, name: str, file: IO[bytes], packed: str, encoding: str, *, is_pipe: bool
    ) -> None:
        self.name = name
        self.encoding = encoding
        self.file = file
        self.content = unpacked(file, packed)
        try:
            b"a".decode(encoding, "ignore")  # not so codecs of bytes, such as hex
            self.decoder = codecs.getincrementaldecoder(encoding)("surrogateescape")
        except LookupError as error:
            raise TableError(f"there is no text encoding {encoding!r}") from error
        self.ready: deque[str] = deque()
        self.rest = ""
        self.is_over = False
        self.is_pipe = is_pipe
        self.is_clean = True
        self.position = 0

    def __iter__(self) -> Lines:
        return self

    def __next__(self) -> str:
        while not self.ready:
            if self.is_over:
                raise StopIteration
            self._read()
        return self.ready.popleft()

    def begins_with(self, prefix: str) -> bool:
        """Return whether the text begins so; waits for its first line."""
        while not self.ready and not self.is_over:
            self._read()
        return bool(self.ready) and self.ready[0].startswith(prefix)

    @property
    def would_wait(self) -> bool:
        """Whether the next line has still to come, through a pipe that may be silent."""
        return self.is_pipe and not self.ready and not self.is_over

    def _read(self) -> None:
        """Read what is there, at least one byte."""
        try:
            chunk = self.content.read1(CHUNK)
            text = self.rest + self.decoder.decode(chunk, final=not chunk)
        except UnicodeError as error:
            raise TableError(f"{self.name} is not text in {self.encoding}: {error}") from error
        except BROKEN as error:
            raise TableError(f"cannot read {self.name}: {error}") from error
        self.is_over = not chunk
        if not self.is_pipe and not self.file.closed:  # pyarrow closes it at the end
            self.position = self.file.tell()
            if self.is_over:
                self.file.close()
        self.is_clean = self.is_clean and is_text(text)
        # newline="" leaves line ends to the CSV reader, which knows quoted ones.
        lines = list(io.StringIO(text, newline=""))
        unfinished = lines and not self.is_over and not lines[-1].endswith("\n")
        self.rest = lines.pop() if unfinished else ""
        if len(self.rest) > LONGEST_LINE:
            raise TableError(
                f"cannot read {self.name}: a line has more than {LONGEST_LINE:,} characters"
            )
        self.ready.extend(lines)


def is_text(line: str) -> bool:
    """Return whether a line holds no byte that its encoding does not know."""
    return line.isascii() or UNKNOWN.search(line) is None
