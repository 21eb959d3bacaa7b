"""Make many runs and print what they were: `python -m tests.long.books [--runs 1000] [--first 0]`."""

from __future__ import annotations

import argparse
import logging
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import attrs

from cmsapi.sandbox import Books
from tests.long.books.launches import Report
from tests.long.books.run import run
from tests.long.books.sandbox import Service, run_sandbox
from tests.support.odd_books import Habits

Run = Callable[[object], Report]

#: Services with odd books, each of which a seed draws.
ODD: Mapping[str, Run] = {"own service": run, "sandbox": run_sandbox}
#: Prompt books under one identity; every twentieth answer is lost.
ORDINARY: Mapping[str, Run] = {
    "own service": partial(run, habits=Habits(lost=0.05), launches=30),
    "sandbox": partial(run_sandbox, service=Service(), launches=30),
}
_SETTINGS = {
    "booked 0.5 s late": Books(booked_after=0.5),
    "booked 5 s late": Books(booked_after=5.0),
    "booked 61 s late": Books(booked_after=61.0),
    "booked 300 s late": Books(booked_after=300.0),
    "booked at the end": Books(booked_after="end"),
    "a fifth free": Books(free=0.2),
    "a third refunded, balance": Books(refunded=0.3, refund="balance"),
    "a third refunded, row": Books(refunded=0.3, refund="row"),
    "a third refunded, deleted": Books(refunded=0.3, refund="deleted"),
    "user api": Books(user="api"),
    "user null": Books(user="null"),
    "keyword decorated": Books(keyword="decorated"),
    "keyword upper": Books(keyword="upper"),
    "keyword other": Books(keyword="other"),
    "keyword null": Books(keyword="null"),
    "keyword absent": Books(keyword="absent"),
    "usages refused": Books(refused=True),
    "3 usages a page": Books(page_size=3),
    "1 page of 3 usages": Books(page_size=3, pages=1),
    "oldest first": Books(oldest_first=True),
}
#: Ordinary services of which one setting of the books is odd.
EACH: Mapping[str, Run] = {
    name: partial(run_sandbox, service=Service(books=books), launches=30) for name, books in _SETTINGS.items()
}


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
    parser.add_argument("--only", choices=[*ODD], help="one of the two services")
    parser.add_argument("--ordinary", action="store_true", help="ordinary books instead of odd ones")
    parser.add_argument("--each", action="store_true", help="the sandbox with one odd setting after the other")
    options = parser.parse_args()
    services = EACH if options.each else ORDINARY if options.ordinary else ODD
    twice = 0
    with ProcessPoolExecutor(options.processes, initializer=quietly) as pool:
        for name, make_run in services.items():
            if options.only not in (None, name):
                continue
            totals = total(pool, make_run, range(options.first, options.first + options.runs))
            twice += totals.twice
            if not options.each:
                for (kind, end), times in sorted(totals.ends.items()):
                    print(f"{name:12} {kind:8} {end:24} {times:6}")  # noqa: T201
            print(f"{name:26} {totals}", flush=True)  # noqa: T201
    sys.exit(twice > 0)


if __name__ == "__main__":
    main()
