"""HTTP on one connection, with limits of bytes and time that the application cannot set.

The application limits bodies. Everything before and after a body is read by h11, which holds at
most `MOST_BYTES` of a header, a trailer or the head of a chunk, and reads a request only when the
one before it is answered. A client that should send or read, and does neither, is disconnected.
"""

from __future__ import annotations

import asyncio
import sys
from http import HTTPStatus
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from . import schema
from .refusals import Count

MOST_BYTES = 16_384  # of a header
SECONDS_TO_ACT = 10.0  # for a client: to send a header, or to read some of an answer

NO_HTTP = (
    "this is not HTTP: send a request such as POST /predict, with the content type application/json"
)
TOO_LONG = f"the header is longer than {MOST_BYTES:,} bytes"


class Protocol(H11Protocol):
    """uvicorn's HTTP, which also disconnects idle clients, and refuses what is no HTTP in JSON."""

    count: Count

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Begin a connection."""
        super().connection_made(transport)
        self.look()

    def look(self, before: tuple[Any, ...] | None = None) -> None:
        """Disconnect a client that should act, and has done nothing since the last look."""
        if self not in self.connections:
            return
        is_answered = self.cycle is None or self.cycle.response_complete
        unread = self.transport.get_write_buffer_size()
        now = self.cycle, is_answered, unread
        if now == before and (is_answered or unread):
            self.transport.abort()
        else:
            self.loop.call_later(SECONDS_TO_ACT, self.look, now)

    def send_400_response(self, msg: str) -> None:
        """Refuse what h11 has refused."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            error = sys.exception()
            hint = getattr(error, "error_status_hint", 400)
            status = HTTPStatus(hint if hint == 431 else 400)
            self.count(status)
            body = schema.write({"error": TOO_LONG if status == 431 else NO_HTTP})
            head = (
                f"HTTP/1.1 {status} {status.phrase}\r\nconnection: close\r\n"
                f"content-type: {schema.JSON}\r\ncontent-length: {len(body)}\r\n\r\n"
            )
            self.transport.write(head.encode() + body)
        self.transport.close()


def protocol(count: Count) -> type[asyncio.Protocol]:
    """Return a protocol that counts the statuses of what it refuses."""
    return type("Counting", (Protocol,), {"count": staticmethod(count)})
