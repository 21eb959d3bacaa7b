"""Run the benchmark: `python -m benchmarks.limiter [--json] [--update PAGE]`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from benchmarks.limiter.measuring import measure
from benchmarks.limiter.report import markdown, plain
from benchmarks.tables import replace_section


def main() -> None:
    """Measure, and print or write down what was measured."""
    parser = argparse.ArgumentParser(prog="benchmarks.limiter", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON instead of Markdown")
    parser.add_argument("--update", type=Path, metavar="PAGE", help="replace the section `limiter` of a Markdown page")
    options = parser.parse_args()
    figures = measure()
    if options.update is not None:
        replace_section(options.update, "limiter", markdown(figures))
    print(json.dumps(plain(figures), indent=2) if options.json else markdown(figures))


if __name__ == "__main__":
    main()
