"""Make many runs and print what they were: `python -m tests.long.books [--runs 1000] [--first 0]`."""

from __future__ import annotations

import argparse
import logging
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

from tests.long.books.run import Report, run
from tests.support.odd_books import Habits

#: Prompt books under one identity; every twentieth answer is lost.
ORDINARY = Habits(lost=0.05)


def ordinary(seed: int) -> Report:
    """Make one run with ordinary books."""
    return run(seed, ORDINARY, launches=30)


def quietly() -> None:
    """Log nothing: each lost launch would be a line."""
    logging.disable()


def main() -> None:
    """Run, print, and fail when something was paid twice untold."""
    parser = argparse.ArgumentParser(prog="tests.long.books", description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--ordinary", action="store_true", help="ordinary books instead of odd ones")
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.runs)
    ends, launches, charged, twice = Counter[tuple[str, str]](), 0, 0, 0
    with ProcessPoolExecutor(options.processes, initializer=quietly) as pool:
        for report in pool.map(ordinary if options.ordinary else run, seeds, chunksize=5):
            launches += report.ends.total()
            charged += report.charged
            for end, times in report.ends.items():
                ends[report.kind, end] += times
            if report.twice:
                twice += 1
                print(f"seed {report.seed}: {report.kind} {report.twice} {report.habits}", file=sys.stderr)  # noqa: T201
    for (kind, end), times in sorted(ends.items()):
        print(f"{kind:8} {end:24} {times:6}")  # noqa: T201
    print(f"{launches} launches, {charged} unknown and charged, {twice} runs paid twice untold")  # noqa: T201
    sys.exit(twice > 0)


if __name__ == "__main__":
    main()
