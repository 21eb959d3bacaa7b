"""Count the requests of all processes of an account in one log, which lies in the shared state.

The log has a row for each request that may count: one that is open until it lands, then one with the time at which
it did. So the rule is that of `cmsapi.ratelimit.sliding_windows`, and so is its proof: a permit is out from the moment
it is given until one window after its request has landed, whichever process holds it.

A *take* is one transaction by the clock of the state. A process tells its rows, and how many permits it wants; what is
over is dropped; and the process gets permits, which are open rows from then on, or the seconds after which it may ask
again. Each process writes its own rows, and all of them each time. So a take whose reply got lost leaks nothing, one
that arrives twice counts once, and whatever a process did while it could not reach the state counts once it is back.

- The open rows of a process that was not heard of for `PROCESS_TIMEOUT` seconds land when nothing of it can still
  arrive.
- While others wait, a process takes no more than an even share of the second; and in a short hour it leaves one permit
  to each of them that had fewer in the last minute. Polls make way for all other calls.
- After an outage all processes pause until each of them must have told what it did meanwhile. A process that did not
  notice the outage may come first: when all others that have requests out, or wait, were absent for longer than they
  ever are, all pause.
- A state may lose the log, or something else may spoil it. Then a new one begins, and once a process comes that knew
  another one, all pause until each of them must have told its rows.
- Rows are told by their age, so that the clocks of the processes need not agree. What the telling takes makes a request
  land later, never sooner.
"""

from __future__ import annotations

import enum
import hashlib
import math
import sys
from collections import Counter
from itertools import chain
from typing import Any

import attrs

from cmsapi.api.wire.jsontext import dumps, loads
from cmsapi.ratelimit.foreign_usage import ForeignUsage
from cmsapi.ratelimit.permits import Quota
from cmsapi.ratelimit.request_log import AFTER_THE_HOUR, HOUR, SECOND, RequestLog
from cmsapi.ratelimit.sliding_windows import SlidingWindows
from cmsapi.ratelimit.unanswered import IN_FLIGHT_CAP

# A log of another format is not read; the limits are learned again.
FORMAT = 4
# Seconds without a word from a process after which its open rows land, once nothing of it can still arrive.
PROCESS_TIMEOUT = 5.0
# The most seconds after which a process that waits comes back, and those for which it counts as waiting.
LONGEST_WAIT = 2.0
WAITS = LONGEST_WAIT + 1.0
# Where only an answer can tell when a permit comes back, a process asks again after this part of the second: the permit
# comes back a second after the answer at the soonest. While the very first answer is out, it asks after this part.
ASK_AGAIN = 0.8
FIRST_ANSWER = 0.2
# Seconds that a process waits at least before it asks again, so that one take brings the permits of several returns.
GATHER = 0.05
# Seconds for which all processes pause after an outage: longer than a process takes to try again.
OUTAGE_PAUSE = 2.0
# A process tells its open rows twice in `PROCESS_TIMEOUT`. When all of them were absent for this part of it, and for
# longer than a process waits, they could not reach the state.
ABSENCE = 0.6
# Seconds over which the permits of two processes are compared.
LATELY = 60.0
# A clock that goes back by more seconds than this was set; waiting for it would hold all processes up.
CLOCK_JUMP = 10.0
# A process that has more rows than that writes those that have left the second in slots, each at its end: a request may
# leave the hour later by a slot.
MOST_ROWS = 1024


@attrs.frozen(kw_only=True)
class AccountLimits:
    """Describe what an account admits.

    Args:
        per_second: Requests in any one second; None or infinity for no limit.
        per_hour: Requests in any hour; None or infinity for no limit.
        reserve: Requests of the hour that polls leave to the others; None for one in a hundred.
        second: Length of the shorter window in seconds.
        hour: Length of the longer window in seconds, with what the clocks may differ by.
        process_timeout: Seconds after which a process that was not heard of counts as gone.
    """

    per_second: float | None
    per_hour: float | None
    reserve: float | None = None
    second: float = SECOND
    hour: float = HOUR
    process_timeout: float = PROCESS_TIMEOUT

    @property
    def horizon(self) -> float:
        """Seconds for which a request that has landed matters."""
        if (self.per_hour or math.inf) < math.inf:
            return self.hour + AFTER_THE_HOUR
        return self.second if (self.per_second or math.inf) < math.inf else 0.0

    def windows(self) -> SlidingWindows:
        """Return windows with these limits that no request has used yet."""
        log = RequestLog(second=self.second, hour=self.hour)
        return SlidingWindows(self.per_second, self.per_hour, reserve=self.reserve, log=log)


class Waiting(enum.IntEnum):
    """Name which calls of a process wait for permits; those of others pass polls."""

    NONE = 0
    POLLS = 1
    OTHERS = 2


@attrs.define
class ProcessRows:
    """Count the requests of one process.

    Args:
        heard_at: When it was last heard of.
        open: Its requests without an answer, and permits at hand.
        waiting: Which of its calls wait.
        landed: When its other requests landed.
    """

    heard_at: float
    open: int = 0
    waiting: Waiting = Waiting.NONE
    landed: list[float] = attrs.field(factory=list)

    def since(self, moment: float) -> int:
        """Return how many are open or landed after a moment."""
        return self.open + sum(at > moment for at in self.landed)


@attrs.frozen(kw_only=True)
class Take:
    """Report what a process did, and ask for permits.

    Args:
        process: Names the process; a name is never used again.
        open: Its requests without an answer, and permits at hand.
        landed: How long ago, in seconds, its other requests of the hour landed.
        answered: Whether one was answered since the last take.
        quota: What the newest answer said of the limits, or None.
        taken_at: When the permit of that answer's request was taken, by the clock of the state.
        quota_age: Seconds since that answer came.
        pause: Seconds for which all processes pause.
        want: Permits wanted.
        background: Whether they are for polls, which leave a part of both windows to other calls.
        log: When the log of the last take began, 0 for none.
    """

    process: str
    open: int = 0
    landed: tuple[float, ...] = ()
    answered: bool = False
    quota: Quota | None = None
    taken_at: float = math.inf
    quota_age: float = 0.0
    pause: float = 0.0
    want: int = 0
    background: bool = False
    log: int = 0


@attrs.frozen(kw_only=True)
class Taken:
    """Answer a take.

    Args:
        granted: Permits given.
        wait: Seconds after which another take may give something; 0 when this one did.
        log: The log after it.
        loss: Why this take began a log anew or met another one than the last: `"spoilt"`, `"lost"`, or None.
    """

    granted: int
    wait: float
    log: SharedLog
    loss: str | None = None


def take(limits: AccountLimits, asked: Take, document: str | None, clock: float) -> tuple[str, Taken]:
    """Take permits; return the document that takes the place of the old one, and what was given.

    There is no document before the first take. The clock is one that all processes share.
    """
    log = read(document, limits)
    taken = log.take(asked, clock, spoilt=document is not None and not log.began)
    return write(log), taken


class SharedLog:
    """Hold the rows of all processes and what answers said, and apply the rules to them."""

    def __init__(self, limits: AccountLimits) -> None:
        self.limits: AccountLimits = limits
        #: When it began, in milliseconds, which names it; 0 before its first take. And its latest time.
        self.began: int = 0
        self.time: float = -math.inf
        self.processes: dict[str, ProcessRows] = {}
        #: The requests of all processes, and the pause for all.
        self.windows: SlidingWindows = limits.windows()

    def take(self, asked: Take, clock: float, *, spoilt: bool = False) -> Taken:
        """Note what a process did, and give it the permits that it may have.

        `spoilt` says that this log takes the place of one that could not be read.
        """
        before, now = self.time, self._advance(clock)
        windows = self.windows
        self.began = self.began or max(1, int(now * 1000))
        lost = asked.log not in (0, self.began)
        if asked.pause > 0:
            windows.pause(now, asked.pause)
        if windows.limited and self._were_absent(asked.process, now - before):
            windows.pause(now, OUTAGE_PAUSE)
        if windows.limited and (lost or spoilt):
            windows.pause(min(now, self.began / 1000), self.limits.process_timeout)
        landed, heard = [now - age for age in asked.landed], self.processes.get(asked.process)
        if landed and (heard is None or max(landed) > heard.heard_at):
            windows.tried(max(landed))
        rows = self.processes[asked.process] = ProcessRows(now, asked.open, landed=landed)
        self._count()
        if asked.quota is not None and not lost:
            came_at = now - asked.quota_age
            windows.observe(asked.quota, min(asked.taken_at, came_at), now, came_at)
        windows.known = windows.known or (asked.answered and not lost)
        granted, wait = self._give(rows, asked, now)
        rows.open += granted
        if granted < asked.want:
            rows.waiting = _waiting(asked)
        windows.take_all(granted)
        loss = "spoilt" if spoilt else "lost" if lost else None
        return Taken(granted=granted, wait=wait, log=self, loss=loss)

    def shift(self, seconds: float) -> None:
        """Move all times."""
        self.time += seconds
        for rows in self.processes.values():
            rows.heard_at += seconds
            rows.landed = [at + seconds for at in rows.landed]
        windows = self.limits.windows()
        windows.learn(self.windows, seconds)
        self.windows = windows

    def others(self, process: str) -> list[ProcessRows]:
        """Return the rows of all processes but one."""
        return [rows for name, rows in self.processes.items() if name != process]

    # The passing of time

    def _advance(self, clock: float) -> float:
        """Drop what is over, and return the time."""
        if clock < self.time - CLOCK_JUMP:
            self.shift(clock - self.time)
        now, horizon = max(clock, self.time), self.limits.horizon
        self.time = now
        for name, rows in list(self.processes.items()):
            gone_at = rows.heard_at + self.limits.process_timeout + IN_FLIGHT_CAP
            if gone_at <= now:
                rows.landed += [gone_at] * rows.open
                rows.open, rows.waiting = 0, Waiting.NONE
            rows.landed = [at for at in rows.landed if at + horizon > now]
            if not (rows.open or rows.waiting or rows.landed):
                del self.processes[name]
        self._count()
        return now

    def _count(self) -> None:
        self.windows.outstanding = sum(rows.open for rows in self.processes.values())
        self.windows.log.fill(sorted(chain.from_iterable(rows.landed for rows in self.processes.values())))
        self.windows.advance(self.time)

    def _were_absent(self, process: str, since: float) -> bool:
        """Check whether the other processes could not reach the state; the last take was `since` seconds ago."""
        absence = max(ABSENCE * self.limits.process_timeout, WAITS)
        return since > absence and any(rows.open or rows.waiting for rows in self.others(process))

    # What a process gets

    def _give(self, own: ProcessRows, asked: Take, now: float) -> tuple[int, float]:
        """Return how many permits a process gets, and seconds after which it may come back."""
        if not asked.want:
            return 0, 0.0
        windows, second = self.windows, self.limits.second
        rivals = [each for each in self.others(asked.process) if each.heard_at + WAITS > now]
        waiting = [each for each in rivals if each.waiting >= _waiting(asked)]
        free = windows.room(now, background=asked.background) if now >= windows.paused_until else 0
        if not windows.known:
            free = min(free, 1 - windows.outstanding)
        free_at = windows.next_time(now, background=asked.background)
        if waiting and (burst := windows.burst(background=asked.background)) < math.inf:
            ahead = 0
            if windows.available(background=asked.background) < burst:
                lately = own.since(now - LATELY)
                ahead = sum(each.since(now - LATELY) < lately for each in waiting)
            share = math.ceil(burst / (len(waiting) + 1)) - own.since(now - second)
            free = min(free - ahead, share)
            if share <= 0:
                free_at = max(free_at, min((at + second for at in own.landed if at + second > now), default=math.inf))
        granted = max(0, min(asked.want, int(min(free, sys.maxsize))))
        if granted:
            return granted, 0.0
        wait = free_at - now if windows.known else FIRST_ANSWER * second
        wait = wait if wait < math.inf else ASK_AGAIN * second
        return 0, max(wait, GATHER, windows.paused_until - now)


def _waiting(asked: Take) -> Waiting:
    return Waiting.POLLS if asked.background else Waiting.OTHERS


# The document


def write(log: SharedLog) -> str:
    """Write a log down, times in whole milliseconds, rounded up; a digest tells when something else changes it."""
    windows = log.windows
    said = {
        "began": log.began,
        "time": _written(log.time),
        "processes": {name: _rows(rows, log) for name, rows in log.processes.items()},
        "known": windows.known,
        "limit": _written(windows.service_limit),
        "foreign": [_written(value) for value in attrs.astuple(windows.foreign_usage)],
        "tries_at": _written(windows.tries_at),
        "tries_every": _written(windows.tries_every),
        "paused_until": _written(windows.paused_until),
        "asked_until": _written(windows.asked_until),
    }
    text = dumps(said).decode()
    return f"{_digest(text)} {text}"


def read(document: str | None, limits: AccountLimits) -> SharedLog:
    """Read a document; none, and one that something else changed, gives a new log, which has not begun."""
    log = SharedLog(limits)
    digest, _, text = document.partition(" ") if isinstance(document, str) else ("", "", "")
    if digest != _digest(text):
        return log
    said: Any = loads(text.encode())
    log.began, log.time = said["began"], said["time"]
    for name, (heard_at, out, waiting, *landed) in said["processes"].items():
        log.processes[name] = rows = ProcessRows(heard_at, out, Waiting(waiting))
        for at, count in zip(landed[::2], landed[1::2], strict=True):
            rows.landed += [at / 1000] * count
    windows = log.windows
    windows.known = windows.known or said["known"]
    windows.obey_service(_or_never(said["limit"]))
    count, oldest_leaves, last_leaves = said["foreign"]
    windows.foreign_usage = ForeignUsage(count, _or_never(oldest_leaves), _or_never(last_leaves))
    windows.tries_at, windows.tries_every = _or_never(said["tries_at"]), said["tries_every"]
    windows.paused_until, windows.asked_until = (
        -math.inf if said[name] is None else said[name] for name in ("paused_until", "asked_until")
    )
    return log


def _digest(text: str) -> str:
    return hashlib.blake2b(f"{FORMAT} {text}".encode(errors="replace"), digest_size=8).hexdigest()


def _rows(rows: ProcessRows, log: SharedLog) -> list[float | None]:
    """Return when a process was heard of, how it stands, and the times and counts of what has landed."""
    times, slot = rows.landed, log.limits.hour / MOST_ROWS
    if len(times) > MOST_ROWS:
        in_second = log.time - log.limits.second - slot
        times = [at if at > in_second else math.ceil(at / slot) * slot for at in times]
    counts = Counter(math.ceil(at * 1000 - 0.01) for at in times)
    return [_written(rows.heard_at), rows.open, int(rows.waiting), *chain.from_iterable(sorted(counts.items()))]


def _written(value: float) -> float | None:
    """Write a number down to the microsecond; infinity has no form in JSON."""
    return None if math.isinf(value) else round(value, 6)


def _or_never(value: float | None) -> float:
    return math.inf if value is None else value
