"""Reading what tools print: bytes in any supported format to findings with file and line."""

from steelyard.ingest.detect import detect
from steelyard.ingest.merge import Merged, Source, merge
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
from steelyard.ingest.read import read_report

__all__ = [
    "DEFAULT_MAX_BYTES",
    "DEFAULT_MAX_ITEMS",
    "Finding",
    "Format",
    "Kind",
    "Merged",
    "Outcome",
    "Place",
    "Position",
    "Problem",
    "Reason",
    "Severity",
    "Source",
    "ToolReport",
    "ToolRun",
    "Totals",
    "detect",
    "merge",
    "read_report",
]
