"""A result in the formats that people and tools read. The same result gives the same bytes."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from steelyard._core import canonical_json
from steelyard.evaluation.document import result_bytes, result_value
from steelyard.evaluation.model import EvalResult
from steelyard.evaluation.render.github import to_github
from steelyard.evaluation.render.junit import to_junit
from steelyard.evaluation.render.markdown import to_markdown
from steelyard.evaluation.render.rdjsonl import to_rdjsonl
from steelyard.evaluation.render.sarif import to_sarif

__all__ = ["OutputFormat", "render"]


class OutputFormat(StrEnum):
    """The formats a result can be written in. The value is the word a caller writes."""

    JSON = "json"
    """The document, members in the published order, for people and programs."""
    CANONICAL = "canonical"
    """The document as canonical JSON (RFC 8785), for hashing and comparing."""
    MARKDOWN = "md"
    SARIF = "sarif"
    JUNIT = "junit"
    GITHUB = "github"
    RDJSONL = "rdjsonl"


_RENDERERS: dict[OutputFormat, Callable[[EvalResult], bytes]] = {
    OutputFormat.JSON: result_bytes,
    OutputFormat.CANONICAL: lambda result: canonical_json(result_value(result)),
    OutputFormat.MARKDOWN: to_markdown,
    OutputFormat.SARIF: to_sarif,
    OutputFormat.JUNIT: to_junit,
    OutputFormat.GITHUB: to_github,
    OutputFormat.RDJSONL: to_rdjsonl,
}


def render(result: EvalResult, format: OutputFormat) -> bytes:  # noqa: A002  the word callers know
    """The result in one format, as UTF-8 bytes that end in a newline (canonical JSON does not)."""
    return _RENDERERS[format](result)
