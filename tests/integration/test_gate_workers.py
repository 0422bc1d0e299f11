"""A whole gate over workers that misbehave or cheat: always a report, never a pass."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.squad_project import ANSWER, PRODUCER, SCORER, SquadProject, failures, guards

NOTE = (
    PRODUCER
    + """
import signal, subprocess, time
def note(pid):
    with open("pids", "a") as file:
        file.write(f"{pid}\\n")
note(os.getpid())
SLEEP = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(120)"
def child(**options):
    note(subprocess.Popen([sys.executable, "-c", SLEEP], **options).pid)
"""
)


@pytest.fixture
def project(tmp_path: Path) -> SquadProject:
    return SquadProject(tmp_path)


def alive(project: SquadProject) -> list[int]:
    """Process ids that workers noted and that still run, alone or as a group."""
    found = []
    for line in (project.root / "pids").read_text().split():
        try:
            state = Path(f"/proc/{line}/stat").read_bytes().rpartition(b")")[2].split()[0]
        except FileNotFoundError:
            continue
        if state not in {b"Z", b"X"}:
            found.append(int(line))
    return found


def test_honest_workers_pass(project: SquadProject) -> None:
    report = project.gate()
    assert (report["verdict"], report["exit_code"]) == ("PASS", 0)
    assert failures(report) == {"candidate": None, "scorer": None}
    assert report["held_out"]["cases"][0]["executions"][0]["output"] == {"answer": "one"}


def test_a_payload_of_200_kib_and_an_output_of_8_mib_are_within_the_limits(
    project: SquadProject,
) -> None:
    project.cases[0]["candidateRun"]["input"]["filler"] = "x" * 200 * 1024
    project.worker("producer", PRODUCER + "print('\"' + 'x' * (8 * 1024 * 1024 - 3) + '\"')")
    project.cases[0]["scorer"] = "scorer"
    project.write()
    report = project.gate()
    output = report["held_out"]["cases"][0]["executions"][0]["output"]
    assert (report["verdict"], len(output)) == ("PASS", 8 * 1024 * 1024 - 3)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("print('\"' + 'x' * 9 * 1024 * 1024 + '\"')", "WORKER_OUTPUT_TOO_LARGE"),
        ("print('\"' + 'x' * (8 * 1024 * 1024 - 2) + '\"')", "WORKER_OUTPUT_TOO_LARGE"),
        ("sys.stdout.buffer.write(b'\"\\xff\\xfe\"')", "WORKER_OUTPUT_INVALID"),
        ("print('[' * 1000 + ']' * 1000)", "WORKER_OUTPUT_INVALID"),
        ("print('[' * 65 + ']' * 65)", "WORKER_OUTPUT_INVALID"),
        ("print('[' * 8_000_000)", "WORKER_OUTPUT_INVALID"),
        ('print(\'{"a": 1, "a": 2}\')', "WORKER_OUTPUT_INVALID"),
        ("print('NaN')", "WORKER_OUTPUT_INVALID"),
        ("print('two words')", "WORKER_OUTPUT_INVALID"),
        ("pass", "WORKER_OUTPUT_INVALID"),
        ("sys.exit(1)", "WORKER_EXIT"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "WORKER_SIGNAL"),
        ("print('{}', flush=True); child()", "WORKER_OUTPUT_HELD"),
        (
            "signal.signal(signal.SIGTERM, signal.SIG_IGN); child(); time.sleep(120)",
            "WORKER_TIMEOUT",
        ),
    ],
)
def test_a_worker_that_fails_is_a_failed_run_in_the_report(
    project: SquadProject, code: str, expected: str
) -> None:
    project.worker("producer", NOTE + code, timeoutSeconds=3)
    report = project.gate()
    assert (report["verdict"], report["exit_code"]) == ("FAIL", 1)
    assert failures(report) == {"candidate": expected, "scorer": "NOT_RUN"}
    assert guards(report)["candidate-execution"] == "fail"
    assert alive(project) == []


def test_a_scorer_that_fails_is_one_too(project: SquadProject) -> None:
    project.worker("scorer", NOTE + "raise ValueError('no opinion')")
    report = project.gate()
    assert report["verdict"] == "FAIL"
    assert failures(report) == {"candidate": None, "scorer": "WORKER_EXIT"}
    assert "no opinion" in report["held_out"]["cases"][0]["executions"][1]["detail"]


def test_a_missing_interpreter_is_one_too(
    project: SquadProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(project.squad / "workers" / "producer")
    project.worker("producer", "console.log('{}')", "run.js")
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    report = project.gate()
    assert (report["verdict"], report["exit_code"]) == ("FAIL", 1)
    assert failures(report)["candidate"] == "WORKER_NOT_STARTED"


def test_a_secret_of_the_environment_is_not_visible(
    project: SquadProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERVICE_TOKEN", "hush-hush")
    code = "print(json.dumps(os.environ['SERVICE_TOKEN']))"
    project.worker("producer", NOTE + code)
    report = project.gate()
    assert failures(report)["candidate"] == "WORKER_EXIT"
    for file in project.squad.rglob("*"):
        assert file.is_dir() or b"hush-hush" not in file.read_bytes()


def test_a_worker_whose_answer_wavers_is_not_reproduced(project: SquadProject) -> None:
    project.worker("producer", PRODUCER + "print(json.dumps(os.getpid()))")
    report = project.gate()
    assert (report["verdict"], report["exit_code"]) == ("UNVERIFIED", 2)
    assert guards(report)["reproducibility"] == "unverified"


def test_a_case_that_is_not_deterministic_runs_once(project: SquadProject) -> None:
    project.worker("producer", NOTE + "print(1)")
    project.cases[0]["deterministic"] = False
    project.write()
    report = project.gate()
    assert report["verdict"] == "UNVERIFIED"
    assert len((project.root / "pids").read_text().split()) == 1


# --- cheating ---------------------------------------------------------------------------------

OVERWRITE = (
    PRODUCER
    + """
from pathlib import Path
scorer = Path(".aioson/squads/demo/workers/scorer/run.py")
"""
)


@pytest.mark.parametrize(
    "code",
    [
        "scorer.write_text(scorer.read_text().replace('0.9', '1.0'))",
        "scorer.with_name('helper.py').write_text('score = 1')",
        "scorer.unlink()",
        # Put back before anybody can compare.
        "text = scorer.read_text(); scorer.write_text('x'); scorer.write_text(text)",
        "os.utime(scorer, (1, 1)); scorer.chmod(0o700)",
        "text = scorer.read_text(); scorer.unlink(); scorer.write_text(text)",
        "away = scorer.parent.rename(scorer.parent.with_name('away')); away.rename(scorer.parent)",
    ],
)
def test_a_producer_that_touches_the_scorer_gains_nothing(project: SquadProject, code: str) -> None:
    project.worker("producer", OVERWRITE + code + "\nprint(1)")
    report = project.gate()
    assert (report["verdict"], report["exit_code"]) == ("FAIL", 1)
    assert failures(report)["scorer"] in {"WORKER_CHANGED", "NOT_RUN"}
    assert "WORKER_CHANGED" in failures(report).values()


def test_a_scorer_that_was_overwritten_does_not_even_run(project: SquadProject) -> None:
    code = "scorer.write_text(\"open('ran', 'w')\")\nprint(1)"
    project.worker("producer", OVERWRITE + code)
    assert failures(project.gate())["scorer"] == "WORKER_CHANGED"
    assert not (project.root / "ran").exists()


def test_a_scorer_overwritten_while_it_runs_gains_nothing(project: SquadProject) -> None:
    case = project.case("two")
    project.worker("other", OVERWRITE + "import time; time.sleep(0.5)\nscorer.touch()\nprint(1)")
    case["candidateRun"] = {"worker": "other"}
    project.worker("scorer", PRODUCER + "import time; time.sleep(1.5)\n" + SCORER)
    project.cases.append(case)
    project.write()
    report = project.gate("--jobs", "2")
    assert report["verdict"] == "FAIL"
    assert failures(report, 0)["scorer"] == "WORKER_CHANGED"


def test_a_worker_that_writes_beside_itself_has_changed(project: SquadProject) -> None:
    code = "open(os.path.dirname(__file__) + '/cache', 'w').write('x')\nprint(1)"
    project.worker("producer", PRODUCER + code)
    assert failures(project.gate())["candidate"] == "WORKER_CHANGED"


def test_importing_a_helper_does_not_change_a_worker(project: SquadProject) -> None:
    folder = project.worker("producer", PRODUCER + "import helper\nprint(helper.ANSWER)")
    (folder / "helper.py").write_text("ANSWER = 1")
    assert project.gate()["verdict"] == "PASS"
    assert sorted(path.name for path in folder.iterdir()) == ["helper.py", "run.py", "worker.json"]


@pytest.mark.parametrize("scorer", ["../workers/producer", "./producer", "producer/", ".", ""])
def test_a_scorer_by_a_path_trick_is_refused_before_anything_runs(
    project: SquadProject, scorer: str
) -> None:
    project.worker("producer", NOTE + "print(1)")
    project.cases[0]["scorer"] = scorer
    project.write()
    report = project.gate()
    assert (report["verdict"], report["exit_code"]) == ("FAIL", 3)
    assert report["precheck"]["status"] == "fail"
    assert not (project.root / "pids").exists()


def test_a_producer_that_scores_itself_is_not_independent(project: SquadProject) -> None:
    project.worker("producer", SCORER)
    project.cases[0]["scorer"] = "producer"
    project.write()
    report = project.gate()
    assert report["verdict"] in {"UNVERIFIED", "FAIL"}
    assert guards(report)["independent-evaluation"] == "unverified"


@pytest.mark.parametrize("how", ["copy", "link", "hard link"])
def test_a_copy_of_the_producer_is_no_independent_scorer(project: SquadProject, how: str) -> None:
    project.worker("producer", SCORER)
    scorer = project.squad / "workers" / "scorer"
    shutil.rmtree(scorer)
    producer = project.squad / "workers" / "producer"
    if how == "link":
        scorer.symlink_to("producer")
    else:
        shutil.copytree(
            producer, scorer, copy_function=os.link if how == "hard link" else shutil.copy2
        )
    report = project.gate()
    assert report["verdict"] in {"UNVERIFIED", "FAIL"}
    assert guards(report)["independent-evaluation"] == "unverified"


def test_a_scorer_is_shown_neither_thresholds_nor_declared_scores(project: SquadProject) -> None:
    project.cases[0]["dimensions"] = {"grounding": {"threshold": 0.654321, "critical": True}}
    code = PRODUCER + (
        "print(json.dumps({'dimensions': {'grounding': "
        "{'candidate': 0.9, 'evidence': json.dumps(payload)}}}))"
    )
    project.worker("scorer", code)
    project.write()
    report = project.gate()
    seen = report["held_out"]["cases"][0]["dimensions"][0]["evidence"]
    assert '"dimensions": ["grounding"]' in seen
    assert "0.654321" not in seen
    assert "threshold" not in seen


def test_inputs_that_differ_are_no_controlled_comparison(project: SquadProject) -> None:
    project.bind_genome()
    assert project.gate()["verdict"] == "PASS"
    project.cases[0]["baselineRun"] = {"worker": "producer", "input": {"question": "easier"}}
    project.write()
    report = project.gate()
    assert report["verdict"] == "FAIL"
    assert guards(report)["genome-ab-control"] == "fail"


def test_a_worker_cannot_be_told_it_is_another_run(project: SquadProject) -> None:
    project.cases[0]["candidateRun"]["input"]["_aioson_eval"] = {"variant": "scorer"}
    project.worker("producer", PRODUCER + "print(json.dumps(payload['_aioson_eval']['variant']))")
    project.write()
    report = project.gate()
    executions = report["held_out"]["cases"][0]["executions"]
    assert report["exit_code"] == 3 or executions[0]["output"] == "candidate"


def test_a_manifest_changed_by_a_worker_fails_every_run(project: SquadProject) -> None:
    code = (
        PRODUCER
        + """
from pathlib import Path
manifest = Path(".aioson/squads/demo/squad.manifest.json")
manifest.write_text(manifest.read_text().replace("0.8", "0.1"))
print(1)
"""
    )
    project.worker("producer", code)
    report = project.gate()
    assert report["verdict"] == "FAIL"
    assert set(failures(report).values()) == {"MANIFEST_CHANGED"}


def test_a_prompt_changed_by_a_worker_fails_the_runs_that_saw_the_old_one(
    project: SquadProject,
) -> None:
    code = (
        PRODUCER
        + """
from pathlib import Path
with Path(".aioson/squads/demo/agents/writer.md").open("a") as prompt:
    prompt.write("x")
print(1)
"""
    )
    project.worker("producer", code)
    report = project.gate()
    assert report["verdict"] == "FAIL"
    assert failures(report)["candidate"] == "PAYLOAD_MISMATCH"


# --- what cannot run at all -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("description", "program"),
    [
        ({"timeoutSeconds": 0}, "run.py"),
        ({"timeoutSeconds": -1}, "run.py"),
        ({"timeoutSeconds": 601}, "run.py"),
        ({"timeoutSeconds": "30"}, "run.py"),
        ({"timeoutSeconds": True}, "run.py"),
        ({"lockFile": "../outside.lock"}, "run.py"),
        ({"lockFile": "gone.lock"}, "run.py"),
        ({"lockFile": 5}, "run.py"),
        ({}, "main.py"),
    ],
)
def test_a_worker_that_cannot_run_stops_the_gate_at_the_precheck(
    project: SquadProject, description: dict[str, Any], program: str
) -> None:
    project.worker("producer", NOTE + "print(1)")
    shutil.rmtree(project.squad / "workers" / "scorer")
    project.worker("scorer", SCORER, program, **description)
    report = project.gate()
    assert (report["verdict"], report["exit_code"]) == ("FAIL", 3)
    assert not (project.root / "pids").exists()


def test_two_programs_and_linked_folders_stop_it_too(project: SquadProject) -> None:
    (project.squad / "workers" / "scorer" / "run.js").write_text("")
    assert project.gate()["exit_code"] == 3
    (project.squad / "workers" / "scorer" / "run.js").unlink()
    (project.squad / "workers" / "scorer" / "lib").symlink_to("../producer")
    assert project.gate()["exit_code"] == 3


def test_a_lock_file_belongs_to_the_worker(project: SquadProject) -> None:
    (project.root / "app.lock").write_text("one")
    project.worker("producer", ANSWER, lockFile="app.lock")
    first = project.gate()["held_out"]["cases"][0]["executions"][0]
    (project.root / "app.lock").write_text("two")
    second = project.gate()["held_out"]["cases"][0]["executions"][0]
    assert "/app.lock" in [source["path"] for source in first["worker_sources"]]
    assert first["worker_hash"] != second["worker_hash"]


# --- the command itself -----------------------------------------------------------------------


def test_cases_run_in_parallel_as_asked(project: SquadProject) -> None:
    # Each case waits for the other to have started.
    code = (
        PRODUCER
        + """
import time
from pathlib import Path
me, other = payload["me"], payload["other"]
Path(me).touch()
deadline = time.monotonic() + 2
while not Path(other).exists():
    if time.monotonic() > deadline:
        sys.exit("alone")
    time.sleep(0.01)
print(1)
"""
    )
    project.worker("producer", code)
    project.manifest["evaluation"]["heldOutCases"] = [
        project.case(me, candidateRun={"worker": "producer", "input": {"me": me, "other": other}})
        for me, other in (("one", "two"), ("two", "one"))
    ]
    project.write()
    assert project.gate("--jobs", "1")["verdict"] == "FAIL"
    for name in ("one", "two"):
        (project.root / name).unlink()
    assert project.gate("--jobs", "2")["verdict"] == "PASS"


def test_a_process_that_hides_from_its_run_is_gone_with_the_command(
    project: SquadProject,
) -> None:
    code = (
        NOTE
        + """
quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
child(start_new_session=True, env={}, **quiet)
print(1)
"""
    )
    project.worker("producer", code)
    process = project.start()
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert len((project.root / "pids").read_text().split()) == 4
    assert alive(project) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupting_the_command_ends_its_workers_and_writes_nothing(
    project: SquadProject, number: int
) -> None:
    project.worker("producer", NOTE + "child(); time.sleep(120)")
    process = project.start()
    deadline = time.monotonic() + 30
    while len(read_if_there(project.root / "pids").split()) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(number)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130, errors
    assert alive(project) == []
    assert not (project.squad / "evals").exists()


def read_if_there(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def test_a_terminal_gets_a_bar_and_a_pipe_gets_lines(project: SquadProject) -> None:
    project.worker("producer", "raise SystemExit(1)")
    main_end, terminal = os.openpty()
    shown = project.start(stderr=terminal)
    shown.communicate(timeout=60)
    os.close(terminal)
    text = b""
    with contextlib.suppress(OSError):
        while chunk := os.read(main_end, 65536):
            text += chunk
    os.close(main_end)
    assert b"1/1" in text
    assert b"one: candidate: WORKER_EXIT" in text
    assert b"[1/1]" not in text
    _, lines = project.start().communicate(timeout=60)
    assert lines == "[1/1] one: candidate: WORKER_EXIT\n"


def test_output_for_machines_is_one_json_object(project: SquadProject) -> None:
    result = project.run("--json")
    answer = json.loads(result.stdout)
    assert answer["verdict"] == "PASS"
    assert sorted(answer) == ["deferred", "exit_code", "files", "ready", "report", "verdict"]
    assert Path(answer["files"]["report"]).is_file()
    assert Path(answer["files"]["page"]).is_file()
