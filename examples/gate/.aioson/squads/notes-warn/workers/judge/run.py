"""Score drafts of release notes against the changes that they should tell."""

import json
import sys


def main() -> None:
    given = sys.argv[1] if len(sys.argv) > 1 else sys.stdin.read()
    payload = json.loads(given)
    changes = [change for change in payload["changes"] if change["source"]]
    drafts = payload["_aioson_eval"]["outputs"]
    measures = {"coverage": coverage, "order": order, "brevity": brevity}
    dimensions = {}
    for name in payload["_aioson_eval"]["dimensions"]:
        found = {
            side: measures[name](changes, draft["lines"])
            for side, draft in drafts.items()
            if draft is not None
        }
        evidence = "; ".join(f"{side}: {text}" for side, (_, text) in found.items())
        scores = {side: score for side, (score, _) in found.items()}
        dimensions[name] = {**scores, "evidence": evidence}
    print(json.dumps({"dimensions": dimensions}))


def coverage(changes: list, lines: list) -> tuple:
    told = [change for change in changes if any(change["source"] in line for line in lines)]
    return len(told) / len(changes), f"{len(told)} of {len(changes)} changes are told"


def order(changes: list, lines: list) -> tuple:
    breaking = [change["source"] for change in changes if change["breaking"]]
    top = lines[: len(breaking)]
    first = [source for source in breaking if any(source in line for line in top)]
    return len(first) / len(breaking), f"{len(first)} of {len(breaking)} breaking changes on top"


def brevity(changes: list, lines: list) -> tuple:
    short = [line for line in lines if len(line) <= 60]
    return len(short) / max(1, len(lines)), f"{len(short)} of {len(lines)} lines are short"


main()
