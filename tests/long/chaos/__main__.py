"""Make many runs and print what they were: `python -m tests.long.chaos [--runs 2000] [--files 500] [--update PAGE]`."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import chain
from pathlib import Path

from benchmarks import tables
from benchmarks.tables import replace_row, table
from cmsapi import OPERATIONS
from tests.long.chaos.run import Report, chaos, chaos_in_file, chaos_on_loopback
from tests.long.chaos.seeds import FIRST, seeds
from tests.support.loops import environment
from tests.support.servers import running_server


def main() -> None:
    """Run, print or write down, and fail when something did not hold."""
    parser = argparse.ArgumentParser(prog="tests.long.chaos", description=__doc__)
    parser.add_argument("--runs", type=int, default=2000, help="how many storms; CHAOS_SEED says which")
    parser.add_argument("--files", type=int, default=500, help="how many with the state in a SQLite file")
    parser.add_argument("--loopback", type=int, default=20, help="how many in real time over a socket")
    parser.add_argument("--redis", type=int, default=50, help="how many of those with the state on a Redis server")
    parser.add_argument("--processes", type=int, help="how many at a time in virtual time; one for each processor")
    parser.add_argument("--update", type=Path, metavar="PAGE", help="replace the section `chaos` of a Markdown page")
    options = parser.parse_args()
    with ProcessPoolExecutor(options.processes) as pool:
        virtual = {
            "in memory": pool.map(chaos, seeds(options.runs), chunksize=10),
            "in a SQLite file": pool.map(chaos_in_file, seeds(options.files), chunksize=10),
        }
        reports = {name: list(each) for name, each in virtual.items()}
    # One after the other, because a busy machine is late.
    reports["in memory, through a proxy"] = [chaos_on_loopback(seed) for seed in seeds(options.loopback)]
    reports["on Redis, through a proxy"] = list(_on_redis(options.redis))
    shown = tabulated(reports)
    if options.update is not None:
        shown.write(options.update, "chaos")
        replace_row(options.update, "chaos-environments", _ENVIRONMENTS, _row([*chain(*reports.values())]))
    print(shown.details)  # noqa: T201
    together = [report for each in reports.values() for report in each]
    for report in together:
        for line in report.violated:
            print(f"CHAOS_SEED={report.seed}: {line}", file=sys.stderr)  # noqa: T201
    if any(report.violated for report in together):
        sys.exit(1)


def _on_redis(count: int) -> Iterator[Report]:
    if not count:
        return
    with (
        tempfile.TemporaryDirectory() as directory,
        running_server(Path(directory), "--save", "", "--appendonly", "no") as server,
    ):
        for seed in seeds(count):
            yield chaos_on_loopback(seed, server.url)


_ENVIRONMENTS = ("", "storms", "violated", "left behind", "key shown", "faults that struck", "refused for their rate")


def _row(reports: Sequence[Report]) -> list[str]:
    counts = (
        len(reports),
        sum(bool(report.violated) for report in reports),
        sum(len(report.left) for report in reports),
        sum(len(report.shown) for report in reports),
        sum(sum(report.struck.values()) for report in reports),
        sum(report.refused for report in reports),
    )
    return [environment(), *(f"{count:,}" for count in counts)]


def tabulated(reports: Mapping[str, Sequence[Report]]) -> tables.Report:
    """Show what the runs were and what did not hold, by where the state was; habits, faults and ends are details."""
    together = [report for each in reports.values() for report in each]
    called = {name for report in together for name in report.calls} & set(OPERATIONS)
    parts = [
        f"Seeds from {FIRST} on, on {environment()}, by where the state was. Runs through a proxy are in real time.",
        table(
            ["", *reports],
            [(name, *(f"{count(each):,}" for each in reports.values())) for name, count in _COUNTS.items()],
        ),
        f"{len(called)} of {len(OPERATIONS)} operations were called by name; the waits called those that poll jobs.",
        _habits(together),
        _counted("fault", [report.struck for report in together]),
        _counted("how a call or a wait ended", [report.ends for report in together]),
    ]
    return tables.Report("\n\n".join(parts[:2]), "\n\n".join(parts))


_COUNTS: Mapping[str, Callable[[Sequence[Report]], int]] = {
    "runs, each with a storm, a service and callers of its own": len,
    "runs in which an invariant was violated": lambda reports: sum(bool(report.violated) for report in reports),
    "permits, waiters, polls, calls, tasks and sockets left behind": lambda reports: sum(
        len(report.left) for report in reports
    ),
    "places where the key was shown": lambda reports: sum(len(report.shown) for report in reports),
    "hours on the clock": lambda reports: round(sum(report.seconds for report in reports) / 3600),
    "calls and waits": lambda reports: sum(sum(report.calls.values()) for report in reports),
    "requests that arrived": lambda reports: sum(report.requests for report in reports),
    "times that something spoilt what is kept of the limits": lambda reports: sum(report.spoilt for report in reports),
    "faults that struck": lambda reports: sum(sum(report.struck.values()) for report in reports),
    "requests that the service refused for their rate": lambda reports: sum(report.refused for report in reports),
}


def _habits(reports: Sequence[Report]) -> str:
    """Show what the services were like, and in how many of their runs something did not hold."""
    runs = Counter(name for report in reports for name in report.habits)
    violated = Counter(name for report in reports if report.violated for name in report.habits)
    rows = [(name, f"{count:,}", f"{violated[name]:,}") for name, count in runs.most_common()]
    return table(["what a service was like", "runs", "violated"], rows)


def _counted(head: str, counters: Iterable[Mapping[str, int]]) -> str:
    counts = Counter[str]()
    for each in counters:
        counts.update(each)
    return table([head, "times"], [(name, f"{count:,}") for name, count in counts.most_common()])


if __name__ == "__main__":
    main()
