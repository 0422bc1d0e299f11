"""One cause reported by several tools is one item with several sources."""

from __future__ import annotations

from dataclasses import replace

from steelyard.ingest import Finding, Kind, Position, Severity, Source, merge

UNUSED = Finding(
    tool="ruff",
    kind=Kind.LINT,
    severity=Severity.WARNING,
    message="`os` imported but unused",
    rule_id="F401",
    path="a.py",
    position=Position(3, 8),
)


def test_same_place_and_rule() -> None:
    other = replace(UNUSED, tool="sarif", severity=Severity.ERROR, message="unused import")
    (merged,) = merge([("lint", UNUSED), ("scan", other)])
    assert merged.finding == other
    assert merged.sources == (Source("lint", "ruff", "F401"), Source("scan", "sarif", "F401"))


def test_same_place_and_words() -> None:
    other = replace(UNUSED, tool="flake8", rule_id=None, message="'os' imported, but unused.")
    assert len(merge([("a", UNUSED), ("b", other)])) == 1


def test_a_chain_of_causes_is_one() -> None:
    first = replace(UNUSED, rule_id="A", message="one")
    second = replace(UNUSED, rule_id="B", message="one", tool="x")
    third = replace(UNUSED, rule_id="B", message="two", tool="y")
    assert len(merge([("a", first), ("b", third), ("c", second)])) == 1


def test_different_lines_files_or_causes_stay_apart() -> None:
    others = [
        replace(UNUSED, position=Position(4, 8)),
        replace(UNUSED, path="b.py"),
        replace(UNUSED, rule_id="F811", message="redefinition"),
    ]
    assert len(merge([("a", UNUSED), *(("b", other) for other in others)])) == 4


def test_without_a_line_only_the_same_is_one() -> None:
    failed = replace(UNUSED, position=None, test_name="t1", rule_id=None)
    assert len(merge([("a", failed), ("b", replace(failed, tool="x"))])) == 1
    assert len(merge([("a", failed), ("b", replace(failed, test_name="t2"))])) == 2


def test_sorted_by_gravity_then_place() -> None:
    error = replace(UNUSED, severity=Severity.ERROR, path="z.py")
    items = [("a", UNUSED), ("a", error), ("a", replace(UNUSED, position=Position(1)))]
    assert [
        (m.finding.severity, m.finding.path, m.finding.position and m.finding.position.line)
        for m in merge(items)
    ] == [("error", "z.py", 3), ("warning", "a.py", 1), ("warning", "a.py", 3)]
