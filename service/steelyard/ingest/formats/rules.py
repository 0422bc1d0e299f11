"""What sort of finding a linter's rule makes."""

from __future__ import annotations

import re
from functools import lru_cache

from steelyard.ingest.model import Kind

__all__ = ["is_syntax_rule", "kind_of_rule"]

# pycodestyle layout, isort, quotes, commas, docstring wording, naming; ESLint's layout rules and
# the plugins that only format.
_STYLE = re.compile(
    r"(?:E[1235]|W[1-6]|I00|Q00|COM|D|N8)\d{1,3}$"
    r"|(?:@stylistic|prettier|simple-import-sort)/"
    r"|import/(?:order|newline-after-import)$"
    r"|(?:indent|quotes|semi|max-len|comma-dangle|eol-last|no-trailing-spaces|sort-imports)$"
)
_SYNTAX = frozenset({"invalid-syntax", "syntax-error", "E999", "E902", "syntax"})
_CHECKERS = frozenset(
    {"mypy", "pyright", "basedpyright", "pyre", "ty", "tsc", "typescript", "flow"}
)
_COMPILERS = frozenset({"gcc", "g++", "clang", "clang++", "rustc", "cargo", "msvc", "javac", "go"})


def is_syntax_rule(rule: str | None) -> bool:
    """Whether the rule says that a file cannot be parsed at all."""
    return rule in _SYNTAX


@lru_cache(maxsize=1_024)
def kind_of_rule(tool: str, rule: str | None) -> Kind:
    """The kind of a finding of `rule` by a static analysis `tool`."""
    name = tool.lower()
    if name in _CHECKERS:
        return Kind.TYPECHECK
    if name in _COMPILERS or is_syntax_rule(rule):
        return Kind.BUILD
    return Kind.STYLE if rule and _STYLE.match(rule) else Kind.LINT
