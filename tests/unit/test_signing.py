"""Keys, trusted keys and signed reports."""

from __future__ import annotations

import base64
import copy
import json
from pathlib import Path
from typing import Any

import pytest

from steelyard._core import hash_object
from steelyard.errors import (
    AlreadyExistsError,
    InvalidInputError,
    NotFoundError,
    PreconditionError,
    SteelyardError,
)
from steelyard.signing import (
    TrustedKeys,
    check_signature,
    new_key,
    read_private_key,
    read_public_key,
    sign_report,
    sign_test_result,
    trust_key,
)

HASH = "ab" * 32


def report(**changes: Any) -> dict[str, Any]:
    return {
        "squad": "demo",
        "generated_at": "2026-01-02T03:04:05.678Z",
        "verdict": "PASS",
        "inputs": {
            "manifest_hash": "00" * 32,
            "sources": [
                {"path": "a.md", "hash": "11" * 32},
                {"path": "a.md", "hash": "11" * 32},
                {"path": "gone.md", "hash": None},
            ],
        },
        "precheck": {"status": "pass"},
        "source_rubric": {"status": "pass", "criteria": [{"id": "c1", "status": "pass"}]},
        "held_out": {
            "status": "warn",
            "cases": [{"id": "h1", "status": "warn"}, {"id": "h2", "status": "unverified"}],
        },
        "genome_comparison": {"status": "not-applicable"},
        "reproduction": {"run_id": "r", "engine_hash": "22" * 32},
        **changes,
    }


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "ci"
    new_key(path)
    return path


@pytest.fixture
def trusted(tmp_path: Path, key: Path) -> TrustedKeys:
    return trust_key(tmp_path / "trusted.json", read_public_key(Path(f"{key}.pub")), "ci")


def signed(key: Path, **changes: Any) -> dict[str, Any]:
    document = report(**changes)
    document["signature"] = sign_report(document, HASH, read_private_key(key))
    return document


def statement(envelope: dict[str, Any]) -> dict[str, Any]:
    return json.loads(base64.b64decode(envelope["payload"]))


def test_a_new_key_is_private_and_replaces_nothing(tmp_path: Path, key: Path) -> None:
    assert key.stat().st_mode & 0o777 == 0o600
    assert read_public_key(key) == read_public_key(Path(f"{key}.pub"))
    before = key.read_bytes()
    with pytest.raises(AlreadyExistsError):
        new_key(key)
    (tmp_path / "other.pub").write_text("x")
    with pytest.raises(AlreadyExistsError):
        new_key(tmp_path / "other")
    assert key.read_bytes() == before
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o622])
def test_a_private_key_that_others_can_reach_is_refused(key: Path, mode: int) -> None:
    key.chmod(mode)
    with pytest.raises(PreconditionError) as caught:
        read_private_key(key)
    assert caught.value.reason == "KEY_FILE_MODE"


@pytest.mark.parametrize("content", [b"", b"secret-looking text", b"\xff" * 70_000])
def test_a_file_that_is_no_key_is_refused_without_quoting_it(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "key"
    path.write_bytes(content)
    path.chmod(0o600)
    for read in (read_private_key, read_public_key):
        with pytest.raises(InvalidInputError) as caught:
            read(path)
        assert caught.value.reason == "KEY_INVALID"
        assert "secret-looking" not in str(caught.value)
    with pytest.raises(NotFoundError):
        read_private_key(tmp_path / "gone")


def test_keys_of_another_kind_are_refused(tmp_path: Path) -> None:
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
        PublicFormat,
    )

    other = generate_private_key(SECP256R1())
    path = tmp_path / "ec"
    path.write_bytes(other.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    path.chmod(0o600)
    with pytest.raises(InvalidInputError):
        read_private_key(path)
    path.write_bytes(
        other.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )
    with pytest.raises(InvalidInputError):
        read_public_key(path)


def test_trust_adds_and_renames_without_losing_keys(tmp_path: Path, key: Path) -> None:
    path = tmp_path / "folder" / "trusted.json"
    second = new_key(tmp_path / "second")
    trust_key(path, read_public_key(key), "ci")
    trust_key(path, second, "second")
    trust_key(path, read_public_key(key), "build server")
    found = TrustedKeys.read(path)
    assert sorted(found.names.values()) == ["build server", "second"]
    for name in ("", "x" * 161, "a\x1b[31m"):
        with pytest.raises(InvalidInputError):
            trust_key(path, second, name)
    assert TrustedKeys.read(path) == found


def broken_trust(document: dict[str, Any]) -> list[Any]:
    ((key_id, entry),) = document["keys"].items()
    return [
        {},
        [],
        {**document, "version": 2},
        {**document, "more": 1},
        {**document, "keys": {"00" * 32: entry}},
        {**document, "keys": {key_id: {**entry, "public": entry["public"][:-1]}}},
        {**document, "keys": {key_id: {**entry, "public": "g" * 64}}},
        {**document, "keys": {key_id: {**entry, "name": 5}}},
        {**document, "keys": {key_id: {**entry, "public": entry["public"] + "\n"}}},
    ]


def test_a_trusted_keys_file_that_is_not_exactly_right_trusts_nobody(
    tmp_path: Path, trusted: TrustedKeys
) -> None:
    path = tmp_path / "trusted.json"
    document = json.loads(path.read_text())
    for broken in broken_trust(document):
        path.write_text(json.dumps(broken))
        with pytest.raises(InvalidInputError) as caught:
            TrustedKeys.read(path)
        assert caught.value.reason == "TRUSTED_KEYS_INVALID"
    path.unlink()
    with pytest.raises(InvalidInputError):
        TrustedKeys.read(path)


def test_a_signed_report_is_trusted(key: Path, trusted: TrustedKeys) -> None:
    check = check_signature(signed(key), HASH, trusted)
    assert (check.state, check.name) == ("trusted", "ci")
    assert check.key_id == read_public_key(key).keyid


def test_the_statement_is_in_toto_over_dsse(key: Path) -> None:
    envelope = signed(key)["signature"]
    assert envelope["payloadType"] == "application/vnd.in-toto+json"
    found = statement(envelope)
    assert found["_type"] == "https://in-toto.io/Statement/v1"
    assert found["predicateType"] == "urn:steelyard:gate-report:v1"
    assert found["subject"] == [
        {"name": "demo/report", "digest": {"sha256": HASH}},
        {"name": "a.md", "digest": {"sha256": "11" * 32}},
    ]
    assert found["predicate"]["verdict"] == "PASS"


def test_any_other_report_is_not_the_one_that_was_signed(key: Path, trusted: TrustedKeys) -> None:
    document = signed(key)
    # Whatever changed in the report, its recomputed hash is another one.
    other = hash_object({"anything": "else"})
    assert check_signature(document, other, trusted).state == "invalid"
    changed = {**document, "verdict": "WARN"}
    assert check_signature(changed, HASH, trusted).state == "invalid"


def test_signatures_that_do_not_count(tmp_path: Path, key: Path, trusted: TrustedKeys) -> None:
    assert check_signature(report(), HASH, trusted).state == "unsigned"
    new_key(tmp_path / "stranger")
    stranger = signed(tmp_path / "stranger")
    assert check_signature(stranger, HASH, trusted).state == "unknown_key"
    assert check_signature(signed(key), HASH, None).state == "unknown_key"
    # A stranger's signature under a trusted key's id.
    forged = copy.deepcopy(stranger)
    forged["signature"]["signatures"][0]["keyid"] = read_public_key(key).keyid
    assert check_signature(forged, HASH, trusted).state == "invalid"
    # A trusted signature over the test-result statement is none over the report.
    other = report()
    other["signature"] = sign_test_result(other, HASH, read_private_key(key))
    assert check_signature(other, HASH, trusted).state == "invalid"


def test_a_second_signature_does_not_spoil_the_trusted_one(
    tmp_path: Path, key: Path, trusted: TrustedKeys
) -> None:
    new_key(tmp_path / "stranger")
    document = signed(key)
    extra = signed(tmp_path / "stranger")["signature"]["signatures"]
    document["signature"]["signatures"] += extra
    assert check_signature(document, HASH, trusted).state == "trusted"


@pytest.mark.parametrize(
    "signature",
    [
        1,
        "x",
        [],
        {},
        True,
        {"payload": "e30=", "payloadType": "application/vnd.in-toto+json", "signatures": []},
        {"payload": "e30=", "payloadType": "text/plain", "signatures": [{"keyid": "a", "sig": ""}]},
        {
            "payload": "not base64!",
            "payloadType": "application/vnd.in-toto+json",
            "signatures": [{"keyid": "a", "sig": "!"}],
        },
        {
            "payload": "e30=",
            "payloadType": "application/vnd.in-toto+json",
            "signatures": [{"keyid": "a", "sig": "AA=="}, {"keyid": "a", "sig": "AA=="}],
        },
    ],
)
def test_a_broken_envelope_is_invalid_and_no_exception(
    trusted: TrustedKeys, signature: object
) -> None:
    assert check_signature(report(signature=signature), HASH, trusted).state == "invalid"
    assert check_signature(report(signature=signature), HASH, None).state == "invalid"


@pytest.mark.parametrize("part", ["squad", "inputs", "reproduction", "verdict", "generated_at"])
@pytest.mark.parametrize("value", [None, 1, "x", [], {}, [1], {"sources": [5, {"path": 1}]}])
def test_checking_is_total_for_reports_of_any_shape(
    key: Path, trusted: TrustedKeys, part: str, value: object
) -> None:
    document = {**signed(key), part: value}
    assert check_signature(document, HASH, trusted).state == "invalid"


@pytest.mark.parametrize(
    ("verdict", "result"),
    [
        ("PASS", "PASSED"),
        ("WARN", "WARNED"),
        ("FAIL", "FAILED"),
        ("UNVERIFIED", "FAILED"),
        ("pass", "FAILED"),
        (None, "FAILED"),
        (True, "FAILED"),
    ],
)
def test_only_a_pass_reads_as_passed(key: Path, verdict: object, result: str) -> None:
    envelope = sign_test_result(report(verdict=verdict), HASH, read_private_key(key))
    found = statement(envelope)
    assert found["predicateType"] == "https://in-toto.io/attestation/test-result/v0.1"
    predicate = found["predicate"]
    assert predicate["result"] == result
    assert predicate["configuration"][0]["digest"] == {"sha256": "00" * 32}
    assert predicate["passedTests"] == ["precheck", "criterion:c1"]
    assert predicate["warnedTests"] == ["case:h1"]
    assert predicate["failedTests"] == ["case:h2"]


def test_no_private_key_in_any_error(tmp_path: Path, key: Path) -> None:
    secret = key.read_text().splitlines()[1]
    key.write_text(key.read_text().replace("PRIVATE KEY", "PRIVATE KEX"))
    with pytest.raises(SteelyardError) as caught:
        read_private_key(key)
    assert secret not in f"{caught.value} {caught.value.__cause__}"
