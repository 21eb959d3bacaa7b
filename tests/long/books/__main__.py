"""Make many runs and print what they were: `python -m tests.long.books [--runs 1000] [--first 0]`."""

from __future__ import annotations

import argparse
import logging
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor

import attrs

from tests.long.books.launches import Report
from tests.long.books.run import run
from tests.long.books.sandbox import run_sandbox

Run = Callable[[object], Report]

#: Services with odd books, each of which a seed draws.
ODD: Mapping[str, Run] = {"own service": run, "sandbox": run_sandbox}


@attrs.define
class Totals:
    """Add up runs."""

    launches: int = 0
    unknown: int = 0
    charged: int = 0
    twice: int = 0
    ends: Counter[tuple[str, str]] = attrs.field(factory=Counter)

    def add(self, report: Report) -> None:
        """Add a run, and print it when something was paid twice."""
        self.ends += report.ends
        self.launches += report.ends.total()
        self.unknown += sum(times for (_, end), times in report.ends.items() if end == "LaunchUnknownError")
        self.charged += report.charged
        if report.twice:
            self.twice += 1
            print(f"seed {report.seed}: {report.twice} {report.service}", file=sys.stderr)  # noqa: T201

    def __str__(self) -> str:
        return (
            f"{self.launches:6} launches, {self.unknown:5} unknown ({self.unknown / max(1, self.launches):6.1%}), "
            f"{self.charged:4} of them charged, {self.twice} runs paid twice untold"
        )


def quietly() -> None:
    """Log nothing: each lost launch would be a line."""
    logging.disable()


def total(pool: ProcessPoolExecutor, make_run: Run, seeds: Iterable[int]) -> Totals:
    """Make runs and add them up."""
    totals = Totals()
    for report in pool.map(make_run, seeds, chunksize=5):
        totals.add(report)
    return totals


def main() -> None:
    """Run, print, and fail when something was paid twice untold."""
    parser = argparse.ArgumentParser(prog="tests.long.books", description=__doc__)
    parser.add_argument("--runs", type=int, default=1000, help="of each service")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    twice = 0
    with ProcessPoolExecutor(options.processes, initializer=quietly) as pool:
        for name, make_run in ODD.items():
            totals = total(pool, make_run, range(options.first, options.first + options.runs))
            twice += totals.twice
            for (kind, end), times in sorted(totals.ends.items()):
                print(f"{name:12} {kind:8} {end:24} {times:6}")  # noqa: T201
            print(f"{name:26} {totals}", flush=True)  # noqa: T201
    sys.exit(twice > 0)


if __name__ == "__main__":
    main()
