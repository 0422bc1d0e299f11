"""Scoring policies: the type, the built-in one, and the files that define others."""

from __future__ import annotations

from pathlib import Path

from steelyard._core import Policy
from steelyard.errors import InvalidInputError, NotFoundError, Violation

__all__ = ["TASK_EVALUATION", "Policy", "load_policies", "load_policy"]

MAX_POLICY_BYTES = 64 * 1024

TASK_EVALUATION = Policy.task_evaluation()
"""The built-in policy and the default, `task-evaluation` version 1."""


def load_policy(path: Path) -> Policy:
    """The policy that a TOML file defines.

    Raises InvalidInputError (POLICY_SYNTAX, POLICY_INVALID) with file, line, key and reason;
    NotFoundError where there is no such file.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_POLICY_BYTES + 1)
    except OSError as error:
        raise NotFoundError(
            "POLICY_FILE_UNREADABLE", f"{path}: {error.strerror or error}"
        ) from error
    if len(data) > MAX_POLICY_BYTES:
        raise InvalidInputError(
            "POLICY_SYNTAX", f"{path}: a policy file has at most {MAX_POLICY_BYTES} bytes"
        )
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InvalidInputError("POLICY_SYNTAX", f"{path}: line {line}: not UTF-8") from error
    try:
        return Policy.from_toml(text)
    except InvalidInputError as error:
        places = [
            Violation(violation.path, violation.reason, f"{path}: {violation.message}")
            for violation in error.violations
        ]
        raise InvalidInputError(error.reason, f"{path}: {error.message}", places) from None


def load_policies(folder: Path) -> tuple[Policy, ...]:
    """The policies of all `*.toml` files in a folder, in the order of their file names.

    Raises what `load_policy` raises, and InvalidInputError (POLICY_DUPLICATE) where two files, or a
    file and the built-in policy, define the same name and version.
    """
    if not folder.is_dir():
        raise NotFoundError("POLICY_FOLDER_MISSING", f"{folder}: no such folder")
    origins = {(TASK_EVALUATION.name, TASK_EVALUATION.version): "the built-in policy"}
    policies = []
    for path in sorted(folder.glob("*.toml")):
        policy = load_policy(path)
        key = (policy.name, policy.version)
        if key in origins:
            raise InvalidInputError(
                "POLICY_DUPLICATE",
                f"{path}: policy {policy.name}@{policy.version} is already defined by "
                f"{origins[key]}",
            )
        origins[key] = str(path)
        policies.append(policy)
    return tuple(policies)
