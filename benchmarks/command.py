"""The command line that the benchmarks have in common."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.tables import Report


def run(name: str, measure: Callable[[int], dict[str, Any]], report: Callable[[Any], Report], rounds: int) -> None:
    """Measure, and print or write down what was measured.

    Args:
        name: Name of the benchmark and of its section.
        measure: Measures in so many rounds; everything it returns can be written as JSON.
        report: Shows that as Markdown.
        rounds: How many rounds there are, unless the command says otherwise.
    """
    parser = argparse.ArgumentParser(prog=f"benchmarks.{name}")
    parser.add_argument("--json", action="store_true", help="print JSON instead of Markdown")
    parser.add_argument("--rounds", type=int, default=rounds, help="how often each is measured")
    parser.add_argument("--update", type=Path, metavar="PAGE", help=f"replace the section `{name}` of a Markdown page")
    options = parser.parse_args()
    figures = measure(options.rounds)
    if options.update is not None:
        report(figures).write(options.update, name)
    print(json.dumps(figures, indent=2) if options.json else report(figures).details)
