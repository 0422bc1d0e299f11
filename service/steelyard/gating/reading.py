"""Typed access to a manifest's JSON: a value of the wrong kind is a finding."""

from __future__ import annotations

from typing import Final

from steelyard.gating.model import Finding, JsonObject, Precheck
from steelyard.gating.paths import normal_path
from steelyard.gating.text import is_foldable, is_visible
from steelyard.strictjson import JsonValue

__all__ = ["MAX_ITEMS", "MAX_TERMS", "Reader"]

MAX_ITEMS: Final = 1000
MAX_TERMS: Final = 200
MAX_ALL_TERMS: Final = 2000
MAX_TEXT_LENGTH: Final = 10_000


class Reader:
    """Typed access to JSON that notes what is wrong and where."""

    def __init__(self) -> None:
        self.errors: list[Finding] = []
        self.warnings: list[Finding] = []
        self._terms_left = MAX_ALL_TERMS

    @property
    def precheck(self) -> Precheck:
        return Precheck(tuple(self.errors), tuple(self.warnings))

    def error(self, path: str, code: str, message: str) -> None:
        self.errors.append(Finding(code, path, message))

    def warn(self, path: str, code: str, message: str) -> None:
        self.warnings.append(Finding(code, path, message))

    def object(self, value: JsonValue, path: str) -> JsonObject:
        if value is None:
            return {}
        if isinstance(value, dict):
            return value
        self.error(path, "NOT_AN_OBJECT", "must be an object")
        return {}

    def items(self, value: JsonValue, path: str, limit: int) -> list[JsonValue]:
        if value is None:
            return []
        if not isinstance(value, list):
            self.error(path, "NOT_AN_ARRAY", "must be an array")
            return []
        if len(value) > limit:
            self.error(path, "TOO_MANY", f"must hold at most {limit} items")
        return value[:limit]

    def text(self, value: JsonValue, path: str) -> str | None:
        if value is None or value == "":
            return None
        if not isinstance(value, str):
            self.error(path, "NOT_TEXT", "must be text")
            return None
        if len(value) > MAX_TEXT_LENGTH:
            self.error(path, "TOO_LONG", f"must have at most {MAX_TEXT_LENGTH} characters")
        return value[:MAX_TEXT_LENGTH]

    def flag(self, value: JsonValue, path: str, *, otherwise: bool) -> bool:
        """A boolean; absent is False, anything else an error that counts as `otherwise`."""
        if value is None or isinstance(value, bool):
            return value or False
        self.error(path, "NOT_A_BOOLEAN", "must be true or false")
        return otherwise

    def fraction(self, value: JsonValue, path: str, code: str) -> float | None:
        """A number from 0 to 1; anything else is an error."""
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1:
            return float(value)
        self.error(path, code, "must be a number from 0 to 1")
        return None

    def terms(self, value: JsonValue, path: str) -> tuple[str, ...]:
        """Non-blank texts; one text stands for a list of one. Blank terms say nothing and go."""
        if isinstance(value, str):
            value = [value]
        terms: list[str] = []
        for index, item in enumerate(self.items(value, path, MAX_TERMS)):
            if item is None:
                self.error(f"{path}[{index}]", "NOT_TEXT", "must be text")
            term = self.text(item, f"{path}[{index}]")
            if term is not None and not is_foldable(term):
                self.error(f"{path}[{index}]", "NOT_TEXT", "has too many combining marks in a row")
            elif term is not None and is_visible(term):
                terms.append(term)
        self._terms_left -= len(terms)
        if self._terms_left < 0:
            self.error(path, "TOO_MANY", f"all terms together: at most {MAX_ALL_TERMS}")
            return ()
        return tuple(terms)

    def path(self, value: JsonValue, path: str) -> str | None:
        """A relative path that stays in the project by its letters; as it is written."""
        text = self.text(value, path)
        if text is not None and normal_path(text) is None:
            self.error(path, "PATH_ESCAPES", "must be a relative path inside the project")
        return text

    def known(self, value: JsonObject, path: str, keys: frozenset[str]) -> None:
        for key in sorted(set(value) - keys):
            self.warn(f"{path}.{key}", "UNKNOWN_KEY", "is not read; is it misspelt?")
