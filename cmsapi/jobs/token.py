"""Job tokens: short strings that any process can use to wait for a job."""

from __future__ import annotations

import base64
import json
from datetime import datetime

from attrs import frozen

from cmsapi.errors import ArgumentError
from cmsapi.jobs.kinds import JobKind
from cmsapi.wire.arguments import timestamp


@frozen(weakref_slot=False)
class Token:
    """Everything that a process needs in order to wait for a job; ``str()`` returns it as a short string."""

    kind: JobKind
    id: str  # identifier by which the job is polled
    name: str  # readable name of what was launched
    own: str | None = None  # identifier that the service gave the job, if its kind has one
    before: str | None = None  # identifier of the generation that the document showed before the launch
    at: datetime | None = None  # time of the launch by the service's clock
    launch: str | None = None  # identifier of the launch in the state; None for a job that is only watched

    def __str__(self) -> str:
        at = timestamp(self.at) if self.at else None
        fields = [self.kind, self.id, self.name, self.own, self.before, at, self.launch]
        text = json.dumps(fields, separators=(",", ":"), ensure_ascii=False)
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")

    @classmethod
    def parse(cls, text: str) -> Token:
        """Return the token that ``text`` encodes; raise `ArgumentError` if ``text`` is not a token."""
        try:
            fields = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
            kind, id, name, own, before, at, launch = (None if each is None else str(each) for each in fields)  # noqa: A001  as in its field
            when = datetime.fromisoformat(at).astimezone() if at else None
            return cls(JobKind(str(kind)), str(id), str(name), own, before, when, launch)
        except (ValueError, TypeError, RecursionError, OverflowError):
            raise ArgumentError("token", f"must be the token of a job, got {text!r:.80}") from None
