"""Tokens: a job as a short text that another process can wait for."""

from __future__ import annotations

import base64
import json
from datetime import datetime

from attrs import frozen

from cmsapi.errors import ArgumentError
from cmsapi.jobs.kinds import JobKind
from cmsapi.wire.arguments import timestamp


@frozen
class Token:
    """What has to be known to wait for a job.

    Attributes:
        kind: Kind of the job.
        id: Identifier that it is polled by.
        name: What was launched, for people.
        own: Identifier that the service gave the job.
        before: Identifier of what the document showed before the launch.
        at: Time of the launch by the service's clock.
        launch: Name of its launch in the state.
    """

    kind: JobKind
    id: str
    name: str
    own: str | None = None
    before: str | None = None
    at: datetime | None = None
    launch: str | None = None

    def __str__(self) -> str:
        at = timestamp(self.at) if self.at else None
        fields = [self.kind, self.id, self.name, self.own, self.before, at, self.launch]
        text = json.dumps(fields, separators=(",", ":"), ensure_ascii=False)
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")

    @classmethod
    def parse(cls, text: str) -> Token:
        """Return the token that a text stands for.

        Raises:
            ArgumentError: It is none.
        """
        try:
            fields = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
            kind, id, name, own, before, at, launch = fields  # noqa: A001
            return cls(JobKind(kind), id, name, own, before, datetime.fromisoformat(at) if at else None, launch)
        except (ValueError, TypeError):
            raise ArgumentError("token", f"must be the token of a job, got {text!r:.80}") from None
