"""Items: priority, category, place, order, one cause once."""

from __future__ import annotations

import pytest

from steelyard.evaluation import (
    Category,
    Contract,
    Criterion,
    FeedbackItem,
    Judgement,
    Judgements,
    Location,
    NonGoalCheck,
    Note,
    Priority,
    Regression,
    Ruling,
    Severity,
    Strategy,
    StrategyRun,
    evaluate,
)
from steelyard.evaluation.feedback import finding_category, finding_priority
from steelyard.ingest import Finding, Format, Kind
from steelyard.ingest import Severity as Gravity

E, W, N = Gravity.ERROR, Gravity.WARNING, Gravity.NOTE


def items(
    runs: tuple[StrategyRun, ...] = (),
    judgements: Judgements | None = None,
    contract: Contract | None = None,
) -> tuple[FeedbackItem, ...]:
    return evaluate(
        contract or Contract("sprint-1", "spec-1"),
        iteration=1,
        timestamp="2026-01-31T12:00:00Z",
        runs=runs,
        judgements=judgements,
    ).result.generator_feedback


@pytest.mark.parametrize(
    ("kind", "severity", "blocking", "priority"),
    [
        (Kind.BUILD, E, True, Priority.CRITICAL),
        (Kind.TYPECHECK, E, True, Priority.CRITICAL),
        (Kind.COLLECTION, E, True, Priority.CRITICAL),
        (Kind.TEST, E, True, Priority.HIGH),
        (Kind.RUNTIME, E, True, Priority.HIGH),
        (Kind.LINT, E, True, Priority.MEDIUM),
        (Kind.STYLE, E, True, Priority.LOW),
        (Kind.LINT, W, True, Priority.MEDIUM),
        (Kind.LINT, N, True, Priority.LOW),
        (Kind.BUILD, E, False, Priority.MEDIUM),
        (Kind.TEST, E, False, Priority.MEDIUM),
        (Kind.TYPECHECK, W, False, Priority.LOW),
        (Kind.STYLE, W, False, Priority.LOW),
    ],
)
def test_priority_of_a_finding(
    kind: Kind, severity: Gravity, blocking: bool, priority: Priority
) -> None:
    assert finding_priority(Finding("tool", kind, severity, "m"), blocking=blocking) == priority


@pytest.mark.parametrize(
    ("kind", "rule", "category"),
    [
        (Kind.TYPECHECK, "TS2304", Category.BUG),
        (Kind.TEST, None, Category.BUG),
        (Kind.LINT, "no-unused-vars", Category.QUALITY),
        (Kind.STYLE, "indent", Category.QUALITY),
        (Kind.LINT, "PERF401", Category.PERFORMANCE),
        (Kind.LINT, "react-perf/jsx-no-new-object-as-prop", Category.PERFORMANCE),
        (Kind.LINT, "superfluous-parens", Category.QUALITY),
        (Kind.LINT, "prefer-const", Category.QUALITY),
    ],
)
def test_category_of_a_finding(kind: Kind, rule: str | None, category: Category) -> None:
    assert finding_category(Finding("tool", kind, E, "m", rule_id=rule)) == category


TSC = b"src/b.ts(9,1): error TS2322: Type 'a' is not assignable to type 'b'.\n\
src/a.ts(30,5): error TS2304: Cannot find name 'Foo'.\n\
src/a.ts(4,5): error TS2304: Cannot find name 'Bar'.\n"


def test_order_is_priority_then_file_then_line_and_no_file_last() -> None:
    found = items(
        (
            StrategyRun("typecheck", required=True, report=TSC, format=Format.TSC, exit_code=2),
            StrategyRun("build", required=True, exit_code=1),
        ),
        Judgements(notes=(Note("low", priority=Priority.LOW, location=Location("a.ts", 1)),)),
    )
    places = [(i.priority, i.location and (i.location.file, i.location.line)) for i in found]
    assert places == [
        (Priority.CRITICAL, ("src/a.ts", 4)),
        (Priority.CRITICAL, ("src/a.ts", 30)),
        (Priority.CRITICAL, ("src/b.ts", 9)),
        (Priority.HIGH, None),
        (Priority.LOW, ("a.ts", 1)),
    ]


def test_one_cause_reported_twice_is_one_item_with_both_sources() -> None:
    found = items(
        (
            StrategyRun("typecheck", required=True, report=TSC, format=Format.TSC, exit_code=2),
            StrategyRun("build", report=TSC, format=Format.TSC, exit_code=2),
        )
    )
    assert [item.sources for item in found] == [("build", "typecheck")] * 3
    assert {item.priority for item in found} == {Priority.CRITICAL}


def test_a_required_strategy_that_fails_on_quality_alone_has_a_blocking_item() -> None:
    report = b'[{"filePath": "/repo/a.ts", "messages": [{"ruleId": "no-var", "severity": 2, \
"message": "Unexpected var.", "line": 3, "column": 1}], "errorCount": 1, "warningCount": 0}]'
    run = StrategyRun(
        "lint", required=True, report=report, format=Format.ESLINT, exit_code=1, root="/repo"
    )
    blocking, finding = items((run,))
    assert (blocking.priority, blocking.location) == (Priority.HIGH, None)
    assert blocking.description.startswith("Strategy lint failed.")
    assert (finding.priority, finding.category) == (Priority.MEDIUM, Category.QUALITY)
    assert finding.location == Location("a.ts", 3, None, 1)


def test_findings_outside_the_root_keep_their_place_as_text() -> None:
    report = b"/other/a.ts(3,1): error TS2304: Cannot find name 'x'.\n"
    run = StrategyRun("typecheck", report=report, format=Format.TSC, exit_code=2, root="/repo")
    (item,) = items((run,))
    assert item.location is None
    assert "/other/a.ts:3:1" in item.description


def test_the_command_becomes_the_reproduction() -> None:
    contract = Contract("s", "s", strategies=(Strategy("typecheck", command="npx tsc --noEmit"),))
    found = items((StrategyRun("typecheck", report=TSC, exit_code=2),), contract=contract)
    assert {item.reproduction for item in found} == {"Run: npx tsc --noEmit"}


CONTRACT = Contract(
    "sprint-1",
    "spec-1",
    criteria=(
        Criterion("must", "It refuses blanks.", "manual", required=True),
        Criterion("may", "It is fast.", "manual", required=False),
    ),
    non_goals=("Leave the API alone.",),
)


def failing(criterion: str, **more: object) -> Judgement:
    return Judgement(criterion, Ruling.FAIL, "seen in src/a.ts:7", "It accepts it.", **more)  # type: ignore[arg-type]  # keywords of the test


@pytest.mark.parametrize(
    ("judgement", "priority", "category"),
    [
        (failing("must"), Priority.HIGH, Category.BUG),
        (
            failing("must", category=Category.MISSING_FEATURE),
            Priority.CRITICAL,
            Category.MISSING_FEATURE,
        ),
        (failing("may"), Priority.MEDIUM, Category.BUG),
        (
            failing("may", category=Category.MISSING_FEATURE),
            Priority.MEDIUM,
            Category.MISSING_FEATURE,
        ),
    ],
)
def test_item_of_a_failed_criterion(
    judgement: Judgement, priority: Priority, category: Category
) -> None:
    (item,) = items(judgements=Judgements((judgement,)), contract=CONTRACT)
    assert (item.priority, item.category) == (priority, category)
    assert item.location == Location("src/a.ts", 7)
    assert item.description == "It accepts it."
    assert item.expected in ("It refuses blanks.", "It is fast.")


@pytest.mark.parametrize(
    ("criterion", "given", "priority"),
    [
        ("must", None, Priority.HIGH),
        ("must", Priority.LOW, Priority.HIGH),
        ("must", Priority.CRITICAL, Priority.CRITICAL),
        ("may", Priority.CRITICAL, Priority.MEDIUM),
        ("may", Priority.LOW, Priority.LOW),
        (None, Priority.CRITICAL, Priority.CRITICAL),
        (None, None, Priority.MEDIUM),
    ],
)
def test_a_note_about_a_failed_criterion_takes_its_place_and_a_fitting_priority(
    criterion: str | None, given: Priority | None, priority: Priority
) -> None:
    judgements = Judgements(
        (failing("must"), failing("may")),
        notes=(Note("note", expected="e", priority=given, criterion_id=criterion),),
    )
    found = items(judgements=judgements, contract=CONTRACT)
    assert [item.priority for item in found if item.description == "note"] == [priority]
    assert len(found) == (2 if criterion else 3)


@pytest.mark.parametrize(
    ("severity", "priority"),
    [
        (Severity.CRITICAL, Priority.CRITICAL),
        (Severity.MAJOR, Priority.HIGH),
        (Severity.MINOR, Priority.MEDIUM),
    ],
)
def test_item_of_a_regression(severity: Severity, priority: Priority) -> None:
    regression = Regression("Logout is gone", "seen", severity, ("src/b.ts", "src/a.ts"))
    (item,) = items(judgements=Judgements(regressions=(regression,)))
    assert (item.priority, item.category) == (priority, Category.REGRESSION)
    assert item.location == Location("src/a.ts")
    assert [place.file for place in item.locations] == ["src/a.ts", "src/b.ts"]


def test_item_of_a_breached_non_goal() -> None:
    check = NonGoalCheck(0, breached=True, evidence="api.ts:3 changed")
    (item,) = items(judgements=Judgements(non_goals=(check,)), contract=CONTRACT)
    assert (item.priority, item.rule_id) == (Priority.HIGH, "nonGoals[0]")
    assert item.location == Location("api.ts", 3)
    assert "Leave the API alone." in item.expected
