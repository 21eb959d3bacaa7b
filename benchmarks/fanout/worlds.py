"""What happens beside a fan-out: the service pauses, or another client uses the same key."""

from __future__ import annotations

import asyncio
from typing import TypeAlias

import attrs

from cmsapi.message import Request
from cmsapi.sandbox import Sandbox
from cmsapi.sandbox.service.ledger import Entry

# The stranger uses a third of the hour, with requests that no fan-out makes.
_EVERY = 10.8
_OPERATION, _PATH = "list_brand_voices", "/v1/workspaces/{}/brand-voices"
_PAUSE = 600.0


@attrs.frozen
class Pause:
    """Let no job make progress for ten minutes.

    Args:
        after: Seconds from the begin of the fan-out to that of the pause.
    """

    after: float

    async def begin(self, sandbox: Sandbox) -> None:
        """Have the pause begin in time."""
        asyncio.get_running_loop().call_later(self.after, sandbox.pause, _PAUSE)


@attrs.frozen
class Stranger:
    """Let another client send requests evenly with the same key, so that it uses a third of the hour.

    Args:
        since: Seconds from its first request to the begin of the fan-out.
    """

    since: float

    async def begin(self, sandbox: Sandbox) -> None:
        """Have the other client begin, and wait until the fan-out does."""
        loop = asyncio.get_running_loop()
        url = sandbox.base_url + _PATH.format(sandbox.workspace_id)
        request = Request("GET", url, {"Authorization": f"Bearer {sandbox.api_key}"}, None)

        def send(number: int) -> None:
            loop.call_at(first + (number + 1) * _EVERY, send, number + 1)
            task = loop.create_task(sandbox.transport.send(request))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

        tasks: set[asyncio.Task[object]] = set()
        first = loop.time()
        send(0)
        await asyncio.sleep(self.since)


World: TypeAlias = Pause | Stranger


def is_own(entry: Entry) -> bool:
    """Tell whether a request was made for the fan-out."""
    return entry.operation != _OPERATION
