"""Gates on this machine: a squad's folder in, worker processes, report files out.

Effects live here. What a report says is decided by `steelyard.gating`, which opens no file.
"""

from __future__ import annotations

from steelyard.runner.execute import CaseDone
from steelyard.runner.gate import GateRun, Judge, run_gate
from steelyard.runner.squad import SquadFolder
from steelyard.runner.verifying import CheckedReport, check_report

__all__ = [
    "CaseDone",
    "CheckedReport",
    "GateRun",
    "Judge",
    "SquadFolder",
    "check_report",
    "run_gate",
]
