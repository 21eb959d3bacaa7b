"""The settings with which one client polls its jobs."""

from __future__ import annotations

import attrs

from cmsapi.api.models import User
from cmsapi.config import PollPolicy
from cmsapi.transport.caller import OperationCaller


@attrs.frozen(eq=False)
class PollSettings:
    """Hold what polls of one client are made with.

    A job that several clients wait for has one stream of polls, made with the settings of one of them.

    Args:
        caller: Calls the operations, with the client's timeouts, retries and routes.
        policy: How often to poll.
        depth: How many times `with_options` was called to make the client.
    """

    caller: OperationCaller
    policy: PollPolicy
    depth: int = 0

    async def read_user(self) -> User:
        """Read whose key it is; one request."""
        return await self.caller.call(User, "get_me")
