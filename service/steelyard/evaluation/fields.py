"""Reading JSON values strictly: every refusal names the path of the element it refuses.

Nothing is coerced. `"false"` is not a boolean, `1.0` is not an integer, `null` means absent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from functools import cache
from typing import TypeVar

from steelyard.errors import InvalidInputError

__all__ = ["MAX_TEXT", "Field", "check_texts", "require"]

MAX_TEXT = 64 * 1024
"""Longest accepted text, in characters."""

_Choice = TypeVar("_Choice", bound=StrEnum)


def require(ok: bool, path: str, reason: str, message: str) -> None:
    """Raise InvalidInputError at `path` unless `ok`."""
    if not ok:
        raise InvalidInputError.at(path, reason, message)


def check_texts(value: object, path: str) -> None:
    """Hold every text of values that were built by hand to what parsing would hold it to.

    `value` is a text, a frozen dataclass, or a tuple of these; anything else has no text. Raises
    InvalidInputError with the path of the element by its JSON name.
    """
    if isinstance(value, str):
        Field(value, path).text()
    elif isinstance(value, tuple):
        for index, element in enumerate(value):
            check_texts(element, f"{path}[{index}]")
    elif is_dataclass(value):
        for attribute, name in _members(value.__class__):
            check_texts(getattr(value, attribute), f"{path}.{name}")


@cache
def _members(kind: type[object]) -> tuple[tuple[str, str], ...]:
    """The fields of a dataclass that can hold texts, with their JSON names."""
    names = (field.name for field in fields(kind) if field.type not in ("bool", "int"))  # type: ignore[arg-type]  # is_dataclass said so
    return tuple((name, name[0] + name.title().replace("_", "")[1:]) for name in names)


def _kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a string"
    return "a list" if isinstance(value, list) else "an object"


@dataclass(frozen=True, slots=True)
class Field:
    """A JSON value together with the path that leads to it."""

    value: object
    path: str

    def __getitem__(self, name: str) -> Field:
        """The named member of an object; a Field of None when absent."""
        if not isinstance(self.value, Mapping):
            raise self._wrong("an object")
        return Field(self.value.get(name), f"{self.path}.{name}" if self.path else name)

    def first(self, *names: str) -> Field:
        """The first of several spellings that is present; the first spelling when none is."""
        present = (field for name in names if (field := self[name]).given)
        return next(present, self[names[0]])

    @property
    def given(self) -> bool:
        """Whether there is a value at all: null counts as absent."""
        return self.value is not None

    def object(self) -> Field:
        """Itself, when it is an object."""
        if not isinstance(self.value, Mapping):
            raise self._wrong("an object")
        return self

    def items(self, limit: int) -> Iterator[Field]:
        """The elements of a list of at most `limit`; none when the list is absent."""
        if not self.given:
            return
        if not isinstance(self.value, list | tuple):
            raise self._wrong("a list")
        require(len(self.value) <= limit, self.path, "TOO_MANY", f"has more than {limit} elements")
        for index, element in enumerate(self.value):
            yield Field(element, f"{self.path}[{index}]")

    def text(self, limit: int = MAX_TEXT) -> str:
        """A string of at most `limit` characters that UTF-8 can hold; may be empty."""
        if not isinstance(self.value, str):
            raise self._wrong("a string")
        require(
            len(self.value) <= limit, self.path, "TOO_LONG", f"is longer than {limit} characters"
        )
        try:
            self.value.encode()
        except UnicodeEncodeError:
            raise InvalidInputError.at(self.path, "NOT_UNICODE", "holds a lone surrogate") from None
        return self.value

    def words(self, limit: int = MAX_TEXT) -> str:
        """A string with something visible in it."""
        text = self.text(limit)
        require(bool(text.strip()), self.path, "BLANK", "must not be blank")
        return text

    def optional_text(self, limit: int = MAX_TEXT) -> str | None:
        """A string, None when absent or blank."""
        text = self.text(limit) if self.given else ""
        return text if text.strip() else None

    def matching(self, pattern: re.Pattern[str], hint: str) -> str:
        """A string that matches the whole `pattern`; `hint` says what would be right."""
        text = self.words()
        require(bool(pattern.fullmatch(text)), self.path, "MALFORMED", f"{text[:60]!r}: {hint}")
        return text

    def boolean(self, default: bool | None = None) -> bool:
        """true or false, never a word or a number; `default` when absent and there is one."""
        if self.value is None and default is not None:
            return default
        if not isinstance(self.value, bool):
            raise self._wrong("true or false")
        return self.value

    def integer(self, low: int, high: int) -> int:
        """An integer in low..high."""
        if not isinstance(self.value, int) or isinstance(self.value, bool):
            raise self._wrong("an integer")
        require(low <= self.value <= high, self.path, "OUT_OF_RANGE", f"must be {low} to {high}")
        return self.value

    def optional_integer(self, low: int, high: int) -> int | None:
        """An integer in low..high, None when absent."""
        return self.integer(low, high) if self.given else None

    def choice(self, choices: type[_Choice]) -> _Choice:
        """One of the words of an enumeration, exactly as it is spelled."""
        if not isinstance(self.value, str):
            raise self._wrong("a string")
        try:
            return choices(self.value)
        except ValueError:
            words = ", ".join(repr(str(choice)) for choice in choices)
            message = f"is {self.value[:40]!r}, must be one of {words}"
            raise InvalidInputError.at(self.path, "UNKNOWN_WORD", message) from None

    def _wrong(self, wanted: str) -> InvalidInputError:
        if self.value is None:
            return InvalidInputError.at(self.path, "MISSING", f"is missing, must be {wanted}")
        message = f"is {_kind(self.value)}, must be {wanted}"
        return InvalidInputError.at(self.path, "WRONG_TYPE", message)
