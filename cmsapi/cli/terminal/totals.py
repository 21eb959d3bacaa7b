"""Write a progress in words: counts, time, credits and requests."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from cmsapi.jobs.fanout.forecast import counted
from cmsapi.jobs.fanout.progress import Progress
from cmsapi.ratelimit.rate_limit import RateLimit

# A narrower terminal gets the time that is left without its range.
_WIDTH_OF_RANGE = 90
# Requests that must be there beyond the reserve of the hour, so that a job may end.
_POLL_AND_RESULT = 2


def headline(progress: Progress) -> str:
    """Return a progress in one line: counts, the time that is left, credits and requests."""
    time_left = "" if progress.done else progress.time_left
    parts = [*counts(progress), time_left, *_costs(progress)]
    return ", ".join(part for part in parts if part)


def totals(progresses: Sequence[Progress], seconds: float, width: int) -> str:
    """Return what several progresses have in common: the time until the last end, credits and requests.

    Args:
        progresses: The progresses.
        seconds: The seconds that have passed.
        width: The most characters of the line; the least important parts are left out then.

    Returns:
        The line; empty if no job was launched.
    """
    if not any(progress.requests for progress in progresses):
        return ""
    last = max(progresses, key=lambda progress: progress.seconds_left or 0.0)
    plans = [progress.requests_planned for progress in progresses if progress.requests]
    whole = Progress(
        seconds_left=last.seconds_left,
        seconds_left_range=last.seconds_left_range if width >= _WIDTH_OF_RANGE else None,
        credits=sum(progress.credits for progress in progresses),
        requests=sum(progress.requests for progress in progresses),
        requests_planned=None if None in plans else sum(plan for plan in plans if plan is not None),
    )
    parts = [
        whole.time_left,
        _ends_at(last.eta) if last.seconds_left else "",
        *_costs(whole),
        f"{elapsed(seconds)} elapsed",
    ]
    return fitting(parts, width)


def hindrance(rate: RateLimit) -> str:
    """Return what keeps requests back, and until when; empty where nothing does."""
    if rate.paused_for > 0:
        return f"paused by the service until {_clock_time(rate.paused_for)}"
    if rate.remaining is not None and rate.remaining < rate.reserve + _POLL_AND_RESULT:
        return f"waiting for requests of the hour until {_clock_time(rate.reset_in)}"
    return ""


def _clock_time(seconds: float) -> str:
    return f"{datetime.now().astimezone() + timedelta(seconds=seconds):%H:%M:%S}"


def elapsed(seconds: float) -> str:
    """Return seconds as hours, minutes and seconds, such as 0:09 or 1:02:03."""
    minutes, rest = divmod(max(0, int(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def counts(progress: Progress) -> list[str]:
    """Return the counts of a progress; those that are zero are empty."""
    total = "" if progress.total is None else f" of {progress.total:,}"
    waiting = "not launched" if progress.stopped else "waiting"
    return [
        f"{progress.finished:,}{total} finished",
        f"{progress.failed:,} failed" if progress.failed else "",
        f"{progress.running:,} running" if progress.running else "",
        f"{progress.waiting:,} {waiting}" if progress.waiting else "",
        f"{progress.earlier:,} earlier" if progress.earlier else "",
    ]


def _costs(progress: Progress) -> list[str]:
    sent, planned = progress.requests, progress.requests_planned
    requests = f"{sent:,} of about {counted(planned, 'request')}" if sent and planned and planned > sent else ""
    return [
        counted(progress.credits, "credit") if progress.credits else "",
        requests or (counted(sent, "request") if sent else ""),
    ]


def _ends_at(eta: datetime | None) -> str:
    return "" if eta is None else f"ends about {eta.astimezone():%H:%M:%S}"


def fitting(parts: Sequence[str], width: int) -> str:
    """Join the parts that are not empty, without the last ones if they do not fit."""
    shown = [part for part in parts if part]
    while len(shown) > 1 and len(", ".join(shown)) > width:
        shown.pop()
    return ", ".join(shown)
