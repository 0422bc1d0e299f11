"""Caps, cascades, and the best location of a finding."""

from __future__ import annotations

import pytest

from steelyard.errors import InvalidInputError
from steelyard.ingest import Kind, Place, Position, Severity, ToolRun
from steelyard.ingest.collect import SPREAD, Collector


def collector(max_items: int = 200) -> Collector:
    return Collector(ToolRun(root="/repo", max_items=max_items), "tool")


def test_equal_findings_at_few_places_stand_for_themselves() -> None:
    out = collector()
    for line in range(1, SPREAD + 1):
        out.add(Kind.LINT, Severity.ERROR, "unused", rule="R1", file="a.py", line=line)
    findings, dropped = out.findings()
    assert [f.position and f.position.line for f in findings] == list(range(1, SPREAD + 1))
    assert (dropped, {f.count for f in findings}) == (0, {1})


def test_hundreds_of_errors_with_one_root_are_one_item_with_an_exemplar() -> None:
    out = collector()
    for line in range(1, 401):
        out.add(Kind.BUILD, Severity.ERROR, "no module 'x'", rule="E1", file="a.ts", line=line)
    out.add(Kind.BUILD, Severity.ERROR, "another", rule="E1", file="b.ts", line=1)
    (cascade, other), dropped = out.findings()
    assert (cascade.count, cascade.path, cascade.position) == (400, "a.ts", Position(1))
    assert cascade.also_at == tuple(Place("a.ts", Position(n)) for n in range(2, SPREAD + 1))
    assert (other.message, other.count, dropped) == ("another", 1, 0)
    assert out.totals().errors == 401


def test_a_named_root_collapses_findings_that_differ_in_wording() -> None:
    out = collector()
    for line in range(1, 31):
        message = f"unexpected token {line}"
        out.add(Kind.BUILD, Severity.ERROR, message, file="a.ts", line=line, root="syntax a.ts")
    (finding,), _ = out.findings()
    assert (finding.count, finding.message) == (30, "unexpected token 1")


def test_the_same_finding_again_and_again_is_one() -> None:
    out = collector()
    for _ in range(500):
        out.add(Kind.BUILD, Severity.WARNING, "unused", file="a.h", line=3)
    (finding,), dropped = out.findings()
    assert (finding.count, finding.also_at, dropped) == (500, (), 0)


def test_addresses_do_not_make_findings_different() -> None:
    out = collector()
    for n in range(20):
        out.add(Kind.TEST, Severity.ERROR, f"lost <object at 0x7f00{n:08x}>", test=f"t{n}")
    assert [f.count for f in out.findings()[0]] == [20]


def test_the_cap_keeps_errors_before_warnings_and_says_what_it_dropped() -> None:
    out = collector(max_items=3)
    for n in range(5):
        out.add(Kind.LINT, Severity.WARNING, f"warning {n}", file="a.py", line=n + 1)
    for n in range(2):
        out.add(Kind.LINT, Severity.ERROR, f"error {n}", file="a.py", line=n + 1)
    findings, dropped = out.findings()
    assert [f.message for f in findings] == ["warning 0", "error 0", "error 1"]
    assert dropped == 4
    assert (out.totals().errors, out.totals().warnings) == (2, 5)


@pytest.mark.parametrize("line", [0, -1, 2**31, None])
def test_a_line_out_of_range_is_no_line(line: int | None) -> None:
    out = collector()
    out.add(Kind.LINT, Severity.ERROR, "m", file="a.py", line=line, column=0)
    (finding,), _ = out.findings()
    assert (finding.path, finding.position) == ("a.py", None)


def test_a_place_outside_the_root_is_text() -> None:
    out = collector()
    out.add(Kind.LINT, Severity.ERROR, "m", file="/usr/include/a.h", line=3, column=2)
    (finding,), _ = out.findings()
    assert (finding.path, finding.position) == (None, None)
    assert finding.raw_location == "/usr/include/a.h:3:2"


def test_a_failure_inside_a_library_is_placed_where_the_repository_called_it() -> None:
    out = collector()
    trace = (
        'File "/repo/src/app.py", line 7, in run\n'
        'File "/repo/.venv/lib/site-packages/lib.py", line 90, in call\n'
        'File "/usr/lib/python3/json.py", line 1, in loads\n'
    )
    out.add(Kind.TEST, Severity.ERROR, "m", file="/usr/lib/python3/json.py", line=1, trace=trace)
    (finding,), _ = out.findings()
    assert (finding.path, finding.position) == ("src/app.py", Position(7))


def test_long_messages_keep_head_and_tail() -> None:
    out = collector()
    out.add(Kind.TEST, Severity.ERROR, "begin" + "x" * 100_000 + "end\x1b[0m\x00")
    (finding,), _ = out.findings()
    assert len(finding.message) < 4_100
    assert finding.message.startswith("beginxx")
    assert "\n[...]\n" in finding.message
    assert finding.message.endswith("xxend\N{REPLACEMENT CHARACTER}")


@pytest.mark.parametrize("field", ["max_items", "max_bytes"])
def test_caps_below_one_are_refused(field: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        ToolRun(**{field: 0})  # type: ignore[arg-type]  # the field name is a parameter
    assert caught.value.violations[0].path == field
