"""The gate: criteria and held-out evidence in, a verdict that anybody can recompute.

Pure and total: no clock, no randomness, no file is opened here. `gate(evidence)` judges,
`report_json` gives the document, `verify_report` derives a document again.
"""

from steelyard.gating.judge import judge as gate
from steelyard.gating.model import Evidence, Mismatch, Project, Report, Status, Verification
from steelyard.gating.precheck import precheck
from steelyard.gating.report import evidence_hash, report_json, verdict_word
from steelyard.gating.verify import verify as verify_report

__all__ = [
    "Evidence",
    "Mismatch",
    "Project",
    "Report",
    "Status",
    "Verification",
    "evidence_hash",
    "gate",
    "precheck",
    "report_json",
    "verdict_word",
    "verify_report",
]
