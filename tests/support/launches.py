"""What the tests of launches share: entries of processes that are gone, and what a sandbox has seen of them."""

from __future__ import annotations

import time
from typing import Any

import cmsapi
from cmsapi.message import Request, Response
from cmsapi.runtime.accounts import accounts_of_loop
from cmsapi.sandbox import Sandbox
from cmsapi.state.entry import Entry, Lease
from cmsapi.state.memory import MemoryState
from cmsapi.state.store import State


def state() -> State:
    """Return the state in memory that the clients of this loop share."""
    return accounts_of_loop().states.setdefault("memory:", MemoryState())


async def leave(client: cmsapi.Client, sandbox: Sandbox, key: str, entry: Entry) -> None:
    """Write an entry and leave it, as a process does that dies."""
    lease = Lease(scope(sandbox), key)
    await state().begin(lease, entry)
    await state().release(lease)


def scope(sandbox: Sandbox) -> str:
    """Return whose journal the clients of a sandbox write in memory."""
    return cmsapi.config.Account(sandbox.api_key, sandbox.base_url).digest


async def open_entries(sandbox: Sandbox) -> dict[str, Entry]:
    """Return what is open in the journal."""
    return await state().entries(scope(sandbox))


def sent(kind: str, target: str, sandbox: Sandbox, **facts: Any) -> Entry:
    """Describe a launch that was about to be sent a moment ago, with the balance that was known then."""
    credits_ = sandbox.credits
    now: dict[str, Any] = {"mark": "another:1", "sent": 1}
    balance = {"generation": credits_.ai_writing, "idea_search": credits_.content_ideas_searches}
    return Entry(
        kind=kind,
        target=target,
        asked_at=time.time(),
        status="sending",
        served_at=sandbox.now(),
        facts={**now, "balance": balance.get(kind, credits_.analysis), "sent_at": time.time(), "settle": 5.0, **facts},
    )


async def rely_on_books(sandbox: Sandbox, *, within: float = 0.0, user: str | None = None, holds: bool = True) -> None:
    """Let the clients of a sandbox know how it books launches, as an earlier process has seen it."""
    seen = {"holds": holds, "within": within, "user": user or sandbox.user_ids[0], "at": time.time()}
    for kind in ("keyword_analysis", "idea_search"):
        await state().compare_and_set(scope(sandbox), f"books {kind}", None, seen)


def posts(sandbox: Sandbox) -> int:
    """Count the launches that arrived, whatever became of them."""
    ways = ("analyze_keyword", "analyze_prompt", "start_content_idea_search", "generate_content")
    return sum(entry.operation in ways for entry in sandbox.ledger)


def spent(sandbox: Sandbox) -> int:
    """Count the credits that were spent."""
    left = sandbox.credits
    return 30_000 - left.analysis - left.ai_writing - left.content_ideas_searches


class NeverConnected:
    """Carry requests to a sandbox, except that the first launch does not get a connection."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self.tried = False

    async def send(self, request: Request) -> Response:
        """Carry one request."""
        if request.method == "POST" and not self.tried:
            self.tried = True
            raise cmsapi.NotSentError("No connection to the service.")
        return await self.sandbox.transport.send(request)
