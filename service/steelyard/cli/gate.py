"""`steelyard gate`: check a squad, run its workers, judge what they show, keep the report."""

from __future__ import annotations

import json
import os
import signal
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from steelyard import strictjson
from steelyard.cli.exits import REFUSED, VERDICT_EXITS, StrictUsageError, VerdictCommand
from steelyard.cli.run import print_json, print_table, stdout
from steelyard.cli.trusted import trusted_keys_option
from steelyard.files import Folder, write_atomic
from steelyard.gating.model import Evidence
from steelyard.gating.report import MAX_REPORT_DEPTH, evidence_hash
from steelyard.runner.execute import CaseDone
from steelyard.runner.gate import GateRun, Judge, judge_here, run_gate
from steelyard.runner.orphans import no_orphans
from steelyard.runner.squad import SquadFolder
from steelyard.runner.verifying import CheckedReport, check_report
from steelyard.signing import TrustedKeys, read_private_key, sign_test_result
from steelyard.strictjson import JsonValue, as_object, as_objects

__all__ = ["gate"]

STYLES = {
    "PASS": "bold green",
    "WARN": "bold yellow",
    "FAIL": "bold red",
    "UNVERIFIED": "bold magenta",
}
INTERRUPTED = 130
MAX_JOBS = 256
JUDGE_SECONDS = 60.0


@click.command(cls=VerdictCommand)
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--squad", "slug", required=True, help="The squad to judge, by its slug.")
@click.option(
    "--jobs",
    type=click.IntRange(1, MAX_JOBS),
    default=lambda: len(os.sched_getaffinity(0)),
    show_default="CPUs",
    help="How many cases run at a time.",
)
@click.option(
    "--sign",
    "key_path",
    metavar="KEY",
    type=click.Path(path_type=Path),
    help="Sign the report with this private key file.",
)
@click.option(
    "--attestation",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Also write the verdict as a signed in-toto test-result attestation. Needs --sign.",
)
@trusted_keys_option
@click.option(
    "--require-ready",
    is_flag=True,
    help="Exit 0 only for a verified PASS, trusted when keys are trusted, or a valid deferral.",
)
@click.option("--server", help="Have the evidence judged by this server (host:port), not here.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
def gate(
    directory: Path,
    slug: str,
    jobs: int,
    key_path: Path | None,
    attestation: Path | None,
    trusted: Callable[[], TrustedKeys | None],
    require_ready: bool,
    server: str | None,
    as_json: bool,
) -> None:
    """Judge a squad of the project in DIR by its criteria and its held-out cases.

    The workers of the squad run on this machine. Exit code: 0 for PASS and WARN, 1 for FAIL, 2 for
    UNVERIFIED, 3 for wrong usage or a failed precheck. With --require-ready, 2 also for anything
    else that is not ready.
    """
    if attestation is not None and key_path is None:
        raise StrictUsageError("--attestation needs --sign")
    keys = trusted()
    signer = read_private_key(key_path) if key_path is not None else None
    folder = Folder.open(directory)
    squad = SquadFolder.open(folder, slug)
    with _stopping_on_signals(), no_orphans(), _progress(as_json) as progress:
        run = run_gate(
            squad,
            jobs=jobs,
            clock=lambda: datetime.now(UTC),
            run_id=str(uuid.uuid4()),
            judge=judge_here if server is None else judge_on(server),
            signer=signer,
            progress=progress,
        )
    if attestation is not None and signer is not None:
        envelope = sign_test_result(run.report, evidence_hash(run.report), signer)
        write_atomic(attestation, (json.dumps(envelope, indent=2) + "\n").encode("utf-8"))
    checked = check_report(run.report, folder, keys, datetime.now(UTC)) if require_ready else None
    code = _exit_code(run, checked)
    if as_json:
        print_json(_json(run, checked, code))
    else:
        _print_page(run, checked)
    sys.exit(code)


def judge_on(address: str) -> Judge:
    """The judge of a server. The workers still run here: the Gate RPC judges and runs nothing."""
    # Imported here: only this option needs a client.
    from steelyard.client import Client
    from steelyard.server.gate import GATE
    from steelyard.server.gate_codec import evidence_message
    from steelyard.v1 import gate_pb2

    def judge(evidence: Evidence) -> dict[str, JsonValue]:
        with Client(address, timeout=JUDGE_SECONDS) as client:
            answer = client.call(GATE, evidence_message(evidence), gate_pb2.GateResponse)
        return as_object(strictjson.parse(answer.report.encode(), "report", MAX_REPORT_DEPTH))

    return judge


def _exit_code(run: GateRun, checked: CheckedReport | None) -> int:
    if run.precheck_failed:
        return REFUSED
    verdict = str(run.report.get("verdict"))
    code = VERDICT_EXITS.get(verdict, 1)
    if checked is None:
        return code
    if checked.ready:
        return 0
    return code or VERDICT_EXITS["UNVERIFIED"]


@contextmanager
def _stopping_on_signals() -> Iterator[None]:
    """SIGTERM and SIGHUP end the gate like Ctrl-C, so that its workers end with it."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    numbers = (signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, interrupt) for number in numbers}
    try:
        yield
    except KeyboardInterrupt:
        click.echo("interrupted: all workers were ended", err=True)
        raise SystemExit(INTERRUPTED) from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _progress(quiet: bool) -> Iterator[Callable[[CaseDone], None]]:
    """A bar on a terminal, a line per case otherwise, both on standard error."""
    console = Console(stderr=True)
    if not console.is_terminal:

        def line(done: CaseDone) -> None:
            state = "; ".join(done.failures) or "ran"
            click.echo(f"[{done.done}/{done.total}] {done.case}: {state}", err=True)

        yield (lambda _: None) if quiet else line
        return
    columns = (TextColumn("cases"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("cases", total=None)

        def advance(done: CaseDone) -> None:
            bar.update(task, completed=done.done, total=done.total)
            if done.failures:
                bar.console.print(Text(f"{done.case}: {'; '.join(done.failures)}", style="red"))

        yield advance


def _json(run: GateRun, checked: CheckedReport | None, code: int) -> dict[str, JsonValue]:
    files = run.files
    return {
        "verdict": run.report.get("verdict"),
        "exit_code": code,
        "ready": None if checked is None else checked.ready,
        "deferred": None if checked is None else checked.deferred,
        "files": {
            "report": str(files.report),
            "latest": str(files.latest),
            "page": str(files.page),
        },
        "report": run.report,
    }


def _print_page(run: GateRun, checked: CheckedReport | None) -> None:
    console = stdout()
    report = run.report
    verdict = str(report.get("verdict"))
    console.print(
        Text.assemble("squad ", str(report.get("squad")), ": ", (verdict, STYLES.get(verdict, "")))
    )
    parts = Table("Part", "Status")
    for name in ("precheck", "source_rubric", "held_out", "genome_comparison"):
        status = as_object(report.get(name)).get("status")
        parts.add_row(name.replace("_", " "), Text(str(status)))
    print_table(parts)
    reasons = as_objects(report.get("reasons"))
    if reasons:
        table = Table("Status", "Code", "Where", "Why", title="What keeps it from PASS")
        for reason in reasons:
            cells = (reason.get(name) for name in ("status", "code", "path", "message"))
            table.add_row(*(Text(str(cell)) for cell in cells))
        print_table(table)
    if checked is not None:
        console.print(Text(_readiness(checked)), soft_wrap=True)
    console.print(Text(f"report: {run.files.report}"), soft_wrap=True)


def _readiness(checked: CheckedReport) -> str:
    if checked.deferred is not None:
        return f"ready: deferred ({checked.deferred})"
    if checked.ready:
        return f"ready: verified; {checked.signature.message}"
    codes = [mismatch.code for mismatch in checked.verification.mismatches]
    return f"not ready: {', '.join(codes) or 'the verdict is not PASS'}"
