"""Page tokens: where a newest-first list goes on.

A token holds the number of the last record shown and a digest of the list's name and filter, under
a MAC with the store's own key. Records that arrive while somebody pages get higher numbers, so they
never shift a page; a token serves every server of the store and no other list.
"""

from __future__ import annotations

import binascii
import hashlib
import hmac
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from sqlalchemy import Column, Connection, Row, Select, select

from steelyard.errors import InvalidInputError
from steelyard.records.model import Page, PageRequest
from steelyard.records.schema import store_settings

__all__ = ["DEFAULT_PAGE", "MAX_PAGE", "PAGE_KEY_NAME", "Pager", "load_page_key"]

T = TypeVar("T")

DEFAULT_PAGE = 100
MAX_PAGE = 1000
PAGE_KEY_NAME = "page_token_key"
_BODY = struct.Struct(">8sQ")
_MAC_BYTES = 16


def load_page_key(connection: Connection) -> bytes:
    """The store's key for page tokens, made by its first migration."""
    value = connection.execute(
        select(store_settings.c.value).where(store_settings.c.name == PAGE_KEY_NAME)
    ).scalar_one()
    return bytes.fromhex(value)


class Pager:
    """Makes and reads the tokens of one store."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def page(
        self,
        connection: Connection,
        query: Select[Any],
        number: Column[int],
        request: PageRequest,
        scope: tuple[object, ...],
        build: Callable[[Sequence[Row[Any]]], Sequence[T]],
    ) -> Page[T]:
        """One page of `query`, newest first by `number`. `scope` names the list and its filter."""
        size = self._size(request.size)
        digest = hashlib.sha256(repr(scope).encode()).digest()[:8]
        if request.token:
            query = query.where(number < self._read(request.token, digest))
        # One row more than asked tells whether there is a next page.
        rows = connection.execute(query.order_by(number.desc()).limit(size + 1)).all()
        shown = rows[:size]
        more = len(rows) > size
        token = self._write(digest, shown[-1]._mapping[number]) if more else ""
        return Page(tuple(build(shown)), token)

    @staticmethod
    def _size(asked: int) -> int:
        if not 0 <= asked <= MAX_PAGE:
            raise InvalidInputError.at(
                "page_size", "PAGE_SIZE_INVALID", f"is {asked}, must be 0..{MAX_PAGE}"
            )
        return asked or DEFAULT_PAGE

    def _mac(self, body: bytes) -> bytes:
        return hmac.digest(self._key, body, "sha256")[:_MAC_BYTES]

    def _write(self, digest: bytes, number: int) -> str:
        body = _BODY.pack(digest, number)
        return urlsafe_b64encode(body + self._mac(body)).decode().rstrip("=")

    def _read(self, token: str, digest: bytes) -> int:
        try:
            raw = urlsafe_b64decode(token + "=" * (-len(token) % 4))
        except (binascii.Error, ValueError):
            raw = b""
        body, mac = raw[: _BODY.size], raw[_BODY.size :]
        if not hmac.compare_digest(mac, self._mac(body)) or len(body) != _BODY.size:
            raise InvalidInputError.at(
                "page_token", "PAGE_TOKEN_INVALID", "is not a token of this store"
            )
        owner, number = _BODY.unpack(body)
        if not hmac.compare_digest(owner, digest):
            raise InvalidInputError.at(
                "page_token", "PAGE_TOKEN_OTHER_LIST", "belongs to another list or filter"
            )
        return int(number)
