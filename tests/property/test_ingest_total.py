"""Reading is total and fails closed, whatever becomes of a report on its way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from steelyard.ingest import (
    Finding,
    Format,
    Kind,
    Position,
    Reason,
    Severity,
    ToolReport,
    ToolRun,
    merge,
    read_report,
)
from steelyard.ingest.paths import Locator
from steelyard.ingest.read import ADAPTERS

OUTPUTS = Path(__file__).parent.parent / "fixtures" / "outputs"
SIDECARS = {
    path.name.removesuffix(".run.json"): json.loads(path.read_text(encoding="utf-8"))
    for path in sorted(OUTPUTS.glob("*.run.json"))
}
NAMES = sorted(SIDECARS)
# No deadline: how long one example takes says more about the machine than about the code.
TOTAL = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
# Formats that show by themselves whether they are whole. Lines of findings, and text, do not.
WHOLE = {form for form, adapter in ADAPTERS.items() if not adapter.silence}


def load(name: str) -> tuple[bytes, Format, str]:
    side = SIDECARS[name]
    return (OUTPUTS / f"{name}.out").read_bytes(), Format(side["format"]), side["command"]


def check(report: ToolReport, run: ToolRun) -> None:
    """What holds for every report."""
    assert len(report.findings) <= run.max_items
    assert report.dropped >= 0
    assert len(report.excerpt) < 6_000
    report.excerpt.encode()
    for finding in report.findings:
        assert len(finding.message) < 4_100
        assert finding.count >= 1
        for text in (finding.message, finding.path, finding.test_name, finding.raw_location):
            assert text is None or text.encode() is not None
        if finding.path is not None:
            assert not finding.path.startswith("/")
            assert ".." not in finding.path.split("/")
        if finding.position is not None:
            assert finding.path is not None
            assert finding.position.line >= 1
    if report.passed:
        assert run.exit_code in (None, 0)
        assert not report.problems
        assert not report.totals.errors
        assert not report.totals.failed


@pytest.mark.parametrize("name", [n for n in NAMES if Format(SIDECARS[n]["format"]) in WHOLE])
def test_a_report_cut_short_never_passes(name: str) -> None:
    data, form, command = load(name)
    # the last place where something is missing: the counts are all there is to pytest's text, and
    # each binary that cargo runs is whole by itself
    end = len(data.rstrip())
    if form is Format.PYTEST:
        end = data.rindex(b" in ")
    elif b"test result: " in data:
        end = data.index(b"test result: ")
    lines = [place for place in range(1, end) if data[place - 1] == 0x0A]
    for cut in {*range(0, end, max(1, end // 60)), *lines[:200], end // 2, end - 1}:
        run = ToolRun(format=form, exit_code=0, command=command, root="/repo")
        report = read_report(data[:cut], run)
        if name in ("go-failing", "go-broken") and not report.totals.errors:
            continue  # the packages that passed are whole, and nothing tells that more follow
        assert not report.passed, cut
        whole = read_report(data, run)
        if whole.passed:
            reasons = {problem.reason for problem in report.problems}
            assert reasons & {Reason.REPORT_UNREADABLE, Reason.NO_TESTS_RAN}, cut
        check(report, run)


@settings(TOTAL)
@given(data=st.binary(max_size=300), form=st.none() | st.sampled_from(Format))
def test_any_bytes(data: bytes, form: Format | None) -> None:
    run = ToolRun(format=form, root="/repo", exit_code=0)
    check(read_report(data, run), run)


@settings(TOTAL, max_examples=300)
@given(
    name=st.sampled_from(NAMES),
    form=st.none() | st.sampled_from(Format),
    edits=st.lists(
        st.tuples(st.integers(0, 20_000), st.integers(0, 40), st.binary(max_size=12)), max_size=6
    ),
    exit_code=st.sampled_from([None, 0, 1]),
)
def test_any_edit_of_a_real_report(
    name: str,
    form: Format | None,
    edits: list[tuple[int, int, bytes]],
    exit_code: int | None,
) -> None:
    data, declared, command = load(name)
    for start, length, new in edits:
        start %= len(data) + 1
        data = data[:start] + new + data[start + length :]
    for chosen in (declared, form):
        run = ToolRun(
            format=chosen, exit_code=exit_code, command=command, root="/repo", max_items=5
        )
        check(read_report(data, run), run)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 2**70) | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)


def mutate(value: object, path: list[int], new: object) -> object:
    """`value` with the part that `path` leads to replaced by `new`."""
    if not path or not isinstance(value, dict | list) or not value:
        return new
    step = path[0] % len(value)
    if isinstance(value, list):
        return [mutate(v, path[1:], new) if i == step else v for i, v in enumerate(value)]
    return {
        k: mutate(v, path[1:], new) if i == step else v for i, (k, v) in enumerate(value.items())
    }


@settings(TOTAL, max_examples=400)
@given(
    name=st.sampled_from([n for n in NAMES if Format(SIDECARS[n]["format"]) in WHOLE]),
    path=st.lists(st.integers(0, 30), min_size=1, max_size=10),
    new=JSON,
)
def test_any_value_of_another_type_in_a_real_json_report(
    name: str, path: list[int], new: object
) -> None:
    data, form, command = load(name)
    try:
        documents = [json.loads(data)]
    except ValueError:
        lines = [line for line in data.splitlines() if line.startswith(b"{")]
        documents = [json.loads(line) for line in lines]
    if not documents:
        return
    documents[path[0] % len(documents)] = mutate(documents[path[0] % len(documents)], path[1:], new)
    changed = "\n".join(json.dumps(document) for document in documents).encode()
    run = ToolRun(format=form, exit_code=0, command=command, root="/repo")
    check(read_report(changed, run), run)


@settings(TOTAL)
@given(
    raw=st.text(st.sampled_from("abC:/\\.%2ef~ \x00\u00e9"), max_size=24),
    root=st.sampled_from(["/repo", "C:\\repo", "/", None]),
    cwd=st.sampled_from(["", "sub", "../up", "/repo/sub"]),
    uri=st.booleans(),
)
def test_no_path_leads_out_of_the_root(raw: str, root: str | None, cwd: str, uri: bool) -> None:
    path = Locator(root, cwd).inside(raw, uri=uri)
    if path is not None:
        assert path == "/".join(part for part in path.split("/") if part not in ("", ".", ".."))
        assert not path.startswith("/")


FINDINGS = st.builds(
    Finding,
    tool=st.sampled_from(["a", "b"]),
    kind=st.sampled_from(Kind),
    severity=st.sampled_from(Severity),
    message=st.sampled_from(["one", "One!", "two"]),
    rule_id=st.sampled_from([None, "R1", "R2"]),
    path=st.sampled_from([None, "a.py", "b.py"]),
    position=st.sampled_from([None, Position(1), Position(1, 2), Position(2)]),
)


@settings(TOTAL)
@given(items=st.lists(st.tuples(st.sampled_from(["s", "t"]), FINDINGS), max_size=8), data=st.data())
def test_merging_does_not_depend_on_the_order(
    items: list[tuple[str, Finding]], data: st.DataObject
) -> None:
    merged = merge(items)
    assert merge(data.draw(st.permutations(items))) == merged
    assert {source.strategy for m in merged for source in m.sources} == {name for name, _ in items}
