"""Protocol of the stores, and the rows in them. Each launch has a row, which is inserted before the launch is sent.

A row with status ``sending`` has a deadline. After the deadline, no request for the launch can still be running. If a
process dies while launching, its row stays ``sending`` until another process needs the launch and settles it. Several
processes may try, but only one succeeds, because `Store.update` checks the status and attempt that the caller read.

Times are in seconds on the store's own clock, which all processes share.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import partial
from typing import Any, Protocol, runtime_checkable
from urllib.parse import urlsplit

from attrs import field, frozen

from cmsapi.errors import ConfigError, StateError

SCHEMA = "1"
"""Version of a store's contents. A new column that may be null needs no new version; all other changes do."""

PATIENCE = 30  # seconds that a connection, a statement or a lock may take


class JobStatus(StrEnum):
    """Status of a launch and of its job.

    A launch is ``sending`` until the service has accepted it, and ``unknown`` if the service may or may not have
    accepted it; the other statuses are those of the job.
    """

    SENDING = "sending"
    RUNNING = "running"
    REVIEW = "review"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    UNKNOWN = "unknown"


OPEN = frozenset({JobStatus.SENDING, JobStatus.RUNNING, JobStatus.REVIEW})
"""Statuses of launches that are not over; there is at most one such launch for each kind and target."""
ENDED = frozenset({JobStatus.SUCCEEDED, JobStatus.FAILED})  # statuses of launches whose jobs have ended


@frozen
class Row:
    """One launch, as the store keeps it."""

    kind: str
    target: str  # identifier of the job's target; made unique for a launch that is never joined
    name: str  # readable name of what was launched
    status: JobStatus = JobStatus.SENDING
    attempt: int = 1
    settings: str | None = None  # digest of the settings of a launch that can be joined, keyed with the API key
    token: str | None = None
    result: bytes | None = field(default=None, repr=False)  # the result as JSON, compressed
    error: str | None = None  # why it failed, or where to look
    decision: str | None = None  # on an article: ``confirm`` or ``cancel``, written before it is sent
    age: float = 0.0  # seconds from its insertion until it was read
    remaining: float = 0.0  # seconds from when it was read to its deadline
    id: str = field(factory=partial(secrets.token_hex, 8))

    @property
    def open(self) -> bool:
        """True if the launch is being sent, or its job is running or in review."""
        return self.status in OPEN


@frozen
class Taken:
    """Result of `SharedStore.take`: whether the request may be sent, and the counts."""

    wait: float  # seconds after which to ask again; 0 if the request may be sent
    used: int  # requests of all processes in the last hour or under way, not counting this one
    open_jobs: Mapping[str, int]  # number by kind, in all processes, without articles in review


class Store(Protocol):
    """Protocol of a store for the launches of one organization. Methods raise `StateError` if the store is unusable."""

    async def insert(self, row: Row, deadline: float, item: tuple[str, str] | None = None) -> Row | None:
        """Insert a launch, and ``item`` if given. Return None, or the conflicting launch if nothing was inserted.

        A launch conflicts if ``item`` is already assigned to it, or if it is open and has the same kind and target.

        Args:
            row: Row of the launch.
            deadline: Seconds from now after which no request for the launch can still be running.
            item: Names of the batch and of its item; None for a launch outside batches.
        """
        ...

    async def get(self, launch_id: str) -> Row | None:
        """Return the launch with identifier ``launch_id``; None if there is none."""
        ...

    async def find(self, kind: str, target: str) -> Row | None:
        """Return the open launch of ``kind`` for ``target``; None if there is none."""
        ...

    async def rows(self, statuses: Iterable[JobStatus]) -> list[Row]:
        """Return all launches that have one of ``statuses``, oldest first."""
        ...

    async def update(self, row: Row, deadline: float | None = None, **changes: Any) -> bool:
        """Change a launch if it still has the status and attempt of ``row``, and return whether it was changed.

        Reopening a launch also requires that no other launch of its kind and target is open. A launch that is changed
        to succeeded or failed is deleted unless a batch item is assigned to it. ``deadline`` is in seconds from now.
        """
        ...

    async def delete(self, *ids: str) -> None:
        """Delete the launches with identifiers ``ids``, and their batch items."""
        ...

    async def add_item(self, batch: str, item: str, launch_id: str) -> None:
        """Assign ``item`` of ``batch`` to an existing launch. Create the item if it does not exist."""
        ...

    async def items(self, batch: str) -> dict[str, Row]:
        """Return the launches of ``batch``, keyed by item name."""
        ...

    async def drop_items(self, batch: str, items: Iterable[str]) -> None:
        """Delete ``items`` of ``batch``. Also delete their launches, except those that are open or have other items."""
        ...

    async def batches(self) -> dict[str, dict[JobStatus, int]]:
        """Return, for each batch, the number of its items by status."""
        ...

    async def aclose(self) -> None:
        """Close the store's connection, if it has one."""
        ...


@runtime_checkable
class SharedStore(Store, Protocol):
    """Protocol of a store that several processes share. It also counts the requests of their API key.

    Attributes:
        scope: Digest of the service URL and the organization's identifier (or the API key); set before any launch.
    """

    scope: str

    async def durations(self) -> dict[str, str]:
        """Return the learned durations of jobs, keyed by kind. Each value is JSON."""
        ...

    async def save_durations(self, kind: str, learned: str) -> None:
        """Replace the saved durations of ``kind`` with ``learned``, which is JSON."""
        ...

    async def take(self, request_id: str, per_second: int, per_hour: int, seconds: float) -> Taken:
        """Count a request if it may be sent now. Return the seconds to wait (0 if it may be sent) and the counts.

        ``seconds`` is the maximum duration of the request. If ``per_hour`` is 0, no request is counted.
        """
        ...

    async def answered(self, request_id: str, *, departed: bool, pause: float) -> int:
        """Record the end of a request, and return the number of requests answered in the last hour.

        If ``departed`` is False, the request is not counted. No request may be sent for the next ``pause`` seconds.
        """
        ...


def check_schema(name: str, written: str | bytes) -> None:
    """Raise `StateError` if the schema version ``written`` is newer than `SCHEMA`; ``name`` is for the message."""
    if int(written) > int(SCHEMA):
        problem = f"the state {name} was written by a newer cmsapi (schema {int(written)}, known is {SCHEMA})"
        raise StateError(f"{problem}: upgrade cmsapi, or use another state")


def open_store(url: str, key: str) -> Store | SharedStore:
    """Return the store at ``url``, or raise `ConfigError`. ``key`` is a digest of the service address and API key."""
    scheme, _, rest = url.partition(":")
    if url == "memory:":
        from cmsapi.state.memory import MemoryStore

        return MemoryStore()
    if scheme == "sqlite" and rest[:3] == "///" and rest[3:] not in ("", ":memory:") and set("?\n").isdisjoint(rest):
        from cmsapi.state.sql import SqlStore
        from cmsapi.state.sqlite import sqlite

        return SqlStore(sqlite(rest.removeprefix("///")), key)
    if scheme in ("postgresql", "postgres"):
        from cmsapi.state.postgres import postgres
        from cmsapi.state.sql import SqlStore

        return SqlStore(postgres(url), key)
    if scheme in ("redis", "rediss"):
        from cmsapi.state.redis import RedisStore

        return RedisStore(url, key)
    shown = "memory:, sqlite:///file without a query, postgresql://host/database or redis://host"
    raise ConfigError(f"state must be {shown}, got the scheme {scheme!r}")


def host_of(url: str) -> str:
    """Return the scheme and host of ``url``, without the password. Raise `ConfigError` if ``url`` is invalid."""
    try:
        parts = urlsplit(url)
    except ValueError:
        raise ConfigError("state is not an address: the host in brackets is not an IPv6 address") from None
    return f"{parts.scheme}://{parts.hostname or ''}"


def check_state(url: str | None) -> str:
    """Return the state's address: ``url``, else ``CMSAPI_STATE``, else ``memory:``. Raise `ConfigError` if invalid."""
    url = url or os.environ.get("CMSAPI_STATE") or "memory:"
    open_store(url, "")
    return url
