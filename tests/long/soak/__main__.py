"""Hold a burden for a simulated day and for real minutes: `python -m tests.long.soak [--minutes 3] [--update PAGE]`."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path

from benchmarks.tables import replace_section, table
from benchmarks.virtual import in_virtual_time
from tests.long.soak.places import in_process, over_loopback
from tests.long.soak.run import Burden, Soaked

_MIB = 2**20


def main() -> None:
    """Hold, print or write down, and fail when something is left."""
    parser = argparse.ArgumentParser(prog="tests.long.soak", description=__doc__)
    parser.add_argument("--callers", type=int, default=500)
    parser.add_argument("--jobs", type=int, default=2000)
    parser.add_argument("--hours", type=float, default=24.0, help="hours of the simulated part")
    parser.add_argument("--minutes", type=float, default=3.0, help="minutes of the real part")
    parser.add_argument("--seed", type=int, default=0, help="moves the service and the callers")
    parser.add_argument("--update", type=Path, metavar="PAGE", help="replace the section `soak` of a Markdown page")
    options = parser.parse_args()
    held = {"callers": options.callers, "jobs": options.jobs, "seed": options.seed}
    day = Burden(**held, lasts=options.hours * 3600, pause=options.callers * 12.0, patience=600.0)
    minutes = Burden(**held, lasts=options.minutes * 60, pause=options.callers / 20, patience=2.0)
    results = {
        f"{options.hours:g} simulated hours, in process": in_virtual_time(in_process(day)),
        f"{options.minutes:g} real minutes, over loopback with faults": asyncio.run(over_loopback(minutes)),
    }
    text = markdown(results)
    if options.update is not None:
        replace_section(options.update, "soak", text)
    print(text)  # noqa: T201
    if any(any(each.leaked.values()) for each in results.values()):
        sys.exit(1)


def markdown(results: Mapping[str, Soaked]) -> str:
    """Show what was held and what was left."""
    cells = [_cells(soaked) for soaked in results.values()]
    return table(["", *results], [(name, *(each[name] for each in cells)) for name in cells[0]])


def _cells(soaked: Soaked) -> Mapping[str, str]:
    burden, first, last = soaked.burden, soaked.memory[0], soaked.memory[-1]
    hours = burden.lasts / 3600
    return {
        "callers at the same time": f"{burden.callers:,}",
        "jobs waited for at the same time": f"{burden.jobs:,}",
        "of them launched and not finished, at least": f"{soaked.fewest:,}",
        "calls that ended": f"{sum(n for name, n in soaked.ends.items() if not name.startswith('job')):,}",
        "of them with a result": f"{soaked.ends['result']:,}",
        "jobs that ended": f"{soaked.ends['job: result'] + soaked.ends['job: JobFailedError']:,}",
        "memory when all jobs were launched, MiB": f"{first[1] / _MIB:.1f}",
        "memory at the end, MiB": f"{last[1] / _MIB:.1f}",
        "slope of memory after warming up, MiB in the whole time": f"{soaked.slope * burden.lasts / _MIB:+.2f}",
        "hours": f"{hours:.2f}",
        **{f"{name} left": f"{count}" for name, count in soaked.leaked.items()},
    }


if __name__ == "__main__":
    main()
