"""The standard of evidence, the sentence count, and the fingerprints."""

from __future__ import annotations

import pytest

from steelyard.errors import InvalidInputError
from steelyard.evaluation import (
    Contract,
    Criterion,
    Judgement,
    Judgements,
    LintMode,
    Location,
    NonGoalCheck,
    Note,
    Outcome,
    Priority,
    Regression,
    Ruling,
    Severity,
    evaluate,
)
from steelyard.evaluation.fingerprint import fingerprints, pack_tests, packed_test, skeleton
from steelyard.evaluation.standards import Method, evidence_faults, method_of, note_faults
from steelyard.evaluation.summary import sentences

P, F = Outcome.PASS, Outcome.FAIL


@pytest.mark.parametrize(
    ("method", "outcome", "evidence"),
    [
        (Method.BUILD, F, "Build exited with code 1. Error: Module not found: src/utils/auth.ts"),
        (Method.BUILD, P, "npm run build: exit 0"),
        (Method.TYPECHECK, F, "TS2304: Cannot find name 'UserType' at src/routes/auth.ts:15:22"),
        (Method.TYPECHECK, P, "tsc --noEmit printed 0 errors"),
        (Method.LINT, F, "'password' is never used (no-unused-vars) at src/routes/auth.ts:30"),
        (Method.LINT, P, "eslint . exit 0, no warnings"),
        (
            Method.UNIT_TEST,
            F,
            "Test 'should hash password' failed: expected a hash but received plain text",
        ),
        (Method.UNIT_TEST, P, "12 tests passed"),
        (Method.UNIT_TEST, P, "auth.test.ts covers the blank password"),
        (
            Method.MANUAL,
            F,
            "Reading src/Register.tsx: two input fields, the contract requires three",
        ),
        (Method.API_CHECK, F, 'POST /register returned 404 with body {"error": "no route"}'),
        (None, P, "The form shows three fields in the browser"),
    ],
)
def test_good_evidence(method: Method | None, outcome: Outcome, evidence: str) -> None:
    assert evidence_faults(evidence, outcome, method) == []


@pytest.mark.parametrize(
    ("method", "outcome", "evidence", "kind"),
    [
        (None, P, "", "EVIDENCE_MISSING"),
        (None, Outcome.SKIPPED, " \n", "EVIDENCE_MISSING"),
        (None, P, "see transcript", "EVIDENCE_POINTER_ONLY"),
        (
            Method.BUILD,
            P,
            "Independently verified; see evaluator transcript.",
            "EVIDENCE_POINTER_ONLY",
        ),
        (None, P, "As above.", "EVIDENCE_POINTER_ONLY"),
        (None, P, "tests green", "EVIDENCE_BARE_STATUS"),
        (Method.LINT, P, "All tests pass!", "EVIDENCE_BARE_STATUS"),
        (Method.BUILD, F, "Build failed", "EVIDENCE_BARE_STATUS"),
        (Method.BUILD, F, "The build seems broken somewhere", "EVIDENCE_BELOW_STANDARD"),
        (Method.TYPECHECK, F, "There are some type errors", "EVIDENCE_BELOW_STANDARD"),
        (Method.TYPECHECK, F, "TS2304 somewhere in the routes", "EVIDENCE_BELOW_STANDARD"),
        (Method.LINT, F, "src/a.ts:3 looks odd", "EVIDENCE_BELOW_STANDARD"),
        (Method.UNIT_TEST, F, "3 tests failed", "EVIDENCE_BELOW_STANDARD"),
        (Method.MANUAL, F, "The form looks incomplete", "EVIDENCE_BELOW_STANDARD"),
        (Method.API_CHECK, F, "The API answers 404", "EVIDENCE_BELOW_STANDARD"),
    ],
)
def test_bad_evidence(method: Method | None, outcome: Outcome, evidence: str, kind: str) -> None:
    assert [fault.kind for fault in evidence_faults(evidence, outcome, method)] == [kind]


def test_free_text_names_no_method() -> None:
    assert method_of(" Unit-Test ") == Method.UNIT_TEST
    assert method_of("Read file. Verify.") is None


@pytest.mark.parametrize(
    ("note", "kinds"),
    [
        (("One issue", "fix it", "a.ts", 3, Method.LINT), []),
        (("One issue", " ", "a.ts", 3, Method.LINT), ["EXPECTED_MISSING"]),
        (("One issue", "fix it", None, None, Method.LINT), ["LOCATION_MISSING"]),
        (("One issue", "fix it", "a.ts", None, Method.TYPECHECK), ["LOCATION_MISSING"]),
        (("One issue", "fix it", "a.ts", None, Method.MANUAL), []),
        (("One issue", "fix it", None, None, Method.MANUAL), ["LOCATION_MISSING"]),
        (("One issue", "fix it", None, None, None), []),
        (("(1) no button (2) no label", "fix it", None, None, None), ["SEVERAL_ISSUES"]),
        (("Broken:\n- no button\n- no label", "fix it", None, None, None), ["SEVERAL_ISSUES"]),
        (("Version 1. of the form has no label", "fix it", None, None, None), []),
    ],
)
def test_notes(
    note: tuple[str, str, str | None, int | None, Method | None], kinds: list[str]
) -> None:
    assert [fault.kind for fault in note_faults(*note)] == kinds


CONTRACT = Contract(
    "sprint-1",
    "spec-1",
    criteria=(
        Criterion("must", "d", "typecheck", required=True),
        Criterion("may", "d", "manual", required=False),
    ),
    non_goals=("n",),
)
BELOW = Judgements(
    criteria=(
        Judgement("must", Ruling.FAIL, "type errors"),
        Judgement("may", Ruling.PASS, "see log"),
    ),
    regressions=(Regression("gone", "", Severity.MINOR),),
    non_goals=(NonGoalCheck(0, breached=True, evidence="failed"),),
    notes=(
        Note("d", criterion_id="must", priority=Priority.LOW),
        Note("d", "e", criterion_id="may", priority=Priority.HIGH, location=Location("a.ts")),
    ),
)


def test_judgements_below_the_standard_are_reported_by_field() -> None:
    evaluation = evaluate(CONTRACT, iteration=1, timestamp="2026-01-31T12:00:00Z", judgements=BELOW)
    assert [(v.path, v.reason) for v in evaluation.violations] == [
        ("judgements[0].evidence", "EVIDENCE_BELOW_STANDARD"),
        ("judgements[0].feedback", "FEEDBACK_MISSING"),
        ("judgements[1].evidence", "EVIDENCE_POINTER_ONLY"),
        ("feedback[0].expected", "EXPECTED_MISSING"),
        ("feedback[0].file", "LOCATION_MISSING"),
        ("feedback[0].priority", "PRIORITY_MISFIT"),
        ("feedback[1].priority", "PRIORITY_MISFIT"),
        ("regressions[0].evidence", "EVIDENCE_MISSING"),
        ("nonGoals[0].evidence", "EVIDENCE_BARE_STATUS"),
    ]


def test_judgements_below_the_standard_can_be_rejected() -> None:
    with pytest.raises(InvalidInputError) as refused:
        evaluate(
            CONTRACT,
            iteration=1,
            timestamp="2026-01-31T12:00:00Z",
            judgements=BELOW,
            lint=LintMode.REJECT,
        )
    assert refused.value.reason == "LINT_REJECTED"
    assert len(refused.value.violations) == 9


def test_judges_that_broke_are_not_held_to_the_standard() -> None:
    broken = Judgements((Judgement("must", Ruling.ERROR, "x"),))
    evaluation = evaluate(
        CONTRACT, iteration=1, timestamp="2026-01-31T12:00:00Z", judgements=broken
    )
    assert evaluation.violations == ()


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("One", 1),
        ("One. Two", 2),
        ("One. Two! Three? ", 3),
        ("Version 3.14 of src/a.ts is 1.5 times faster, e.g. on Linux.", 1),
        ('He said "stop." Then he left.', 2),
        ("Wait... what?", 2),
        ("One.\nTwo.", 2),
        ("4/5 pass; sc-1-3 fails: ids differ.", 1),
        ("... . !", 0),
    ],
)
def test_sentences(text: str, count: int) -> None:
    assert sentences(text) == count


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Cannot find name 'Foo'.", "The name 'Foo' cannot be found."),
        ("`login()` hangs at line 12", "At line 99 the call of `login()` never returns"),
        ("user_id is unused at src/a.ts:12:3", "unused: user_id (src/a.ts:40:1)"),
        ("Expected 3 arguments", "expected  4 ARGUMENTS"),
    ],
)
def test_skeleton_ignores_prose_and_numbers(one: str, other: str) -> None:
    assert skeleton(one, identified=False) == skeleton(other, identified=False)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Cannot find name 'Foo'.", "Cannot find name 'Bar'."),
        ("Type 'a' is not assignable to 'b'", "Type 'b' is not assignable to 'a'"),
        ("The form has no label", "The form has no button"),
    ],
)
def test_skeleton_tells_problems_apart(one: str, other: str) -> None:
    assert skeleton(one, identified=False) != skeleton(other, identified=False)


def test_prose_about_a_rule_or_criterion_leaves_no_trace() -> None:
    assert skeleton("can't log in on Tuesdays", identified=True) == ""


def test_equal_identities_are_numbered_by_order_and_not_by_position() -> None:
    keys = [(("a",), (9,)), (("b",), (1,)), (("a",), (3,))]
    forward, backward = fingerprints(keys), fingerprints(keys[::-1])
    assert forward == backward[::-1]
    assert len(set(forward)) == 3
    assert forward[2] == fingerprints([(("a",), (1000,))])[0]


def test_packed_tests() -> None:
    packed = pack_tests(["a::one", "a::two"])
    assert len(packed) == 16
    assert packed_test(packed)("a::one")
    assert not packed_test(packed)("a::three")
    more = packed_test(pack_tests(["b"], carried=packed, without=["a::one"]))
    assert [more(name) for name in ("a::one", "a::two", "b")] == [False, True, True]
    assert not packed_test("no base64")("a::one")
    assert len(pack_tests(str(n) for n in range(20_000))) == 80_000
