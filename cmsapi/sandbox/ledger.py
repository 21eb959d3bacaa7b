"""The ledger: the requests that left a client, and the launches that the service accepted."""

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
        status: HTTP status of the response; None if a fault closed the connection.
        key: Role of the key's user, ``admin`` or ``member``; None if the request had no valid key.
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
        target: Identifier of the keyword, prompt or content; seed keyword of the search; or name of the document.
        time: Time of acceptance in seconds, on the clock of the event loop.
        job_id: Identifier of the record that the job changes: the keyword, prompt, search, generation or document.
        number: Position among the accepted launches of the same kind and target, counted from 1.
        credits: Credits charged for the launch so far, less refunds.
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
        requests: Requests in order of arrival. A request whose connection was refused is not recorded.
        launches: All accepted launches in order of acceptance.
    """

    requests: list[LoggedRequest] = field(factory=list)
    launches: list[AcceptedLaunch] = field(factory=list)

    def count(self, operation: str = "*", status: int | None = None) -> int:
        """Return the number of requests for ``operation`` (a name or a glob), optionally only those with ``status``."""
        return sum(
            fnmatchcase(request.operation, operation) and status in (None, request.status) for request in self.requests
        )

    def launches_of(self, target: str) -> list[AcceptedLaunch]:
        """Return the accepted launches whose target is ``target``, in order of acceptance."""
        return [launch for launch in self.launches if launch.target == target]
