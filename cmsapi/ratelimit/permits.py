"""The permit for one request, and what the answer to a request says of the limits."""

from __future__ import annotations

from typing import Literal, TypeAlias

import attrs

End: TypeAlias = Literal["answered", "refused", "lost", "unsent"]
Stage: TypeAlias = Literal["taken", "departed"] | End
# The stages of a permit that has not ended.
OUT = ("taken", "departed")


@attrs.frozen
class Quota:
    """Carry what the three headers of an answer say (specification 8, rule 2).

    Args:
        limit: Requests an hour.
        remaining: Requests left in the rolling window when this one had been counted.
        reset: Seconds until the oldest request leaves the window; neither an epoch nor the time until all are back.
    """

    limit: int
    remaining: int
    reset: float


@attrs.define(eq=False, weakref_slot=False)
class Permit:
    """Allow one request, until the limiter that gave it ends it.

    Args:
        stage: `departed` from when the request's bytes may leave. It ends as `answered`: the service has seen the
            request; as `refused`: it has, and answered with 429; as `lost`: there will be no answer, although the
            request may still arrive; or as `unsent`: nothing has left this machine.
        taken_at: When it was taken.
    """

    stage: Stage = "taken"
    taken_at: float = attrs.field(init=False, repr=False)
