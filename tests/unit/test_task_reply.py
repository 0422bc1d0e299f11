"""Raw replies of a model: which are read, and which member a refusal names."""

from __future__ import annotations

import json
from typing import Any

import pytest

from steelyard.errors import InvalidInputError, LimitError
from steelyard.scoring.ai_reply import parse_reply
from steelyard.scoring.reply_json import find_object

CATEGORIES = ("one", "two")


def reply(**changes: Any) -> dict[str, Any]:
    """A reply that keeps the contract, with changes to the category `one`."""
    good = {"score": 80, "rationale": "because", "evidence": ["workflow-1"]}
    one = {name: value for name, value in (good | changes).items() if value is not ...}
    return {"categories": {"one": one, "two": good}}


def parse(value: Any) -> Any:
    return parse_reply(value if isinstance(value, str) else json.dumps(value), CATEGORIES)


def refused(value: Any) -> tuple[str, str]:
    with pytest.raises((InvalidInputError, LimitError)) as caught:
        parse(value)
    violation = caught.value.violations[0]
    return violation.path, violation.reason


BODY = json.dumps(reply())


@pytest.mark.parametrize(
    "text",
    [
        BODY,
        f"  {BODY}\n",
        json.dumps(reply(), indent=2),
        f"```json\n{BODY}\n```",
        f"```\n{BODY}\n```",
        f"```JSON\r\n{BODY}\r\n```\r\n",
        f"Sure, here you are:\n\n```json\n{BODY}\n```\nAnything else?",
        f"Using {{schema}} and {{}}: {BODY} see {{x}}",
        f'It\'s a "quote" and a brace }} then {BODY}',
        f'Not this {{"a": 1}}, but this:\n```json\n{BODY}\n```',
        f"[{BODY}]",
        f"\ufeff{BODY}",
    ],
)
def test_one_object_is_found_wherever_it_is(text: str) -> None:
    assert [judgement.score for judgement in parse(text).judgements] == [80, 80]


def test_strings_may_hold_anything() -> None:
    rationale = 'braces } { and ``` fences\n```json\n{"a":1}\n``` and "quotes" \\'
    found = parse("```json\n" + json.dumps(reply(rationale=rationale)) + "\n```")
    assert found.judgements[0].rationale == rationale


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "REPLY_WITHOUT_OBJECT"),
        ("null", "REPLY_WITHOUT_OBJECT"),
        ("I cannot judge this.", "REPLY_WITHOUT_OBJECT"),
        ("{}", "REPLY_WITHOUT_OBJECT"),
        (BODY + "\n" + BODY, "REPLY_AMBIGUOUS"),
        (f"```json\n{BODY}\n```\n```json\n{BODY}\n```", "REPLY_AMBIGUOUS"),
        (BODY[:-1], "REPLY_NOT_JSON"),
        (BODY[:40], "REPLY_NOT_JSON"),
        (BODY.replace("80", "NaN", 1), "REPLY_NOT_JSON"),
        (BODY.replace("80", "-Infinity", 1), "REPLY_NOT_JSON"),
        (BODY.replace("80", "08", 1), "REPLY_NOT_JSON"),
        (BODY.replace('"one"', "'one'"), "REPLY_NOT_JSON"),
        ('{"a":' * 65 + "1" + "}" * 65, "REPLY_NOT_JSON"),
        ('{"a":' + "[" * 100_000, "REPLY_NOT_JSON"),
        ("x" * 1_048_577, "TEXT_TOO_LONG"),
    ],
)
def test_what_is_no_single_object(text: str, reason: str) -> None:
    assert refused(text) == ("ai_reply", reason)


@pytest.mark.parametrize(
    "text",
    ['{"' * 500_000, "{" * 1_000_000, '{"a":1}' * 140_000, '{"\\' * 300_000, "`" * 1_000_000],
)
def test_hostile_replies_are_refused_in_linear_time(text: str) -> None:
    with pytest.raises(InvalidInputError):
        parse(text)


def test_duplicate_keys_are_refused_with_their_path() -> None:
    twice = BODY.replace('"score": 80', '"score": 10, "score": 80', 1)
    assert refused(twice) == ("ai_reply.categories.one.score", "DUPLICATE_KEY")
    twice = BODY[:-1] + ', "categories": {}}'
    assert refused(twice) == ("ai_reply.categories", "DUPLICATE_KEY")
    escaped = BODY.replace('"score": 80', '"score": 10, "\\u0073core": 80', 1)
    assert refused(escaped) == ("ai_reply.categories.one.score", "DUPLICATE_KEY")
    deep = json.dumps(reply())[:-1] + ', "followUpDrafts": [{"title": "a", "title": "b"}]}'
    assert refused(deep) == ("ai_reply.followUpDrafts[0].title", "DUPLICATE_KEY")


@pytest.mark.parametrize("literal", ["80", "80.0", "8e1", "0.8e2", "800E-1"])
def test_an_integer_however_it_is_spelt(literal: str) -> None:
    found = parse(BODY.replace("80", literal, 1))
    assert found.judgements[0].score == 80
    assert type(found.judgements[0].score) is int


@pytest.mark.parametrize("literal", ["-0", "0", "0.0", "100"])
def test_the_ends_of_the_scale(literal: str) -> None:
    assert parse(BODY.replace("80", literal, 1)).judgements[0].score in (0, 100)


@pytest.mark.parametrize(
    ("literal", "reason"),
    [
        ("80.5", "SCORE_INVALID"),
        ("79.99999999999999999999999999", "SCORE_INVALID"),
        ("1e-999999", "SCORE_INVALID"),
        ("true", "SCORE_INVALID"),
        ("null", "SCORE_INVALID"),
        ('"80"', "SCORE_INVALID"),
        ("[80]", "SCORE_INVALID"),
        ("1e99999999999999999999", "SCORE_INVALID"),
        ("101", "SCORE_OUT_OF_RANGE"),
        ("-1", "SCORE_OUT_OF_RANGE"),
        ("100.5", "SCORE_OUT_OF_RANGE"),
        ("1e400", "SCORE_OUT_OF_RANGE"),
        ("1e999999999", "SCORE_OUT_OF_RANGE"),
        ("9" * 10_000, "SCORE_OUT_OF_RANGE"),
    ],
)
def test_what_is_no_score(literal: str, reason: str) -> None:
    assert refused(BODY.replace("80", literal, 1)) == ("ai_reply.categories.one.score", reason)


@pytest.mark.parametrize(
    ("changes", "member", "reason"),
    [
        ({"score": ...}, ".score", "SCORE_INVALID"),
        ({"rationale": ...}, ".rationale", "RATIONALE_BLANK"),
        ({"rationale": ""}, ".rationale", "RATIONALE_BLANK"),
        ({"rationale": " \t\u00a0\u200b\ufeff"}, ".rationale", "RATIONALE_BLANK"),
        ({"rationale": 1}, ".rationale", "RATIONALE_BLANK"),
        ({"evidence": ...}, ".evidence", "EVIDENCE_EMPTY"),
        ({"evidence": []}, ".evidence", "EVIDENCE_EMPTY"),
        ({"evidence": {}}, ".evidence", "EVIDENCE_EMPTY"),
        ({"evidence": ["workflow-1", None]}, ".evidence[1]", "EVIDENCE_INVALID"),
        ({"evidence": [{}]}, ".evidence[0]", "EVIDENCE_INVALID"),
        ({"evidence": [" "]}, ".evidence[0]", "EVIDENCE_INVALID"),
        ({"evidence": [{"id": 7, "label": "x"}]}, ".evidence[0]", "EVIDENCE_INVALID"),
        ({"evidence": ["x"] * 101}, ".evidence", "TOO_MANY_ENTRIES"),
    ],
)
def test_broken_members_are_named(changes: dict[str, Any], member: str, reason: str) -> None:
    assert refused(reply(**changes)) == (f"ai_reply.categories.one{member}", reason)


def test_the_categories_are_exactly_the_policys() -> None:
    value = reply()
    del value["categories"]["two"]
    assert refused(value) == ("ai_reply.categories.two", "CATEGORY_MISSING")
    value = reply()
    value["categories"]["three"] = value["categories"]["two"]
    assert refused(value) == ("ai_reply.categories.three", "CATEGORY_UNKNOWN")
    assert refused({"categories": []}) == ("ai_reply.categories", "TYPE_INVALID")
    assert refused({"score": 1}) == ("ai_reply.categories", "TYPE_INVALID")
    value = reply()
    value["categories"]["one"] = 80
    assert refused(value) == ("ai_reply.categories.one", "TYPE_INVALID")


def test_members_around_the_categories() -> None:
    found = parse(reply() | {"overallRationale": "fine\x00", "followUpDrafts": [1, None]})
    assert found.overall_rationale == "fine\ufffd"
    assert len(found.drafts) == 2
    assert refused(reply() | {"overallRationale": 1})[0] == "ai_reply.overallRationale"
    assert refused(reply() | {"followUpDrafts": {}})[0] == "ai_reply.followUpDrafts"
    assert refused(reply() | {"followUpDrafts": [1] * 101})[1] == "TOO_MANY_ENTRIES"
    assert parse(reply() | {"__proto__": {"x": 1}, "confidence": 0.5}).drafts == ()


def test_citations_are_ids_or_objects_that_name_one() -> None:
    evidence = [
        " workflow-1 ",
        {"evidenceId": "commit-abc1234"},
        {"id": "doc-1", "label": "ignored"},
        {"kind": "review", "label": "review-1"},
    ]
    citations = parse(reply(evidence=evidence)).judgements[0].citations
    assert [citation.evidence_id for citation in citations] == [
        "workflow-1",
        "commit-abc1234",
        "doc-1",
        "review-1",
    ]
    assert citations[3].path == "ai_reply.categories.one.evidence[3]"


def test_texts_are_storable_and_bounded() -> None:
    rationale = "\ud800" + "x" * 5_000
    found = parse(reply(rationale=rationale, evidence=["\udfff" + "y" * 500]))
    judgement = found.judgements[0]
    assert judgement.rationale == "\ufffd" + "x" * 3_986 + "… [truncated]"
    assert judgement.citations[0].evidence_id == "\ufffd" + "y" * 159


def test_a_long_key_does_not_make_a_long_path() -> None:
    key = "\x00" + "k" * 10_000
    text = f"{{{json.dumps(key)}: 1, {json.dumps(key)}: 2}}"
    with pytest.raises(InvalidInputError) as caught:
        find_object(text, "ai_reply")
    assert caught.value.violations[0].path == "ai_reply.\ufffd" + "k" * 79
