"""The two-way tables between the words of JSON documents and the values of proto enums."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Generic, TypeVar

from steelyard.errors import InvalidInputError

__all__ = ["WordTable"]

S = TypeVar("S", bound=StrEnum)
V = TypeVar("V", bound=int)


class WordTable(Generic[S, V]):
    """The two-way table between the words of JSON documents and the values of one proto enum."""

    def __init__(self, values: Mapping[S, V]) -> None:
        self.values = MappingProxyType(dict(values))
        self._words: Mapping[int, S] = {value: word for word, value in values.items()}

    def word(self, value: int, path: str) -> S:
        """Errors: InvalidInputError ENUM_INVALID for unspecified and unknown values."""
        word = self._words.get(value)
        if word is None:
            raise InvalidInputError.at(
                path, "ENUM_INVALID", f"must be one of {', '.join(self.values)}"
            )
        return word
