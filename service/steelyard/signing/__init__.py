"""Signed gate reports: Ed25519 keys, trusted keys, DSSE envelopes over in-toto statements."""

from __future__ import annotations

from steelyard.signing.attestation import (
    REPORT_PREDICATE_TYPE,
    TEST_RESULT_PREDICATE_TYPE,
    SignatureCheck,
    check_signature,
    sign_report,
    sign_test_result,
)
from steelyard.signing.keys import new_key, read_private_key, read_public_key
from steelyard.signing.trust import TrustedKeys, default_trusted_keys_path, trust_key

__all__ = [
    "REPORT_PREDICATE_TYPE",
    "TEST_RESULT_PREDICATE_TYPE",
    "SignatureCheck",
    "TrustedKeys",
    "check_signature",
    "default_trusted_keys_path",
    "new_key",
    "read_private_key",
    "read_public_key",
    "sign_report",
    "sign_test_result",
    "trust_key",
]
