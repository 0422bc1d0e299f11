"""A gate report as a signed statement, and the check that a report is the one that was signed.

The envelope is DSSE, the statement in-toto v1. Its first subject is the report itself by its
evidence hash, which covers every field of the report but the signature; the other subjects are the
files that were judged. Whoever changes a field of a signed report must recompute that hash, and
then the signature no longer speaks of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import Key  # type: ignore[attr-defined]  # no __all__ there

from steelyard._core import canonical_json
from steelyard.signing.keys import PublicKey, Signer
from steelyard.signing.trust import TrustedKeys
from steelyard.strictjson import JsonValue, as_object, as_objects

__all__ = [
    "PAYLOAD_TYPE",
    "REPORT_PREDICATE_TYPE",
    "TEST_RESULT_PREDICATE_TYPE",
    "SignatureCheck",
    "check_signature",
    "sign_report",
    "sign_test_result",
]

PAYLOAD_TYPE: Final = "application/vnd.in-toto+json"
STATEMENT_TYPE: Final = "https://in-toto.io/Statement/v1"
REPORT_PREDICATE_TYPE: Final = "urn:steelyard:gate-report:v1"
TEST_RESULT_PREDICATE_TYPE: Final = "https://in-toto.io/attestation/test-result/v0.1"
# Every other verdict, known or not, is FAILED: only a proven pass may read as one.
TEST_RESULTS: Final[Mapping[str, str]] = {"PASS": "PASSED", "WARN": "WARNED"}

SignatureState = Literal["unsigned", "trusted", "unknown_key", "invalid"]
Json = Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class SignatureCheck:
    """What a report's signature proves.

    `trusted`: a trusted key signed exactly this report; `key_id` and `name` say which.
    `unknown_key`: signed, but by no key that is trusted. `invalid`: the envelope is broken, a
    trusted key's signature does not fit, or it signed something else. `unsigned`: no signature.
    """

    state: SignatureState
    message: str
    key_id: str | None = None
    name: str | None = None


class _EnvelopeSignature(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    keyid: str
    sig: str


class _EnvelopeModel(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    payload: str
    payloadType: Literal["application/vnd.in-toto+json"]  # noqa: N815 - DSSE's own field name
    signatures: Annotated[list[_EnvelopeSignature], Field(min_length=1, max_length=16)]


def sign_report(report: Json, evidence_hash: str, signer: Signer) -> dict[str, JsonValue]:
    """The DSSE envelope that binds `signer` to `report`, whose hash is `evidence_hash`."""
    return _sign(_report_statement(report, evidence_hash), signer)


def sign_test_result(report: Json, evidence_hash: str, signer: Signer) -> dict[str, JsonValue]:
    """The same verdict as a signed in-toto test-result attestation.

    PASS reads PASSED, WARN reads WARNED; FAIL, UNVERIFIED and anything else read FAILED.
    """
    return _sign(_test_result_statement(report, evidence_hash), signer)


def check_signature(
    report: Json, evidence_hash: str, trusted: TrustedKeys | None
) -> SignatureCheck:
    """What `report["signature"]` proves about `report`, whose recomputed hash is `evidence_hash`.

    Total: any JSON in that field gives a result.
    """
    signature = report.get("signature")
    if signature is None:
        return SignatureCheck("unsigned", "the report carries no signature")
    try:
        model = _EnvelopeModel.model_validate(signature)
        envelope = Envelope.from_dict(model.model_dump())
    except (ValidationError, ValueError):
        return SignatureCheck(
            "invalid", "the signature is no DSSE envelope of an in-toto statement"
        )
    known: list[Key] = [
        key for key_id, key in _keys(trusted).items() if key_id in envelope.signatures
    ]
    if not known:
        ids = ", ".join(sorted(envelope.signatures))
        why = "which is not among the trusted keys" if trusted else "and no keys are trusted"
        return SignatureCheck("unknown_key", f"signed by {ids}, {why}")
    try:
        accepted = envelope.verify(known, 1)
    except (VerificationError, ValueError):
        return SignatureCheck(
            "invalid", "the signature of a trusted key does not fit the statement"
        )
    if envelope.payload != canonical_json(_report_statement(report, evidence_hash)):
        return SignatureCheck("invalid", "a trusted key signed, but another report than this one")
    key_id = min(accepted)
    name = trusted.names[key_id] if trusted else None
    return SignatureCheck("trusted", f"signed by {name or key_id}", key_id, name)


def _keys(trusted: TrustedKeys | None) -> Mapping[str, PublicKey]:
    return trusted.keys if trusted else {}


def _sign(statement: dict[str, JsonValue], signer: Signer) -> dict[str, JsonValue]:
    envelope = Envelope(canonical_json(statement), PAYLOAD_TYPE, {})
    envelope.sign(signer)
    signed: dict[str, JsonValue] = envelope.to_dict()
    return signed


def _report_statement(report: Json, evidence_hash: str) -> dict[str, JsonValue]:
    reproduction = as_object(report.get("reproduction"))
    return _statement(
        report,
        evidence_hash,
        REPORT_PREDICATE_TYPE,
        {
            "squad": report.get("squad"),
            "verdict": report.get("verdict"),
            "generatedAt": report.get("generated_at"),
            "runId": reproduction.get("run_id"),
            "engineHash": reproduction.get("engine_hash"),
            "manifestHash": as_object(report.get("inputs")).get("manifest_hash"),
            "evidenceHash": evidence_hash,
        },
    )


def _test_result_statement(report: Json, evidence_hash: str) -> dict[str, JsonValue]:
    items = list(_items(report))
    return _statement(
        report,
        evidence_hash,
        TEST_RESULT_PREDICATE_TYPE,
        {
            "result": TEST_RESULTS.get(str(report.get("verdict")), "FAILED"),
            "configuration": [
                {
                    "name": "squad.manifest.json",
                    "digest": {"sha256": as_object(report.get("inputs")).get("manifest_hash")},
                }
            ],
            "passedTests": [name for name, status in items if status == "pass"],
            "warnedTests": [name for name, status in items if status == "warn"],
            "failedTests": [name for name, status in items if status not in {"pass", "warn"}],
        },
    )


def _items(report: Json) -> Iterator[tuple[str, JsonValue]]:
    """Every judged thing with its status, named for people. Not-applicable ones are no tests."""
    yield "precheck", as_object(report.get("precheck")).get("status")
    for criterion in as_objects(as_object(report.get("source_rubric")).get("criteria")):
        yield f"criterion:{criterion.get('id')}", criterion.get("status")
    for case in as_objects(as_object(report.get("held_out")).get("cases")):
        yield f"case:{case.get('id')}", case.get("status")
    comparison = as_object(report.get("genome_comparison")).get("status")
    if comparison != "not-applicable":
        yield "genome-comparison", comparison


def _statement(
    report: Json, evidence_hash: str, predicate_type: str, predicate: dict[str, JsonValue]
) -> dict[str, JsonValue]:
    subjects: list[JsonValue] = [
        {"name": f"{report.get('squad')}/report", "digest": {"sha256": evidence_hash}}
    ]
    seen: set[str] = set()
    for source in as_objects(as_object(report.get("inputs")).get("sources")):
        path, digest = source.get("path"), source.get("hash")
        if isinstance(path, str) and isinstance(digest, str) and path not in seen:
            seen.add(path)
            subjects.append({"name": path, "digest": {"sha256": digest}})
    return {
        "_type": STATEMENT_TYPE,
        "subject": subjects,
        "predicateType": predicate_type,
        "predicate": predicate,
    }
