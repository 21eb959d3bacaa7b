"""Run the benchmark: `python -m benchmarks.limiter [--json] [--update PAGE]`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from benchmarks.limiter.measuring import measure
from benchmarks.limiter.report import plain, report


def main() -> None:
    """Measure, and print or write down what was measured."""
    parser = argparse.ArgumentParser(prog="benchmarks.limiter", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON instead of Markdown")
    parser.add_argument("--update", type=Path, metavar="PAGE", help="replace the section `limiter` of a Markdown page")
    options = parser.parse_args()
    figures = measure()
    if options.update is not None:
        report(figures).write(options.update, "limiter")
    print(json.dumps(plain(figures), indent=2) if options.json else report(figures).details)


if __name__ == "__main__":
    main()
