"""What one poll of a job says, and what is remembered of the polls before it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import attrs

from cmsapi.api.model import Model
from cmsapi.jobs.status import Phase


@attrs.frozen
class Observation:
    """Say what one poll means.

    Args:
        phase: The job's phase.
        state: The service's own word, or None.
        decided: False when the poll says nothing certain: a stale word, an unlisted word or a null.
        newer_id: Identifier of the job that took this one's place; None unless the phase is `SUPERSEDED`.
    """

    phase: Phase
    state: str | None
    decided: bool = True
    newer_id: str | None = None

    @property
    def finished(self) -> bool:
        """Whether it is certain that the job does not run any more."""
        return self.decided and self.phase is not Phase.RUNNING


@attrs.define
class JobHistory:
    """Remember what decides how later polls are read.

    Args:
        began: Loop time at which the launch was answered, or the watch began.
        launched_at: The service's time of the launch, or the earliest that it may have been; None when it is not known.
        watched: Whether this client did not launch it, so that any finished word is its end.
        job_id: Identifier of the job where the kind has one and it is known.
        fresh: Whether it was launched just now, so that a poll at once would be wasted.
        settings: The settings of its launch.
        document: The newest document of the job, kept only by kinds that read their result with further requests.
    """

    began: float = attrs.field(factory=lambda: asyncio.get_running_loop().time())
    launched_at: datetime | None = None
    watched: bool = False
    job_id: str | None = None
    fresh: bool = False
    settings: Mapping[str, Any] | None = None
    document: Model | None = None
    saw_running: bool = False
    undecided: object = None
    undecided_polls: int = 0

    def add(self, observation: Observation) -> None:
        """Remember an observation."""
        if observation.decided:
            self.saw_running = self.saw_running or observation.phase is Phase.RUNNING
            self.undecided_polls = 0
        elif self.undecided_polls and self.undecided == observation.state:
            self.undecided_polls += 1
        else:
            self.undecided, self.undecided_polls = observation.state, 1
