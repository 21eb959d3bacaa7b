"""The protocol of the stores, and their rows: one for each launch, inserted before the launch is sent.

A row that is ``sending`` has a deadline, after which no request of its launch is still under way. A process that
dies leaves such a row behind; the next process that needs the launch settles it. There are no leases: `Store.update`
changes a row only if it still has the status and attempt that the caller read, so only one process succeeds.

Times are seconds on the store's own clock, which all processes share, and are only ever compared with that clock.
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
"""Version of the contents of a store. A new column that may be null needs no new version; all other changes do."""

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
    """One launch."""

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
        """True if the launch is not over."""
        return self.status in OPEN


@frozen
class Taken:
    """Result of `SharedStore.take`."""

    wait: float  # seconds after which to ask again; 0 if the request may be sent
    used: int  # requests of all processes in the last hour or under way, not counting this one
    open_jobs: Mapping[str, int]  # number by kind, in all processes, without articles in review


class Store(Protocol):
    """Protocol of a store for the launches of one organization. Methods raise `StateError` if the store is unusable."""

    async def insert(self, row: Row, deadline: float, item: tuple[str, str] | None = None) -> Row | None:
        """Insert a launch and its batch item, if any; if another launch is in the way, return it and insert nothing.

        A launch is in the way if the item already has it, or if it is open for the same kind and target.

        Args:
            row: The launch.
            deadline: Seconds after which no request of the launch is still under way.
            item: Names of the batch and the item.
        """
        ...

    async def get(self, launch_id: str) -> Row | None:
        """Return a launch; None if there is none."""
        ...

    async def find(self, kind: str, target: str) -> Row | None:
        """Return the open launch for a target; None if there is none."""
        ...

    async def rows(self, statuses: Iterable[JobStatus]) -> list[Row]:
        """Return all launches with one of the statuses, oldest first."""
        ...

    async def update(self, row: Row, deadline: float | None = None, **changes: Any) -> bool:
        """Change a launch and return True if it still has the status and attempt of ``row``; else return False.

        A launch that is over can be reopened only if no other launch of its target is open. A launch whose job has
        ended is deleted if no item of a batch needs it. A new ``deadline`` is in seconds from now.
        """
        ...

    async def delete(self, *ids: str) -> None:
        """Delete launches with their items."""
        ...

    async def add_item(self, batch: str, item: str, launch_id: str) -> None:
        """Assign an item of a batch, new or not, to an existing launch."""
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
    """A store that several processes share, together with the rate limits of their key.

    Attributes:
        scope: Digest of address and organization (if that is unknown, address and key); set before the first launch.
    """

    scope: str

    async def durations(self) -> dict[str, str]:
        """Return the learned durations, as JSON by kind."""
        ...

    async def save_durations(self, kind: str, learned: str) -> None:
        """Save the learned durations of a kind, as JSON."""
        ...

    async def take(self, request_id: str, per_second: int, per_hour: int, seconds: float) -> Taken:
        """Count a request against both limits, for the time it may be under way plus an hour, or say when to ask again.

        ``per_hour`` is the limit less requests left to others; with 0, only counts are read. ``scope`` may be empty.
        """
        ...

    async def answered(self, request_id: str, *, departed: bool, pause: float) -> int:
        """Record the end of a request, and return the number of requests answered in the last hour.

        A request that did not depart no longer counts. Nothing may be sent for ``pause`` seconds; a longer pause stays.
        """
        ...


def check_schema(name: str, written: str | bytes) -> None:
    """Refuse a state that a newer cmsapi has written; the error shows ``name``."""
    if int(written) > int(SCHEMA):
        problem = f"the state {name} was written by a newer cmsapi (schema {int(written)}, known is {SCHEMA})"
        raise StateError(f"{problem}: upgrade cmsapi, or use another state")


def open_store(url: str, key: str) -> Store | SharedStore:
    """Return the store at an address; its first use opens it. ``key`` is a digest of service address and API key."""
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
    """Return scheme and host of an address, for errors that show no password; refuse an invalid address."""
    try:
        parts = urlsplit(url)
    except ValueError:
        raise ConfigError("state is not an address: the host in brackets is not an IPv6 address") from None
    return f"{parts.scheme}://{parts.hostname or ''}"


def check_state(url: str | None) -> str:
    """Check and return the address of the state; the default is ``CMSAPI_STATE``, else ``memory:``."""
    url = url or os.environ.get("CMSAPI_STATE") or "memory:"
    open_store(url, "")
    return url
