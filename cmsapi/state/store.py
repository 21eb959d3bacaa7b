"""What a state keeps, and the protocol of the stores: a row for each launch, from before it is sent until it is over.

A row that is ``sending`` has a deadline, after which no request of its launch is under way any more. A process that
dies leaves such a row behind; the next process that needs its target settles it. There are no leases: `Store.update`
changes a row only from the status and attempt that the caller has read, so of several processes one succeeds.

Times are seconds of the store's own clock, which all processes share, and are only ever compared with that clock.
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
"""Version of what a state contains. New columns may be null; everything else needs a new version."""

PATIENCE = 30  # seconds that a connection, a statement or a lock may take


class JobStatus(StrEnum):
    """Where a launch and its job are.

    ``sending`` until the service has accepted the launch, ``unknown`` if it may or may not have; the others are
    what the service shows of the job.
    """

    SENDING = "sending"
    RUNNING = "running"
    REVIEW = "review"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    UNKNOWN = "unknown"


OPEN = frozenset({JobStatus.SENDING, JobStatus.RUNNING, JobStatus.REVIEW})
"""Statuses of launches that are not over; there is at most one of them for a kind and target."""
ENDED = frozenset({JobStatus.SUCCEEDED, JobStatus.FAILED})  # statuses of launches whose jobs have ended


@frozen
class Row:
    """One launch."""

    kind: str
    target: str  # what it is for, or a name of its own if launches of its kind are never joined
    name: str  # what was launched, for people
    status: JobStatus = JobStatus.SENDING
    attempt: int = 1
    settings: str | None = None  # their digest
    token: str | None = None
    result: bytes | None = field(default=None, repr=False)  # its wire document, compressed
    error: str | None = None  # why it failed, or where to look
    decision: str | None = None  # on an article: ``confirm`` or ``cancel``, written before it is sent
    age: float = 0.0  # seconds since it was inserted, when it was read
    remaining: float = 0.0  # seconds until its deadline, when it was read
    id: str = field(factory=partial(secrets.token_hex, 8))

    @property
    def open(self) -> bool:
        """True if the launch is not over."""
        return self.status in OPEN


@frozen
class Taken:
    """What came of asking for permission to send a request."""

    wait: float  # seconds after which to ask again; 0 if it may go
    used: int  # requests of all processes in the last hour, with those under way
    open_jobs: Mapping[str, int]  # of all processes by kind, without articles in review


class Store(Protocol):
    """A state, for the launches of one organization. Methods raise `StateError` when the store does not answer."""

    async def insert(self, row: Row, deadline: float, item: tuple[str, str] | None = None) -> Row | None:
        """Insert a launch, and the item of a batch that it belongs to, or return the launch in its way.

        That is the one of the item, or an open one for the target.

        Args:
            row: The launch.
            deadline: Seconds until no request of it is under way any more.
            item: Batch and item.
        """
        ...

    async def get(self, launch_id: str) -> Row | None:
        """Return a launch."""
        ...

    async def find(self, kind: str, target: str) -> Row | None:
        """Return the open launch for a target."""
        ...

    async def rows(self, statuses: Iterable[JobStatus]) -> list[Row]:
        """Return all launches with some statuses, the oldest first."""
        ...

    async def update(self, row: Row, deadline: float | None = None, **changes: Any) -> bool:
        """Change a launch, and return True, if it still has the status and attempt of ``row``.

        A launch that is over opens again only if no other launch of its target is open. A launch whose job has ended
        is deleted if no item of a batch needs it.
        """
        ...

    async def delete(self, *ids: str) -> None:
        """Delete launches with their items."""
        ...

    async def add_item(self, batch: str, item: str, launch_id: str) -> None:
        """Add an item of a batch for a launch that is there already."""
        ...

    async def items(self, batch: str) -> dict[str, Row]:
        """Return the launches of a batch by item."""
        ...

    async def drop_items(self, batch: str, items: Iterable[str]) -> None:
        """Delete items of a batch, and those of their launches that are over and that no other item needs."""
        ...

    async def batches(self) -> dict[str, dict[JobStatus, int]]:
        """Return the number of items by batch and status."""
        ...

    async def aclose(self) -> None:
        """Close the store."""
        ...


@runtime_checkable
class SharedStore(Store, Protocol):
    """A state that several processes share, and with it the limits of their key.

    Attributes:
        scope: Digest of address and organization, for the launches; set before the first of them.
    """

    scope: str

    async def durations(self) -> dict[str, str]:
        """Return what was learned of durations, as JSON by kind."""
        ...

    async def save_durations(self, kind: str, learned: str) -> None:
        """Keep what was learned of durations."""
        ...

    async def take(self, request_id: str, per_second: int, per_hour: int, seconds: float) -> Taken:
        """Take one request of both limits, for as long as it may be under way and an hour more, or say when to ask.

        ``per_hour`` leaves out what this request has to leave to others; 0 only looks. It needs no ``scope``.
        """
        ...

    async def answered(self, request_id: str, *, departed: bool, pause: float) -> int:
        """Account for the end of a request, and return the number of answered ones of the last hour.

        For some seconds nothing may be sent, if ``pause`` is above 0; a longer pause stays.
        """
        ...


def check_schema(name: str, written: str | bytes) -> None:
    """Refuse a state that a newer cmsapi has written, by the address to show and its version."""
    if int(written) > int(SCHEMA):
        problem = f"the state {name} was written by a newer cmsapi (schema {int(written)}, known is {SCHEMA})"
        raise StateError(f"{problem}: upgrade cmsapi, or use another state")


def open_store(url: str, key: str) -> Store | SharedStore:
    """Return the state at an address, which its first method opens; ``key`` is a digest of address and key."""
    scheme, _, rest = url.partition(":")
    if url == "memory:":
        from cmsapi.state.memory import MemoryStore

        return MemoryStore()
    if scheme == "sqlite" and rest.startswith("///") and len(rest) > len("///"):
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
    shown = "memory:, sqlite:///file, postgresql://host/database or redis://host"
    raise ConfigError(f"state must be {shown}, got the scheme {scheme!r}")


def host_of(url: str) -> str:
    """Return scheme and host of an address, for errors that show no password; refuse an invalid address."""
    try:
        parts = urlsplit(url)
    except ValueError:
        raise ConfigError("state is no address: a host in brackets is no IPv6 address") from None
    return f"{parts.scheme}://{parts.hostname or ''}"


def check_state(url: str | None) -> str:
    """Return the address of the state, checked; default ``CMSAPI_STATE``, else ``memory:``."""
    url = url or os.environ.get("CMSAPI_STATE") or "memory:"
    open_store(url, "")
    return url
