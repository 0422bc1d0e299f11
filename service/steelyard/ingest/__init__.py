"""Reading what tools print: bytes in any of the supported formats to findings with file and line."""

from steelyard.ingest.model import (
    DEFAULT_MAX_BYTES,
    DEFAULT_MAX_ITEMS,
    Finding,
    Format,
    Kind,
    Outcome,
    Place,
    Position,
    Problem,
    Reason,
    Severity,
    ToolReport,
    ToolRun,
    Totals,
)

__all__ = [
    "DEFAULT_MAX_BYTES",
    "DEFAULT_MAX_ITEMS",
    "Finding",
    "Format",
    "Kind",
    "Outcome",
    "Place",
    "Position",
    "Problem",
    "Reason",
    "Severity",
    "ToolReport",
    "ToolRun",
    "Totals",
]
