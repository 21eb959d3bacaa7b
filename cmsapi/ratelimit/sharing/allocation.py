"""What the processes of an account agree on about its limits, as a value and as a small document.

The document is JSON with a `format`, and is used as a whole or not at all. Of a document of the first edition only the
number of used requests is read. They are taken to have settled just now, which is never too early.
"""

from __future__ import annotations

import math
from typing import Any

import attrs

from cmsapi.api.wire.jsontext import dumps, loads
from cmsapi.errors import DecodeError
from cmsapi.ratelimit.foreign_usage import ForeignUsage
from cmsapi.ratelimit.request_log import SlottedLog

# No time of a valid document lies so many seconds ahead of its own: no pause is longer.
_FAR = 2 * 86_400.0
# The time is in seconds since 1970, or since a process began.
_LATEST = 1e11
# An epoch is in milliseconds; no count is larger either.
_MOST = 1e14
# What reading raises when a value is missing, of another type, or far out of range.
_UNREADABLE = (DecodeError, TypeError, ValueError, KeyError, AttributeError, OverflowError)


@attrs.define
class Holder:
    """Hold what is known of one process.

    Args:
        number: Its last exchange.
        expires: When it expires, unless there is another exchange.
        out: Permits that it has.
        want: Permits that it is queued for; 0 when it is not.
        priority: Its lane.
        since: Since when it is queued.
        got: Permits that it was given at this place of the queue.
        place_until: Until when its place is kept.
    """

    number: int = 0
    expires: float = 0.0
    out: int = 0
    want: int = 0
    priority: int = 0
    since: float = 0.0
    got: int = 0
    place_until: float = 0.0


@attrs.define
class Allocation:
    """Hold what the processes of an account agree on.

    Args:
        epoch: When the allocation began, in milliseconds; 0 before its first exchange.
        time: Its latest time.
        ahead: How far its time is ahead of the store's clock, because that was set back.
        left: Requests that have left the hour, all told.
        log: The settled requests of the hour.
        known: Whether an answer ever came, so that its headers have told what is left of the hour.
        limit: Requests an hour as the service says, or None.
        foreign: The requests of other programs.
        tries_at: When one request may try an hour that is full by a limit that an answer named.
        tries_every: Seconds between two such.
        rests_until: Until when the service wants all processes to rest.
        holders: The processes, by name.
    """

    epoch: int = 0
    time: float = -math.inf
    ahead: float = 0.0
    left: int = 0
    log: SlottedLog = attrs.field(factory=SlottedLog)
    known: bool = False
    limit: int | None = None
    foreign: ForeignUsage = attrs.field(factory=ForeignUsage)
    tries_at: float = math.inf
    tries_every: float = 0.0
    rests_until: float = -math.inf
    holders: dict[str, Holder] = attrs.field(factory=dict)

    @property
    def settled(self) -> int:
        """Requests that have settled, all told."""
        return self.left + self.log.total

    @property
    def out(self) -> int:
        """Permits that the holders have."""
        return sum(holder.out for holder in self.holders.values())

    @property
    def used(self) -> int:
        """Requests of this hour."""
        return self.out + self.log.total + self.foreign.count

    def document(self) -> str:
        """Write the allocation down."""
        said = {
            "format": 2,
            "epoch": self.epoch,
            "time": _written(self.time),
            "ahead": _written(self.ahead),
            "settled": self.settled,
            "left": self.left,
            "log": self.log.flat(),
            "known": self.known,
            "limit": self.limit,
            "foreign": [_written(value) for value in attrs.astuple(self.foreign)],
            "tries_at": _written(self.tries_at),
            "tries_every": _written(self.tries_every),
            "rests_until": _written(self.rests_until),
            "holders": {
                name: [_written(value) for value in attrs.astuple(holder)] for name, holder in self.holders.items()
            },
        }
        return dumps(said).decode()

    @classmethod
    def read(cls, document: str | None, now: float) -> Allocation:
        """Read a document; one that makes no sense gives a new allocation, whose epoch is 0.

        Args:
            document: The text, None where there is none.
            now: The time of the store.
        """
        if document is None:
            return cls()
        try:
            said: Any = loads(document.encode())
            if said["format"] == 1:
                return cls(log=SlottedLog([math.ceil(now * 1000), said["used"]]))
            if said["format"] == 2:
                allocation = cls._of(said)
                if allocation.consistent() and allocation.settled == said["settled"]:
                    return allocation
        except _UNREADABLE:
            pass
        return cls()

    @classmethod
    def _of(cls, said: Any) -> Allocation:
        return cls(
            epoch=_number(said["epoch"]),
            time=_number(said["time"]),
            ahead=_number(said["ahead"]),
            left=_number(said["left"]),
            log=SlottedLog(said["log"]),
            known=bool(said["known"]),
            limit=None if said["limit"] is None else _number(said["limit"]),
            foreign=ForeignUsage(*(_number(value, math.inf) for value in said["foreign"])),
            tries_at=_number(said["tries_at"], math.inf),
            tries_every=_number(said["tries_every"]),
            rests_until=_number(said["rests_until"], -math.inf),
            holders={name: Holder(*map(_number, values)) for name, values in said["holders"].items()},
        )

    def consistent(self) -> bool:
        """Tell whether its values can be true together."""
        until, foreign = self.time + _FAR, self.foreign
        return (
            min(self.ahead, self.tries_every, self.left, foreign.count) >= 0
            and self.epoch > 0
            and max(self.epoch, self.left, self.log.total) <= _MOST
            and self.log.newest() <= self.time + 1.0
            and max(self.time, self.ahead, self.tries_every) <= _LATEST
            and self.rests_until <= until
            # An answer that tells of foreign requests counts no more of them than its limit.
            and (not foreign.count or (foreign.count <= (self.limit or 0) and foreign.last_leaves <= until))
            and all(
                min(each.out, each.want) >= 0 and max(each.expires, each.place_until, each.since) <= until
                for each in self.holders.values()
            )
        )


def _written(value: float) -> float | None:
    """Write a number down to the microsecond; infinity has no form in JSON."""
    return None if math.isinf(value) else round(value, 6)


def _number(value: Any, absent: float | None = None) -> Any:
    """Read a number.

    Raises:
        TypeError: It is none.
    """
    if value is None and absent is not None:
        return absent
    if type(value) not in (int, float):
        raise TypeError
    return value
