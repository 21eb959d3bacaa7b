"""``python -m cmsapi.sandbox``: serve a sandbox in a terminal."""

from __future__ import annotations

import argparse
import asyncio
import sys
from contextlib import suppress

from cmsapi.sandbox.faults import Faults
from cmsapi.sandbox.limits import PER_HOUR, PER_SECOND, Limits
from cmsapi.sandbox.sandbox import CONTENTS, KEYWORDS, Sandbox, serve_forever

PORT = 8000  # port unless another is named


def main(arguments: list[str] | None = None) -> None:
    """Serve a sandbox until interrupted."""
    parser = argparse.ArgumentParser(prog="python -m cmsapi.sandbox", description="Serve the service in a box.")
    parser.add_argument("--port", type=int, default=PORT, help="port; 0 takes a free one")
    parser.add_argument("--seed", type=int, default=0, help="seed of identifiers, keys, durations and faults")
    parser.add_argument("--keywords", type=int, default=KEYWORDS, help="keywords that were never analyzed")
    parser.add_argument("--contents", type=int, default=CONTENTS, help="contents")
    parser.add_argument("--seconds", type=float, help="duration of every job; without it durations are drawn")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds from a request to its answer")
    parser.add_argument("--per-second", type=int, default=PER_SECOND, help="requests of a key in any second")
    parser.add_argument("--per-hour", type=int, default=PER_HOUR, help="requests of a key in any hour")
    chosen = parser.parse_args(arguments)
    sandbox = Sandbox(
        seed=chosen.seed,
        keywords=chosen.keywords,
        contents=chosen.contents,
        limits=Limits(chosen.per_second, chosen.per_hour),
        durations=chosen.seconds,
        faults=Faults(latency=chosen.latency),
    )

    def write(text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    with suppress(KeyboardInterrupt):
        asyncio.run(serve_forever(sandbox, chosen.port, write))


if __name__ == "__main__":
    main()
