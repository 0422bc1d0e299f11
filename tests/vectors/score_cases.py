"""The cases of Score and ScoreStream. What is expected comes from the reference alone."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import rfc8785
from google.protobuf.message import Message
from google.rpc import code_pb2
from tests.support import message_score
from wire_format import ANY, DIGEST, MALFORMED, VERSION, Case, Group, Item, Raw, Status

from steelyard import reference
from steelyard.scoring.policy import Policy, load_policies
from steelyard.v1.score_pb2 import (
    CategoryInput,
    PolicyRef,
    Provenance,
    ScoreRequest,
    ScoreResponse,
    ScoreStreamRequest,
    ScoreStreamResponse,
    TaskColumns,
    TaskRow,
    TaskRows,
)

POLICIES = Path(__file__).parent / "policies"
SCORE = "/steelyard.v1.SteelyardService/Score"
STREAM = "/steelyard.v1.SteelyardService/ScoreStream"
MAX_BATCH_TASKS = 256

# What differs from build to build, and texts for people: clients compare the shape alone.
BY_SHAPE = {
    "provenance.engineVersion": VERSION,
    "provenance.engineDigest": DIGEST,
    "rows.results.*.error.message": "^.+$",
}
ANY_TEXT = "(a text for people)"

DEFAULT = reference.TASK_EVALUATION
NAMES = tuple(category.name for category in DEFAULT.categories)


def policies() -> tuple[Policy, ...]:
    """All policies of the suite's server, the built-in one first."""
    return (Policy.task_evaluation(), *load_policies(POLICIES))


def digest_of(document: object) -> str:
    """The object hash of a JSON document."""
    return hashlib.sha256(rfc8785.dumps(document)).hexdigest()  # type: ignore[arg-type]  # any JSON


def answer(request: ScoreRequest) -> ScoreResponse:
    """What the reference answers to a request that is not refused as a whole."""
    known, origin = {}, {}
    for loaded in policies():
        key = (loaded.name, loaded.version)
        known[key] = reference.Policy.from_document(loaded.document)
        origin[key] = Provenance(
            policy_name=loaded.name,
            policy_version=loaded.version,
            policy_digest=digest_of(json.loads(loaded.document)),
            engine_version=ANY[VERSION],
            engine_digest=ANY[DIGEST],
        )
    response = message_score.score(request, known, origin, MAX_BATCH_TASKS)
    for result in response.rows.results:
        if result.HasField("error"):
            result.error.message = ANY_TEXT
    return response


# Rows.


def entry(
    category: str, deterministic: int | None, ai: int | Sequence[int] | None
) -> CategoryInput:
    """One category of a task; a list of AI scores becomes samples."""
    made = CategoryInput(category=category, deterministic_score=deterministic)
    if isinstance(ai, int):
        made.ai_score = ai
    elif ai is not None:
        made.ai_samples.extend(ai)
    return made


def task(task_id: str, *scores: tuple[int, int | Sequence[int]]) -> TaskRow:
    """A task with the categories of the built-in policy, in order."""
    categories = [entry(name, *pair) for name, pair in zip(NAMES, scores, strict=True)]
    return TaskRow(task_id=task_id, categories=categories)


def rows(*tasks: TaskRow, ref: PolicyRef | None = None) -> ScoreRequest:
    return ScoreRequest(policy=ref, rows=TaskRows(tasks=tasks))


def row_cases() -> Iterator[Case]:
    one = rows(task("T-1", (80, 75), (92, 88), (70, 60)))
    yield Case("one_task", "One task under the default policy.", [one], [answer(one)])

    edges = rows(
        task("all-zero", (0, 0), (0, 0), (0, 0)),
        task("all-hundred", (100, 100), (100, 100), (100, 100)),
        task("opposites", (0, 100), (100, 0), (50, 50)),
        # Blends whose exact value is a half and whose binary64 sum is not.
        task("halves", (1, 6), (15, 30), (55, 40)),
        task("band-edges", (39, 39), (59, 60), (75, 74)),
        task("", (40, 40), (60, 60), (90, 90)),
        task("名前 🚀 \u00e9", (12, 34), (56, 78), (90, 12)),
    )
    yield Case(
        "edges",
        "Bounds, halves, band edges, empty and non-ASCII ids.",
        [edges],
        [answer(edges)],
    )

    shuffled = rows(task("any-order", (10, 20), (30, 40), (50, 60)))
    turned = list(shuffled.rows.tasks[0].categories)[::-1]
    del shuffled.rows.tasks[0].categories[:]
    shuffled.rows.tasks[0].categories.extend(turned)
    shuffled.rows.tasks[0].categories[0].rationale = "Not read, not returned."
    shuffled.rows.tasks[0].categories[0].evidence.extend(["run/12", "review/3"])
    yield Case(
        "order_and_texts",
        "Categories in any order come back in policy order; rationale and evidence change nothing.",
        [shuffled],
        [answer(shuffled)],
    )

    samples = rows(
        task("k3", (80, [70, 75, 90]), (92, 88), (70, [60])),
        task("unstable", (75, [70, 80]), (60, [0, 100, 100]), (90, [90, 90, 89, 91])),
    )
    yield Case(
        "samples",
        "Several AI samples: the blend of their half-up mean, and how far they spread.",
        [samples],
        [answer(samples)],
    )

    explicit = rows(one.rows.tasks[0], ref=PolicyRef(name=DEFAULT.name, version=1))
    yield Case("policy_by_name", "The default policy, named.", [explicit], [answer(explicit)])


def mixed_case() -> Case:
    """One bad row for each reason, between good ones."""
    good = ((80, 75), (92, 88), (70, 60))
    spoils: list[Callable[[TaskRow], object]] = [
        # CATEGORY_MISSING, _UNKNOWN, _DUPLICATE
        lambda row: row.categories.pop(),
        lambda row: row.ClearField("categories"),
        lambda row: row.categories.append(entry("style", 50, 50)),
        lambda row: row.categories.append(entry(NAMES[0], 50, 50)),
        # SCORE_OUT_OF_RANGE
        lambda row: setattr(row.categories[1], "deterministic_score", 101),
        lambda row: setattr(row.categories[0], "deterministic_score", -(2**31)),
        lambda row: setattr(row.categories[2], "ai_score", -1),
        lambda row: row.categories[1].CopyFrom(entry(NAMES[1], 50, [50, 101, 50])),
        # SCORE_MISSING
        lambda row: row.categories[0].ClearField("deterministic_score"),
        lambda row: row.categories[1].ClearField("ai_score"),
        # SCORE_AMBIGUOUS, SAMPLES_TOO_MANY
        lambda row: row.categories[1].ai_samples.append(50),
        lambda row: row.categories[1].CopyFrom(entry(NAMES[1], 50, [1] * 1025)),
    ]
    tasks = [task("good-first", *good)]
    for spoil in spoils:
        row = task(f"bad-{len(tasks)}", *good)
        spoil(row)
        tasks.append(row)
    request = rows(*tasks, task("good-last", *good))
    return Case(
        "mixed",
        "A bad row fails alone: each reason, between rows that are scored.",
        [request],
        [answer(request)],
    )


# Columns.


def columns(
    deterministic: Sequence[Sequence[int]],
    ai: Sequence[Sequence[int]],
    task_ids: Sequence[str] = (),
    ref: PolicyRef | None = None,
) -> ScoreRequest:
    """Columns from one sequence of scores for each category."""
    return ScoreRequest(
        policy=ref,
        columns=TaskColumns(
            deterministic=b"".join(map(bytes, deterministic)),
            ai=b"".join(map(bytes, ai)),
            task_ids=task_ids,
        ),
    )


def column_cases() -> Iterator[Case]:
    one = columns([[80], [92], [70]], [[75], [88], [60]])
    yield Case("one_task", "One task, no ids.", [one], [answer(one)])
    ladder = [range(0, 101, 4), range(100, -1, -4), [(7 * i) % 101 for i in range(26)]]
    other = [[(13 * i + 5) % 101 for i in range(26)], range(0, 101, 4), [50] * 26]
    many = columns(ladder, other)
    yield Case("ladder", "26 tasks over the whole range.", [many], [answer(many)])
    named = columns([[0, 100], [39, 40], [59, 60]], [[100, 0], [41, 39], [60, 59]], ["a", "ü"])
    yield Case("with_ids", "Ids come back as they are.", [named], [answer(named)])


# Policies.


def policy_cases() -> Iterator[Case]:
    ref = PolicyRef(name="exact", version=2)

    def row(task_id: str, *scores: tuple[int, int]) -> TaskRow:
        pairs = zip(("correctness", "style"), scores, strict=True)
        categories = [entry(name, *score) for name, score in pairs]
        return TaskRow(task_id=task_id, categories=categories)

    tasks = (
        row("under-the-floor", (49, 48), (100, 100)),
        row("at-the-floor", (49, 50), (0, 0)),
        row("halves", (10, 21), (30, 21)),
        row("bands", (79, 79), (80, 80)),
    )
    request = rows(*tasks, ref=ref)
    yield Case(
        "decimal_floors_rows",
        "Exact decimal arithmetic; a final under its floor is marked and not changed.",
        [request],
        [answer(request)],
    )
    block = columns(
        [[49, 49, 10, 79], [100, 0, 30, 80]], [[48, 50, 21, 79], [100, 0, 21, 80]], ref=ref
    )
    yield Case(
        "decimal_floors_columns",
        "The same tasks by columns: below_floors in the layout of final_scores.",
        [block],
        [answer(block)],
    )
    latest = rows(tasks[0], ref=PolicyRef(name="exact"))
    yield Case(
        "highest_version",
        "Version 0 is the highest version loaded; the provenance says which.",
        [latest],
        [answer(latest)],
    )
    tiny = columns([[0, 1, 100]], [[100, 100, 0]], ref=PolicyRef(name="exact", version=1))
    yield Case("one_category", "One category and one band.", [tiny], [answer(tiny)])


# Refusals.


def raw(message: Message, extra: bytes) -> Raw:
    return Raw(message.SerializeToString(deterministic=True) + extra)


def error_cases() -> Iterator[Case]:
    refused = Status.refused
    block = columns([[80], [92], [70]], [[75], [88], [60]])
    one = task("T-1", (80, 75), (92, 88), (70, 60))

    def case(name: str, description: str, request: Item, status: Status) -> Case:
        return Case(name, description, [request], (), status)

    yield case(
        "input_missing",
        "Neither rows nor columns.",
        ScoreRequest(),
        refused("INPUT_MISSING", "input"),
    )
    yield case("rows_empty", "No task.", rows(), refused("BATCH_EMPTY", "rows.tasks"))
    yield case(
        "columns_empty",
        "No byte.",
        ScoreRequest(columns=TaskColumns()),
        refused("BATCH_EMPTY", "columns.deterministic"),
    )
    size = MAX_BATCH_TASKS + 1
    over = code_pb2.RESOURCE_EXHAUSTED
    yield case(
        "columns_too_many",
        "One task more than the server's limit.",
        columns([[1] * size] * 3, [[1] * size] * 3),
        refused("BATCH_TOO_LARGE", "columns.deterministic", over),
    )
    yield case(
        "rows_too_many",
        "One task more than the server's limit; they are counted before they are read.",
        rows(*[TaskRow()] * size),
        refused("BATCH_TOO_LARGE", "rows.tasks", over),
    )
    yield case(
        "columns_do_not_divide",
        "Four bytes for three categories.",
        ScoreRequest(columns=TaskColumns(deterministic=b"\1\2\3\4", ai=b"\1\2\3\4")),
        refused("LENGTH_MISMATCH", "columns.deterministic"),
    )
    yield case(
        "columns_differ",
        "Fewer AI scores than deterministic ones.",
        ScoreRequest(columns=TaskColumns(deterministic=b"\1\2\3", ai=b"\1\2")),
        refused("LENGTH_MISMATCH", "columns.ai"),
    )
    yield case(
        "ids_do_not_match",
        "Two ids for one task.",
        columns([[80], [92], [70]], [[75], [88], [60]], ["a", "b"]),
        refused("LENGTH_MISMATCH", "columns.task_ids"),
    )
    yield case(
        "column_score_out_of_range",
        "The first bad byte refuses the batch, naming its row and category.",
        columns([[80, 80], [92, 101], [70, 255]], [[75, 75], [88, 88], [60, 60]]),
        refused("SCORE_OUT_OF_RANGE", "columns.deterministic[1].taskOutcomeQuality"),
    )
    yield case(
        "column_ai_out_of_range",
        "The same among the AI scores.",
        columns([[80], [92], [70]], [[75], [88], [101]]),
        refused("SCORE_OUT_OF_RANGE", "columns.ai[0].processCompliance"),
    )
    missing = code_pb2.NOT_FOUND
    yield case(
        "policy_unknown",
        "A policy that the server has not loaded.",
        rows(one, ref=PolicyRef(name="no-such-policy")),
        refused("POLICY_NOT_FOUND", "policy", missing),
    )
    yield case(
        "policy_version_unknown",
        "The largest version number there is.",
        rows(one, ref=PolicyRef(name=DEFAULT.name, version=2**32 - 1)),
        refused("POLICY_NOT_FOUND", "policy", missing),
    )
    yield case(
        "garbage",
        "Bytes that are no message: wire type 7.",
        Raw(b"\xff\xfe\xfdno protobuf"),
        MALFORMED,
    )
    yield case(
        "truncated",
        "A message that ends in the middle of a field.",
        Raw(block.SerializeToString()[:-1]),
        MALFORMED,
    )
    yield case(
        "varint_too_long",
        "A number of eleven bytes.",
        raw(block, b"\x0a\x0c\x10" + b"\x80" * 10 + b"\x01"),
        MALFORMED,
    )
    yield case(
        "field_number_zero", "A tag with field number 0.", raw(block, b"\x02\x00"), MALFORMED
    )
    yield case(
        "group_not_closed",
        "A group that ends without having begun.",
        raw(block, b"\x1c"),
        MALFORMED,
    )
    yield case(
        "not_utf8",
        "A string that is not UTF-8.",
        Raw(b"\x0a\x04\x0a\x02\xc3\x28" + block.SerializeToString()),
        MALFORMED,
    )


# Tolerance.


def tolerance_cases() -> Iterator[Case]:
    one = rows(task("T-1", (80, 75), (92, 88), (70, 60)))
    expected = answer(one)
    # A varint, a string, a fixed64 and a group under numbers that no message has yet.
    future = b"\x98\x3f\x01" + b"\xa2\x3f\x02hi" + b"\xa9\x3f12345678" + b"\xb3\x3f\x08\x01\xb4\x3f"
    yield Case(
        "unknown_fields",
        "Fields of a future client are skipped.",
        [raw(one, future)],
        [expected],
    )
    nested = ScoreRequest()
    nested.CopyFrom(one)
    inner = nested.rows.tasks[0].categories[0].SerializeToString() + future
    rest = b"".join(_field(2, e.SerializeToString()) for e in nested.rows.tasks[0].categories[1:])
    row = _field(1, b"T-1") + _field(2, inner) + rest
    yield Case(
        "unknown_fields_deep",
        "So are those of a nested message.",
        [Raw(_field(2, _field(1, row)))],
        [expected],
    )
    # deterministic_score = 80 + 2^32 as a varint: an int32 keeps the low 32 bits.
    wide = _field(1, NAMES[0].encode()) + b"\x10\xd0\x80\x80\x80\x10" + b"\x18\x4b"
    row = _field(1, b"T-1") + _field(2, wide) + rest
    yield Case(
        "number_too_wide",
        "A 64-bit number in a 32-bit field counts by its low 32 bits, as protobuf has it.",
        [Raw(_field(2, _field(1, row)))],
        [expected],
    )
    # deterministic_score as a fixed32.
    foreign = _field(1, NAMES[0].encode()) + b"\x15\x50\x00\x00\x00" + b"\x18\x4b"
    row = _field(1, b"T-1") + _field(2, foreign) + rest
    lacking = ScoreRequest()
    lacking.CopyFrom(one)
    lacking.rows.tasks[0].categories[0].ClearField("deterministic_score")
    yield Case(
        "foreign_wire_type",
        "A known number with another wire type is an unknown field: here the score is missing.",
        [Raw(_field(2, _field(1, row)))],
        [answer(lacking)],
    )
    both = columns([[80], [92], [70]], [[75], [88], [60]])
    yield Case(
        "last_form_wins",
        "Of rows and columns in one message the last counts: it is one oneof.",
        [Raw(one.SerializeToString() + both.SerializeToString())],
        [answer(both)],
    )


def _field(number: int, data: bytes) -> bytes:
    """A length-delimited field of fewer than 128 bytes times 128."""
    size = len(data)
    length = bytes([size]) if size < 128 else bytes([size & 127 | 128, size >> 7])
    return bytes([number << 3 | 2]) + length + data


def future_response() -> Case:
    """A response of a newer server: decoded only, never sent."""
    known = answer(rows(task("T-1", (80, 75), (92, 88), (70, 60))))
    later = b"\x98\x3f\x01" + b"\xa2\x3f\x02hi" + b"\xa9\x3f12345678"
    binary = known.SerializeToString(deterministic=True) + later
    return Case(
        "future_response",
        "Fields that a newer server adds are skipped.",
        (),
        [Raw(binary, known)],
    )


# Streams.


def streamed(request: ScoreRequest) -> ScoreStreamRequest:
    return ScoreStreamRequest.FromString(request.SerializeToString())


def stream_cases() -> Iterator[Case]:
    single = PolicyRef(name="exact", version=1)
    requests = [
        rows(task("first", (80, 75), (92, 88), (70, 60))),
        columns([[80], [92], [70]], [[75], [88], [60]], ["second"]),
        columns([[0, 100]], [[50, 50]], ref=single),
        rows(task("fourth", (1, 2), (3, 4), (5, 6))),
    ]
    answers = [
        answer(requests[0]),
        answer(requests[1]),
        answer(requests[2]),
        answer(requests[3]),
    ]
    responses = [ScoreStreamResponse.FromString(each.SerializeToString()) for each in answers]
    sent = [streamed(request) for request in requests]
    yield Case(
        "mixed_forms", "Answers in order, each message with its own policy.", sent, responses
    )
    yield Case("no_message", "A stream that ends at once.", [], [])
    yield Case(
        "error_ends_it",
        "The first bad message ends the stream; what was answered before stands.",
        [*sent[:2], streamed(rows()), sent[3]],
        responses[:2],
        Status.refused("BATCH_EMPTY", "rows.tasks"),
    )
    yield Case(
        "garbage",
        "A message that is none ends the stream too.",
        [sent[0], Raw(b"\xff\xff\xff")],
        responses[:1],
        MALFORMED,
    )


def groups() -> Iterator[Group]:
    """All files of Score and ScoreStream."""

    def score(
        name: str, description: str, cases: Sequence[Case], *, offline: bool = False
    ) -> Group:
        return Group(name, description, SCORE, cases, BY_SHAPE, offline=offline)

    yield score("score_rows", "Tasks by rows.", [*row_cases(), mixed_case()])
    yield score("score_columns", "Tasks by columns.", list(column_cases()))
    yield score("score_policies", "Policies other than the default.", list(policy_cases()))
    yield score("score_errors", "Refused requests of each kind.", list(error_cases()))
    yield score("score_tolerance", "Odd, and answered all the same.", list(tolerance_cases()))
    yield score("score_future", "Answers of a newer server.", [future_response()], offline=True)
    yield Group("score_stream", "Streams.", STREAM, list(stream_cases()), BY_SHAPE, stream=True)
    yield Group(
        "unknown_method",
        "An RPC that the server does not have.",
        "/steelyard.v1.SteelyardService/NoSuchMethod",
        [
            Case(
                "unimplemented",
                "UNIMPLEMENTED, without details.",
                [Raw(b"")],
                (),
                Status(code_pb2.UNIMPLEMENTED),
            )
        ],
        {},
    )
