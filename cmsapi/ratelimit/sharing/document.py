"""Write and read the document of the limits that the processes of an account share.

The document is JSON with a `format`, and is used as a whole or not at all.

It stays small however many requests settled. Times are whole milliseconds, rounded up. Once there are more than
`LONGEST_LOG` different times, requests that have left the second are counted in slots, each at the time of its last
request. So a request may leave the hour later than it could, by one slot at the most, and never sooner.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate, chain
from operator import sub
from typing import Any

import attrs

from cmsapi.api.wire.jsontext import dumps, loads
from cmsapi.config import LARGEST_COUNT
from cmsapi.errors import DecodeError
from cmsapi.ratelimit.foreign_usage import ForeignUsage
from cmsapi.ratelimit.request_log import RequestLog
from cmsapi.ratelimit.sharing.allocator import Allocation, Holder
from cmsapi.ratelimit.sharing.exchange import AccountLimits, PermitGrant, PermitRequest

# A document of another format is not read; the limits are learned again.
FORMAT = 1
# So many different times are kept apart: some four kilobytes.
LONGEST_LOG = 512
# In so many slots the hour is counted beyond that; a slot is shorter than `CERTAIN` leaves room for.
SLOTS = 256
# A time that was written is read as a fraction, and may then seem to be later by this part of a millisecond.
_ROUNDING = 0.01
# Most seconds by which a time of a valid document is ahead of its own. The end of a pause is as far ahead as a service
# asks for.
_FAR = 2 * 86_400.0
_LONGEST_PAUSE = 101 * 365 * 86_400.0
# The time is in seconds since 1970, or since a process began.
_LATEST = 1e11
# An epoch is in milliseconds; no count is larger either.
_MOST = 1e14
# The errors of reading, when a value is missing, of another type, or far out of range.
_UNREADABLE = (DecodeError, TypeError, ValueError, KeyError, AttributeError, OverflowError)


def allocate(
    limits: AccountLimits, request: PermitRequest, document: str | None, clock: float
) -> tuple[str, PermitGrant]:
    """Take a request for permits into account; return the document that takes the place of the old one, and the grant.

    There is no document before the first request. The clock is one that all processes share.
    """
    allocation = read(document, limits)
    reset = document is not None and not allocation.epoch
    grant = allocation.exchange(request, clock, reset=reset)
    return write(allocation), grant


def write(allocation: Allocation) -> str:
    """Write an allocation down."""
    windows = allocation.windows
    said = {
        "format": FORMAT,
        "epoch": allocation.epoch,
        "time": _written(allocation.time),
        "ahead": _written(allocation.ahead),
        "settled": windows.log.total,
        "left": windows.log.left,
        "log": flat(windows.log),
        "known": windows.known,
        "limit": _written(windows.service_limit),
        "foreign": [_written(value) for value in attrs.astuple(windows.foreign_usage)],
        "tries_at": _written(windows.tries_at),
        "tries_every": _written(windows.tries_every),
        "rests_until": _written(windows.paused_until),
        "holders": {
            name: [_written(value) for value in attrs.astuple(holder)] for name, holder in allocation.holders.items()
        },
    }
    return dumps(said).decode()


def read(document: str | None, limits: AccountLimits) -> Allocation:
    """Read a document; none, and one that makes no sense, gives a new allocation, whose epoch is 0."""
    if document is not None:
        try:
            said: Any = loads(document.encode())
            if said["format"] == FORMAT:
                allocation = _of(said, limits)
                if _consistent(allocation) and allocation.windows.log.total == said["settled"]:
                    return allocation
        except _UNREADABLE:
            pass
    return Allocation(limits)


def flat(log: RequestLog) -> list[int]:
    """Return a log as a list of integers: the first time and its count, then the distance and count of each other."""
    counts: dict[int, int] = Counter([math.ceil(at * 1000 - _ROUNDING) for at in log.times])
    if len(counts) > LONGEST_LOG:
        slot, in_second = log.hour * 1000 / SLOTS, (log.leaves_second() - log.second) * 1000 - _ROUNDING
        merged: dict[float, tuple[int, int]] = {}
        for moment, count in counts.items():
            key = -moment if moment >= in_second else moment // slot
            merged[key] = moment, count + merged.get(key, (0, 0))[1]
        counts = dict(merged.values())
    distances = map(sub, counts, [0, *counts])
    return [*chain.from_iterable(zip(distances, counts.values(), strict=False))]


def unflat(flat: Sequence[int]) -> array[float]:
    """Return the times of which `flat` made a list; a `ValueError` says that it has not made this one."""
    counts = flat[1::2]
    if len(flat) % 2 or min(flat, default=0) < 0 or min(counts, default=1) < 1 or sum(counts) > LARGEST_COUNT:
        raise ValueError("a log has a count of at least 1 for each of its times, in order")
    times: list[float] = []
    for moment, count in zip(accumulate(flat[::2]), counts, strict=True):
        times += [moment / 1000] * count
    return array("d", times)


def _of(said: Any, limits: AccountLimits) -> Allocation:
    allocation = Allocation(
        limits,
        epoch=_number(said["epoch"]),
        time=_number(said["time"]),
        ahead=_number(said["ahead"]),
        holders={name: Holder(*map(_number, values)) for name, values in said["holders"].items()},
    )
    windows = allocation.windows
    windows.log.fill(unflat(said["log"]), _number(said["left"]))
    windows.known = windows.known or bool(said["known"])
    windows.foreign_usage = ForeignUsage(*(_number(value, math.inf) for value in said["foreign"]))
    windows.tries_at = _number(said["tries_at"], math.inf)
    windows.tries_every = _number(said["tries_every"])
    windows.paused_until = _number(said["rests_until"], -math.inf)
    windows.obey_service(_number(said["limit"], math.inf))
    return allocation


def _consistent(allocation: Allocation) -> bool:
    """Tell whether its values can be true together."""
    windows, until = allocation.windows, allocation.time + _FAR
    foreign, left = windows.foreign_usage, windows.log.left
    return (
        min(allocation.ahead, windows.tries_every, left, foreign.count) >= 0
        and allocation.epoch > 0
        and max(allocation.epoch, left) <= _MOST
        and (not windows.log.times or windows.log.times[-1] <= allocation.time + 1.0)
        and max(allocation.time, allocation.ahead, windows.tries_every) <= _LATEST
        and windows.paused_until <= allocation.time + _LONGEST_PAUSE
        # An answer that tells of foreign requests counts no more of them than its limit.
        and (not foreign.count or (foreign.count <= windows.service_limit < math.inf and foreign.last_leaves <= until))
        and all(
            min(each.out, each.want) >= 0 and max(each.expires, each.place_until, each.since) <= until
            for each in allocation.holders.values()
        )
    )


def _written(value: float) -> float | None:
    """Write a number down to the microsecond; infinity has no form in JSON."""
    return None if math.isinf(value) else round(value, 6)


def _number(value: Any, absent: float | None = None) -> Any:
    """Read a number; a `TypeError` says that it is none."""
    if value is None and absent is not None:
        return absent
    if type(value) not in (int, float):
        raise TypeError
    return value
