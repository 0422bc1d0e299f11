"""A task to evaluate as a JSON document: `schemas/task-evaluation-input.schema.json`.

The models below are the schema. Texts may hold what JSON can escape and no store can keep, NULs and
lone surrogates; they are repaired where they are evidence and refused where they are ids.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, NoReturn

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    StrictBool,
    StrictInt,
    ValidationError,
    WithJsonSchema,
)
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from steelyard.errors import InvalidInputError, LimitError, SteelyardError, Violation
from steelyard.scoring import evidence as ev
from steelyard.scoring.followups import (
    FollowUpPolicy,
    FollowUpSetting,
    OpenTask,
    PolicyMode,
    policy_for_setting,
)
from steelyard.scoring.policy import TASK_EVALUATION, Policy
from steelyard.scoring.ports import Kept, TaskEvaluationStore, keep
from steelyard.scoring.signals import TaskSignals
from steelyard.scoring.task_evaluation import evaluate_task
from steelyard.scoring.task_types import AiScores, Claim, RawReply, TaskEvaluationRequest

__all__ = ["EvaluatedDocument", "evaluate_document", "input_schema"]

MAX_DOCUMENT_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class EvaluatedDocument:
    """The result of a document, and whether it was persisted."""

    kept: Kept
    persisted: bool


def evaluate_document(
    data: bytes,
    policy_of: Callable[[str, int], Policy],
    store: TaskEvaluationStore | None = None,
) -> EvaluatedDocument:
    """Evaluate the task of a JSON document, and keep the result if the document says so.

    `policy_of` finds the policy of a name and version, for documents that name one.

    Errors: LimitError DOCUMENT_TOO_LARGE; InvalidInputError NOT_JSON, DUPLICATE_KEY, FIELD_INVALID,
    INPUT_MISSING, SCORE_MISSING or SCORE_AMBIGUOUS; those of `evaluate_task` and `keep`. Paths name
    members as the document writes them.
    """
    try:
        document = TaskDocument.model_validate(_load(data))
        request = document.request()
        policy = TASK_EVALUATION
        if document.policy is not None:
            policy = policy_of(document.policy.name, document.policy.version)
        evaluation = evaluate_task(request, policy)
        kept = Kept(evaluation, replayed=False)
        if document.persist:
            kept = keep(evaluation, document.idempotency_key, store)
    except ValidationError as error:
        raise _refusal(error) from None
    except SteelyardError as error:
        raise _in_document_terms(error) from error
    return EvaluatedDocument(kept, document.persist)


def input_schema() -> dict[str, Any]:
    """The JSON Schema of documents."""
    schema = TaskDocument.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _text(value: object) -> str:
    # Not pydantic's own string: that refuses lone surrogates, which evidence may hold.
    if not isinstance(value, str):
        raise PydanticCustomError("string_type", "Input should be a string")
    return value


Text = Annotated[str, PlainValidator(_text), WithJsonSchema({"type": "string"})]
Score = Annotated[StrictInt, Field(description="0..100")]
Count = Annotated[StrictInt, Field(description="0..4294967295")]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel)


class EntryDocument(_Model):
    """A piece of metadata or a document."""

    id: Text = ""
    label: Text = ""
    timestamp: Annotated[Text, Field(description="RFC 3339 with an offset")] = ""
    excerpt: Text = ""
    truncated: StrictBool = False
    repaired: StrictBool = False

    def members(self) -> dict[str, Any]:
        """The members under the names of the domain's type."""
        return {name: getattr(self, name) for name in type(self).model_fields}


class CommitDocument(EntryDocument):
    """A commit."""

    sha: Annotated[Text, Field(description="7 to 64 hex digits")]
    subject: Text = ""
    author_name: Text = ""


class StepDocument(EntryDocument):
    """A step of the workflow."""

    status: ev.StepStatus
    duration_ms: StrictInt | None = None


class ReviewDocument(EntryDocument):
    """A review; only the status "approved" gives full marks."""

    status: Text = ""


class LogDocument(EntryDocument):
    """An entry of a log."""

    severity: ev.Severity = ev.Severity.INFO
    duration_ms: StrictInt | None = None


class DroppedDocument(_Model):
    """How many entries an earlier normalisation left out, by group."""

    task_metadata: StrictInt = 0
    commits: StrictInt = 0
    workflow: StrictInt = 0
    reviews: StrictInt = 0
    documents: StrictInt = 0
    task_activity: StrictInt = 0
    agent_logs: StrictInt = 0
    run_audit: StrictInt = 0


class EvidenceDocument(_Model):
    """What is known about the task, each group in the order it was recorded."""

    task_metadata: list[EntryDocument] = []
    commits: list[CommitDocument] = []
    workflow: list[StepDocument] = []
    reviews: list[ReviewDocument] = []
    documents: list[EntryDocument] = []
    task_activity: list[LogDocument] = []
    agent_logs: list[LogDocument] = []
    run_audit: list[LogDocument] = []
    dropped: DroppedDocument = DroppedDocument()

    def evidence(self) -> ev.Evidence:
        """The evidence."""
        return ev.Evidence(
            task_metadata=tuple(ev.Entry(**entry.members()) for entry in self.task_metadata),
            commits=tuple(ev.Commit(**entry.members()) for entry in self.commits),
            workflow=tuple(ev.WorkflowStep(**entry.members()) for entry in self.workflow),
            reviews=tuple(ev.Review(**entry.members()) for entry in self.reviews),
            documents=tuple(ev.Entry(**entry.members()) for entry in self.documents),
            task_activity=tuple(ev.LogEntry(**entry.members()) for entry in self.task_activity),
            agent_logs=tuple(ev.LogEntry(**entry.members()) for entry in self.agent_logs),
            run_audit=tuple(ev.LogEntry(**entry.members()) for entry in self.run_audit),
            dropped={group: getattr(self.dropped, name) for group, name in ev.FIELD_NAMES.items()},
        )


class SignalsDocument(_Model):
    """Facts about the task, counted. Passed, failed and pending are together at most the total."""

    workflow_total: Count = 0
    workflow_passed: Count = 0
    workflow_failed: Count = 0
    workflow_pending: Count = 0
    commits: Count = 0
    errors: Count = 0
    warnings: Count = 0
    review_status: Text = ""
    timing_entries: Count = 0


class AiScoreDocument(_Model):
    """A judge's opinion of one category: a score, or 1 to 1,024 samples."""

    score: Score | None = None
    samples: list[Score] | None = None
    rationale: Text = ""
    evidence: Annotated[list[Text], Field(description="ids of the evidence")] = []

    def value(self, path: str) -> int | list[int]:
        """The score or the samples."""
        if self.score is not None and self.samples is not None:
            raise InvalidInputError.at(path, "SCORE_AMBIGUOUS", "has both score and samples")
        if self.score is not None:
            return self.score
        if self.samples is not None:
            return self.samples
        raise InvalidInputError.at(path, "SCORE_MISSING", "has neither score nor samples")


class ClaimDocument(_Model):
    """Scores that the caller believes to be the result; a difference is refused."""

    final_scores: dict[str, Score] = {}
    overall_score: Score | None = None


class OpenTaskDocument(_Model):
    """A task of the caller's board; in column done or archived it is not open."""

    task_id: Text
    title: Text = ""
    column: Text = ""


class PolicyDocument(_Model):
    """A scoring policy; version 0 is the highest one loaded."""

    name: Text
    version: Annotated[StrictInt, Field(ge=0, le=2**32 - 1)] = 0


class TaskDocument(_Model):
    """One task to evaluate.

    The scores from facts are `deterministic` or `signals`; with neither, signals are counted from
    `evidence`. The judge's opinion is `ai` or `aiReply`. A draft has title, description, reason and
    evidenceRefs; a malformed one becomes a suppressed suggestion.
    """

    model_config = ConfigDict(title="Task evaluation input")

    task_id: Text
    run_id: Text = ""
    policy: PolicyDocument | None = None
    deterministic: dict[str, Score] | None = None
    signals: SignalsDocument | None = None
    ai: dict[str, AiScoreDocument] | None = None
    ai_reply: Annotated[Text, Field(description="a model's raw reply")] | None = None
    evidence: EvidenceDocument | None = None
    claim: ClaimDocument = ClaimDocument()
    follow_up_drafts: list[Any] = []
    open_tasks: list[OpenTaskDocument] = []
    policy_mode: PolicyMode | None = None
    project_setting: FollowUpSetting | None = None
    idempotency_key: Text = ""
    persist: StrictBool = False

    def request(self) -> TaskEvaluationRequest:
        """The request. Raises InvalidInputError where the document is no single request."""
        _refuse_both("signals", self.signals, "deterministic", self.deterministic)
        _refuse_both("ai_reply", self.ai_reply, "ai", self.ai)
        _refuse_both("project_setting", self.project_setting, "policy_mode", self.policy_mode)
        return TaskEvaluationRequest(
            task_id=self.task_id,
            run_id=self.run_id,
            deterministic=self.deterministic
            if self.signals is None
            else TaskSignals(**dict(self.signals)),
            ai=self._opinion(),
            evidence=None if self.evidence is None else self.evidence.evidence(),
            claim=Claim(self.claim.final_scores, self.claim.overall_score),
            drafts=self.follow_up_drafts,
            open_tasks=[
                OpenTask(task.task_id, task.title, task.column) for task in self.open_tasks
            ],
            follow_up_policy=policy_for_setting(self.project_setting)
            if self.policy_mode is None
            else FollowUpPolicy(self.policy_mode, keeps_suggestions=True),
        )

    def _opinion(self) -> AiScores | RawReply:
        if self.ai_reply is not None:
            return RawReply(self.ai_reply)
        if self.ai is None:
            raise InvalidInputError.at("ai", "INPUT_MISSING", "give ai scores or a raw reply")
        return AiScores(
            scores={name: entry.value(f"ai.{name}") for name, entry in self.ai.items()},
            rationales={name: entry.rationale for name, entry in self.ai.items()},
            citations={name: entry.evidence for name, entry in self.ai.items()},
        )


def _refuse_both(path: str, value: object, other: str, other_value: object) -> None:
    if value is not None and other_value is not None:
        raise InvalidInputError.at(path, "INPUT_AMBIGUOUS", f"is given beside {to_camel(other)}")


def _load(data: bytes) -> object:
    if len(data) > MAX_DOCUMENT_BYTES:
        raise LimitError("DOCUMENT_TOO_LARGE", f"is longer than {MAX_DOCUMENT_BYTES} bytes")
    try:
        return json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_unique,
            parse_constant=_refuse_constant,
        )
    except InvalidInputError:
        raise
    except (ValueError, RecursionError) as error:
        raise InvalidInputError("NOT_JSON", f"not a JSON document: {error}") from error


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members: dict[str, object] = {}
    for name, value in pairs:
        if name in members:
            raise InvalidInputError("DUPLICATE_KEY", f"member {name!r} is given twice in an object")
        members[name] = value
    return members


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _refusal(error: ValidationError) -> InvalidInputError:
    violations = [
        Violation(_path(detail["loc"]), "FIELD_INVALID", detail["msg"])
        for detail in error.errors(include_url=False, include_input=False)
    ]
    first = violations[0]
    return InvalidInputError(first.reason, f"{first.path}: {first.message}", violations)


def _path(location: tuple[int | str, ...]) -> str:
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in location]
    return "".join(parts).removeprefix(".")


_DOCUMENT_NAMES = {
    name: to_camel(name)
    for model in (TaskDocument, EvidenceDocument, CommitDocument, StepDocument, SignalsDocument)
    for name in (*model.model_fields, "final_scores", "overall_score")
}


def _in_document_terms(error: SteelyardError) -> SteelyardError:
    """The same error with the members named as a document names them."""
    violations = [
        Violation(_document_path(violation.path), violation.reason, violation.message)
        for violation in error.violations
    ]
    message = error.message
    for violation in error.violations:
        prefix = f"{violation.path}: "
        if message.startswith(prefix):
            message = f"{_document_path(violation.path)}: {message.removeprefix(prefix)}"
            break
    return type(error)(error.reason, message, violations)


def _document_path(path: str) -> str:
    parts = []
    for part in path.split("."):
        name, bracket, rest = part.partition("[")
        parts.append(_DOCUMENT_NAMES.get(name, name) + bracket + rest)
    return ".".join(parts)
