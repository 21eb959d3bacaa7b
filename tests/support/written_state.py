"""Write the state of this version as statements, which later versions read: `python -m tests.support.written_state`.

A batch of two items has ended, one of them badly; an analysis and a generation are open.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import sys
import tempfile
from pathlib import Path

import attrs

import cmsapi
from cmsapi.sandbox import Fixed, Sandbox

#: Where each client believes the service to be, because the address of a sandbox changes.
ADDRESS = "https://api.example.com"
BATCH = "nightly"


@attrs.frozen
class Named:
    """Carry requests to a sandbox that has another address.

    Args:
        box: The sandbox.
    """

    box: Sandbox

    async def send(self, request: cmsapi.Request) -> cmsapi.Response:
        """Send a request."""
        url = request.url.replace(ADDRESS, self.box.base_url)
        return await self.box.transport.send(attrs.evolve(request, url=url))


def client_of(box: Sandbox, path: Path) -> cmsapi.Client:
    """Make a client with a state in a file."""
    polling = cmsapi.PollPolicy(min_interval=0.1, max_interval=0.2)
    return cmsapi.Client(
        box.api_key, base_url=ADDRESS, transport=Named(box), state=f"sqlite:///{path}", polling=polling
    )


def sandbox() -> Sandbox:
    """Make the sandbox, whose second keyword cannot be analysed."""
    box = Sandbox(durations=Fixed(0.3))
    box.set_outcome(box.keyword_ids[1], "failed")
    return box


async def write(path: Path) -> list[str]:
    """Write a state, and return the tokens of the open jobs."""
    box = sandbox()
    async with client_of(box, path) as client, client.jobs.batch(BATCH) as batch:
        async for _ in batch.map(client.keywords.analyze, box.keyword_ids[:2], key=str):
            pass
    async with client_of(box, path) as client:
        analysis = await client.keywords.analyze(box.keyword_ids[2])
        settings = cmsapi.GenerationSettings(fact_checking_enabled=True)
        generation = await client.contents.generate(box.content_ids[0], settings)
        return [analysis.token, generation.token]


def dumped(path: Path) -> list[str]:
    """Return the statements that make a file again."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        pragmas = [(name, *db.execute(f"PRAGMA {name}").fetchone()) for name in ("application_id", "user_version")]
        return [*(f"PRAGMA {name} = {value};" for name, value in pragmas), *db.iterdump()]


def main() -> None:
    """Write the statements, after the tokens as comments, to standard output."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "state.db"
        tokens = asyncio.run(write(path))
        sys.stdout.write("\n".join([*(f"-- {token}" for token in tokens), *dumped(path), ""]))


if __name__ == "__main__":
    main()
