"""Write anew what the state has lost: a server that was restarted without its data, or rows that were deleted.

A state that lost everything goes on answering, and then what a process that is alive knows is the only copy. An entry
that is absent although this process holds it was lost, because no other process may delete it meanwhile.
"""

from __future__ import annotations

import logging

from cmsapi.errors import StateError
from cmsapi.state.entry import Entry, Lease
from cmsapi.state.store import State

logger: logging.Logger = logging.getLogger("cmsapi")

SALT = "salt"


class Losses:
    """Write entries and the salt of one journal anew, and warn of their loss.

    Args:
        state: Where the journal is kept.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        #: How many losses were noticed.
        self.count: int = 0

    async def restore(self, lease: Lease, entry: Entry) -> bool:
        """Write an entry that is absent and hold it; return False when another process has written one, or its end."""
        if await self._state.begin(lease, entry) is not None:
            return False
        self.note()
        return True

    async def agree_on_salt(self, scope: str, salt: str) -> str:
        """Write the salt of the digests where there is none, and return the one that stands.

        Raises:
            StateError: What stands there is no salt.
        """
        stands = await self._state.compare_and_set(scope, SALT, None, salt)
        if not isinstance(stands, str) or not stands:
            raise StateError(
                "The document 'salt' of the state is damaged: it is not a text, so that launches cannot be compared "
                "with those of other processes. Nothing was sent or charged by this call. Name another state, or "
                "delete that document when no process uses the state; open jobs then count as launched with other "
                "settings."
            )
        return stands

    def note(self) -> None:
        """Count a loss, and warn of the first."""
        self.count += 1
        message = (
            "the state has lost entries that this process wrote (was its server restarted without its data, or were "
            "rows deleted?): it writes anew what it still knows. What earlier processes wrote may be lost; the next "
            "run of their batches would launch it again and pay for it again"
        )
        logger.log(logging.WARNING if self.count == 1 else logging.DEBUG, message)
