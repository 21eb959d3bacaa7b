"""The ledger: each request that left a client, and each launch that the service accepted."""

from __future__ import annotations

from fnmatch import fnmatchcase

from attrs import define, field, frozen


@frozen
class LoggedRequest:
    """A request that left the client.

    Attributes:
        time: Time of arrival in seconds, on the clock of the event loop.
        operation: Name of the operation such as ``get_me``; empty if the path or the method is unknown.
        method: HTTP method.
        path: Path without the query.
        status: Status of the answer; None if the connection was dropped.
        key: ``admin`` or ``member``; None without a valid key.
    """

    time: float
    operation: str
    method: str
    path: str
    status: int | None
    key: str | None


@define
class AcceptedLaunch:
    """A launch that the service has accepted.

    Attributes:
        kind: ``analysis``, ``prompt``, ``search``, ``generation`` or ``knowledge_document``.
        target: Identifier of the keyword, prompt or content; seed keyword of a search; name of a document.
        time: Time of acceptance in seconds, on the clock of the event loop.
        job_id: Identifier of the record that the job changes: the target, the search, the generation or the document.
        number: 1 for the first accepted launch of this kind and target, then 2, …
        credits: Credits charged for it so far, less refunds.
    """

    kind: str
    target: str
    time: float
    job_id: str
    number: int
    credits: int = 0


@define
class Ledger:
    """Record of requests and launches, for assertions in tests.

    Attributes:
        requests: All requests in order of arrival.
        launches: All accepted launches in order of acceptance.
    """

    requests: list[LoggedRequest] = field(factory=list)
    launches: list[AcceptedLaunch] = field(factory=list)

    def count(self, operation: str = "*", status: int | None = None) -> int:
        """Return the number of requests whose operation matches a name or glob, with ``status`` or any status."""
        return sum(
            fnmatchcase(request.operation, operation) and status in (None, request.status) for request in self.requests
        )

    def launches_of(self, target: str) -> list[AcceptedLaunch]:
        """Return the accepted launches of a target."""
        return [launch for launch in self.launches if launch.target == target]
