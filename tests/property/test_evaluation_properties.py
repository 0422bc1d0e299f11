"""What holds for every evaluation: monotone, independent of order, repeatable, recognisable."""

from __future__ import annotations

import contextlib
import dataclasses
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from steelyard.errors import InvalidInputError
from steelyard.evaluation import (
    Category,
    Contract,
    Criterion,
    Evaluation,
    Judgement,
    Judgements,
    Location,
    NonGoalCheck,
    Note,
    Outcome,
    OutputFormat,
    Previous,
    Priority,
    Regression,
    Ruling,
    Severity,
    Strategy,
    StrategyRun,
    Verdict,
    evaluate,
    lint_document,
    parse_contract,
    parse_judgements,
    parse_previous,
    render,
    repair_document,
    result_value,
)
from steelyard.evaluation.schema import validator
from steelyard.evaluation.summary import sentences
from steelyard.ingest import Format

settings.register_profile("evaluation", max_examples=60, deadline=None)
settings.load_profile("evaluation")

NAMES = ("sc-1-1", "sc-1-2", "sc-1-10", "a", "b")
TEXT = st.text(max_size=80)
WORDS = st.text(min_size=1, max_size=80).filter(lambda text: bool(text.strip()))
FILES = st.sampled_from(["src/a.ts", "src/b.ts", "docs/read me.md"])
TSC_NAMES = st.sampled_from(["Foo", "Bar", "Baz_1", "quxQuux"])
LINES = st.integers(1, 500)


def tsc(errors: list[tuple[str, int, str]], code: int) -> tuple[bytes, int]:
    text = "".join(
        f"{file}({line},1): error TS2304: Cannot find name '{name}'.\n"
        for file, line, name in errors
    )
    return text.encode(), code


@st.composite
def runs(draw: st.DrawFn, name: str) -> StrategyRun:
    errors = draw(st.lists(st.tuples(FILES, LINES, TSC_NAMES), max_size=5))
    report, code = tsc(errors, draw(st.sampled_from([0, 1, 2])))
    kind = draw(st.sampled_from(["report", "report", "report", "code", "skipped", "error", "cut"]))
    if kind == "code":
        return StrategyRun(name, exit_code=code)
    if kind == "skipped":
        return StrategyRun(name, skipped="not today")
    if kind == "error":
        return StrategyRun(name, error="timeout")
    return StrategyRun(
        name,
        report=report if kind == "report" else b'{"version": "2.1.0", "runs": [',
        format=Format.TSC if kind == "report" else Format.SARIF,
        exit_code=code,
    )


@st.composite
def judgements(draw: st.DrawFn, contract: Contract) -> Judgements:
    criteria = [
        Judgement(
            criterion.criterion_id,
            draw(st.sampled_from(list(Ruling))),
            draw(TEXT),
            draw(st.none() | WORDS),
            category=draw(st.none() | st.sampled_from(list(Category))),
            location=draw(st.none() | st.builds(Location, FILES, LINES)),
        )
        for criterion in contract.criteria
        if draw(st.integers(0, 5))
    ]
    return Judgements(
        tuple(criteria),
        tuple(
            draw(
                st.lists(
                    st.builds(
                        Regression,
                        WORDS,
                        TEXT,
                        st.sampled_from(list(Severity)),
                        st.lists(FILES, max_size=2).map(tuple),
                    ),
                    max_size=2,
                )
            )
        ),
        tuple(
            NonGoalCheck(index, draw(st.booleans()), draw(TEXT))
            for index in range(len(contract.non_goals))
            if draw(st.booleans())
        ),
        tuple(
            draw(
                st.lists(
                    st.builds(
                        Note,
                        WORDS,
                        st.none() | WORDS,
                        st.none() | st.sampled_from(list(Priority)),
                        st.none() | st.sampled_from(list(Category)),
                        st.none() | st.builds(Location, FILES, LINES),
                    ),
                    max_size=3,
                )
            )
        ),
    )


@dataclasses.dataclass(frozen=True)
class Round:
    contract: Contract
    runs: tuple[StrategyRun, ...]
    judgements: Judgements
    previous: Previous | None = None

    def evaluated(self) -> Evaluation:
        return evaluate(
            self.contract,
            iteration=7,
            timestamp="2026-01-31T12:00:00Z",
            runs=self.runs,
            judgements=self.judgements,
            previous=self.previous,
        )

    @property
    def passed(self) -> bool:
        return self.evaluated().result.overall_result == Verdict.PASS


@st.composite
def rounds(draw: st.DrawFn, *, likely_pass: bool = False) -> Round:
    criteria = tuple(
        Criterion(name, draw(WORDS), required=draw(st.booleans()))
        for name in draw(st.sets(st.sampled_from(NAMES), max_size=4))
    )
    names = draw(st.sets(st.sampled_from(["build", "typecheck", "lint"]), max_size=3))
    strategies = tuple(Strategy(name, required=draw(st.booleans())) for name in sorted(names))
    contract = Contract("sprint-1", "spec-1", "", criteria, strategies, ("one", "two"))
    if likely_pass:
        green = tuple(StrategyRun(s.name, report=b"ok", exit_code=0) for s in strategies)
        ruled = tuple(Judgement(c.criterion_id, Ruling.PASS, "seen") for c in criteria)
        return Round(contract, green, Judgements(ruled))
    ran = tuple(draw(runs(name)) for name in ("build", "typecheck", "extra") if draw(st.booleans()))
    return Round(contract, ran, draw(judgements(contract)))


def with_previous(round_: Round, earlier: Round) -> Round:
    """The round after another one of the same contract id."""
    first = evaluate(
        earlier.contract,
        iteration=1,
        timestamp="2026-01-30T12:00:00Z",
        runs=earlier.runs,
        judgements=earlier.judgements,
    ).result
    return dataclasses.replace(round_, previous=parse_previous(result_value(first)))


def worse(round_: Round) -> list[Round]:
    """The round with one pass turned into a fail, skip or error, or with one item deleted."""
    found = []
    for index, judgement in enumerate(round_.judgements.criteria):
        before, after = round_.judgements.criteria[:index], round_.judgements.criteria[index + 1 :]
        changes: list[tuple[Judgement, ...]] = [()]
        if judgement.ruling == Ruling.PASS:
            changes += [
                (dataclasses.replace(judgement, ruling=ruling),)
                for ruling in (Ruling.FAIL, Ruling.SKIPPED, Ruling.ERROR)
            ]
        for change in changes:
            ruled = dataclasses.replace(round_.judgements, criteria=(*before, *change, *after))
            found.append(dataclasses.replace(round_, judgements=ruled))
    declared = {strategy.name for strategy in round_.contract.strategies}
    for index, run in enumerate(round_.runs):
        before_, after_ = round_.runs[:index], round_.runs[index + 1 :]
        # A strategy that only its run names is gone with it; the contract's is skipped.
        if run.strategy in declared:
            found.append(dataclasses.replace(round_, runs=(*before_, *after_)))
        broken = [
            StrategyRun(run.strategy, run.required, skipped="skipped"),
            StrategyRun(run.strategy, run.required, error="timeout"),
            dataclasses.replace(run, exit_code=1, skipped=None),
            dataclasses.replace(run, report=None, exit_code=None),
        ]
        found += [dataclasses.replace(round_, runs=(*before_, b, *after_)) for b in broken]
    for extra in (
        Judgements(regressions=(Regression("r", "", Severity.CRITICAL),)),
        Judgements(non_goals=(NonGoalCheck(0, breached=True),)),
    ):
        ruled = dataclasses.replace(
            round_.judgements,
            regressions=(*round_.judgements.regressions, *extra.regressions),
            non_goals=(*round_.judgements.non_goals, *extra.non_goals),
        )
        found.append(dataclasses.replace(round_, judgements=ruled))
    return found


@given(st.booleans().flatmap(lambda likely: rounds(likely_pass=likely)))
def test_the_verdict_is_monotone(round_: Round) -> None:
    passed = round_.passed
    for change in worse(round_):
        assert passed or not change.passed


@given(rounds(likely_pass=True))
def test_an_untouched_round_passes_exactly_when_something_required_was_evaluated(
    round_: Round,
) -> None:
    required = [*round_.contract.criteria, *round_.contract.strategies]
    assert round_.passed == any(thing.required for thing in required)


@given(rounds(), rounds())
def test_a_previous_result_never_improves_the_verdict(round_: Round, earlier: Round) -> None:
    assert round_.passed or not with_previous(round_, earlier).passed


@given(rounds())
def test_pass_exactly_without_reasons_and_counts_that_add_up(round_: Round) -> None:
    result = round_.evaluated().result
    assert (result.overall_result == Verdict.PASS) == (not result.reasons)
    score = result.score
    outcomes = [criterion.result for criterion in result.criteria_results]
    assert score.criteria_total == len(outcomes)
    assert score.criteria_passed == outcomes.count(Outcome.PASS)
    assert score.criteria_failed == outcomes.count(Outcome.FAIL)
    assert score.criteria_skipped == outcomes.count(Outcome.SKIPPED)
    assert score.required_passed + score.required_failed <= score.required_total


@given(rounds(), rounds(), st.randoms(use_true_random=False))
def test_the_order_of_the_input_leaves_no_trace(round_: Round, earlier: Round, random: Any) -> None:
    def shuffled(values: tuple[Any, ...]) -> tuple[Any, ...]:
        copied = list(values)
        random.shuffle(copied)
        return tuple(copied)

    first = with_previous(round_, earlier)
    contract = dataclasses.replace(
        first.contract,
        criteria=shuffled(first.contract.criteria),
        strategies=shuffled(first.contract.strategies),
    )
    ruled = first.judgements
    second = Round(
        contract,
        shuffled(first.runs),
        Judgements(
            shuffled(ruled.criteria),
            shuffled(ruled.regressions),
            shuffled(ruled.non_goals),
            shuffled(ruled.notes),
        ),
        first.previous,
    )
    assert second.evaluated().result == first.evaluated().result


@given(rounds(), rounds())
def test_every_output_is_byte_identical_on_repeat(round_: Round, earlier: Round) -> None:
    later = with_previous(round_, earlier)
    for form in OutputFormat:
        assert render(later.evaluated().result, form) == render(later.evaluated().result, form)


@given(rounds(), rounds())
def test_our_own_results_always_satisfy_the_published_schema(round_: Round, earlier: Round) -> None:
    for one in (round_, with_previous(round_, earlier)):
        value = result_value(one.evaluated().result)
        assert list(validator("eval-result").iter_errors(value)) == []
        assert lint_document(value, one.contract) is not None
        again = parse_previous(value)
        assert [k.fingerprint for k in again.items] == [
            item["fingerprint"]
            for item in value["generatorFeedback"]  # type: ignore[attr-defined]  # a list
        ]


@given(rounds(), rounds())
def test_the_summary_has_two_or_three_sentences(round_: Round, earlier: Round) -> None:
    assert 2 <= sentences(with_previous(round_, earlier).evaluated().result.summary) <= 3


@given(rounds())
def test_feedback_is_sorted_and_its_fingerprints_are_different(round_: Round) -> None:
    items = round_.evaluated().result.generator_feedback
    order = list(Priority)
    keys = [
        (
            order.index(i.priority),
            i.location is None,
            i.location.file if i.location else "",
            (i.location.line or 0) if i.location else 0,
        )
        for i in items
    ]
    assert keys == sorted(keys)
    assert len({item.fingerprint for item in items}) == len(items)


REWORDED = (
    "Cannot find name '{}'.",
    "The name '{}' could not be found; did you forget an import?",
    "'{}' is not defined anywhere in this file.",
)


def prints(errors: list[tuple[str, int, str]], words: str) -> list[str]:
    text = "".join(
        f"{file}({line},1): error TS2304: {words.format(name)}\n" for file, line, name in errors
    )
    run = StrategyRun("typecheck", report=text.encode(), format=Format.TSC, exit_code=2)
    result = evaluate(
        Contract("s", "s"), iteration=1, timestamp="2026-01-31T12:00:00Z", runs=(run,)
    ).result
    return [i.fingerprint for i in result.generator_feedback]


@given(
    st.lists(st.tuples(FILES, LINES, TSC_NAMES), min_size=1, max_size=6, unique_by=lambda e: e[:2]),
    st.integers(1, 5_000),
    st.sampled_from(REWORDED),
)
def test_fingerprints_survive_line_shifts_and_rewording(
    errors: list[tuple[str, int, str]], shift: int, words: str
) -> None:
    moved = [(file, line + shift, name) for file, line, name in errors]
    assert set(prints(errors, REWORDED[0])) == set(prints(moved, words))


@given(st.lists(st.tuples(FILES, TSC_NAMES), min_size=2, max_size=6, unique=True))
def test_fingerprints_of_different_problems_differ(problems: list[tuple[str, str]]) -> None:
    alone = [prints([(file, 1, name)], REWORDED[0]) for file, name in problems]
    assert len({one[0] for one in alone}) == len(problems)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                [
                    "contractId",
                    "criteriaResults",
                    "criterionId",
                    "description",
                    "evalId",
                    "evidence",
                    "expected",
                    "file",
                    "generatorFeedback",
                    "iteration",
                    "judgements",
                    "line",
                    "nonGoals",
                    "overallResult",
                    "passed",
                    "priority",
                    "progress",
                    "regressions",
                    "required",
                    "result",
                    "score",
                    "severity",
                    "specId",
                    "strategies",
                    "successCriteria",
                    "summary",
                ]
            ),
            inner,
            max_size=6,
        )
    ),
    max_leaves=25,
)


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(JSON)
def test_any_json_is_read_or_refused_with_a_reason(value: object) -> None:
    for parse in (parse_contract, parse_judgements, parse_previous):
        with contextlib.suppress(InvalidInputError):
            parse(value)
    contract = Contract("sprint-1", "spec-1", criteria=(Criterion("sc-1", "d"),))
    lint_document(value, contract)
    repaired, _ = repair_document(value, contract)
    assert repair_document(repaired, contract) == (repaired, ())
