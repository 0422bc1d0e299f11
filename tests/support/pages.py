"""Lists of the store, whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from steelyard.records.model import Page, PageRequest

__all__ = ["every"]

T = TypeVar("T")


def every(list_page: Callable[[PageRequest], Page[T]]) -> list[T]:
    """All items of a list, page by page."""
    items: list[T] = []
    token = ""
    while True:
        page = list_page(PageRequest(1000, token))
        items += page.items
        token = page.next_token
        if not token:
            return items
