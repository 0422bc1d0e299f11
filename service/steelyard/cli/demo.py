"""`steelyard demo`: what `make run` shows a newcomer."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from shutil import which
from typing import Any

import click
from rich.table import Table

from steelyard.cli.run import BAND_STYLES, print_table
from steelyard.cli.serve import announce, settings_options
from steelyard.client import Client
from steelyard.settings import load_settings
from steelyard.v1 import score_pb2

__all__ = ["demo"]

# Deterministic and AI scores of one task, by category.
EXAMPLE = {
    "agentPerformance": (82, 74),
    "taskOutcomeQuality": (91, 88),
    "processCompliance": (64, 70),
}

NEXT = """\
Next, in another terminal:
  {command} score FILE.csv --server {address}
  grpcurl -plaintext -d '{request}' \\
    {address} steelyard.v1.SteelyardService/Score
  ghz --insecure --call steelyard.v1.SteelyardService/Score \\
    -n 10000 -c 16 --connections 4 -d '{request}' {address}

The library does the same without a server: python -c 'import steelyard; help(steelyard)'
"""


@click.command()
@settings_options
def demo(config: Any, **flags: Any) -> None:
    """Serve, send one real Score through the client, and show the answer."""
    from steelyard.server.workers import serve as run

    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    settings = load_settings(flags, config)

    def show(port: int) -> None:
        address = f"{settings.address.rpartition(':')[0]}:{port}"
        _first_score(address)
        announce(settings, port)

    run(settings, show)


def _first_score(address: str) -> None:
    task = score_pb2.TaskRow(task_id="demo")
    for category, (deterministic, ai) in EXAMPLE.items():
        task.categories.add(category=category, deterministic_score=deterministic, ai_score=ai)
    with Client(address) as client:
        answer = client.score_message(score_pb2.ScoreRequest(rows=score_pb2.TaskRows(tasks=[task])))
    score = answer.rows.results[0].score
    table = Table("category", "deterministic", "AI", "final", "band", title="One Score over gRPC")
    for entry in score.categories:
        deterministic, ai = EXAMPLE[entry.category]
        table.add_row(
            entry.category,
            str(deterministic),
            str(ai),
            str(entry.final_score),
            entry.band,
            style=BAND_STYLES.get(entry.band),
        )
    table.add_section()
    table.add_row("overall", "", "", str(score.overall_score), score.overall_band, style="bold")
    print_table(table)
    cells = ",".join(
        f'{{"category":"{category}","deterministic_score":{deterministic},"ai_score":{ai}}}'
        for category, (deterministic, ai) in EXAMPLE.items()
    )
    request = f'{{"rows":{{"tasks":[{{"task_id":"demo","categories":[{cells}]}}]}}}}'
    command = Path(sys.argv[0]).name if which("steelyard") else sys.argv[0]
    click.echo(NEXT.format(address=address, request=request, command=command))
