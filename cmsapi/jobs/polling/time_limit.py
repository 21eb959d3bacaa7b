"""End the wait for a job that takes too long; the job goes on at the service, and its token stays valid.

The time counts from the launch, so that all who wait for a job agree about it, also those of a later process. Only
`Job.wait(timeout=)` counts from its own beginning.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TypeAlias

from cmsapi.display import markup
from cmsapi.errors import JobWaitTimeoutError
from cmsapi.jobs.tracked import TrackedJob

logger: logging.Logger = logging.getLogger("cmsapi")

Waiter: TypeAlias = asyncio.Future[Exception | None]

# The clock of a service tells the time of a launch to the second.
_CLOCK_ERROR = 1.0
# For as long at most the wait for an old job goes on for one more poll, which the request limit may hold back.
_HOUR = 3600.0


def limit_wait(
    job: TrackedJob, waiter: Waiter, timeout: float | None, *, since_launch: bool
) -> asyncio.TimerHandle | None:
    """Set the timer that ends a wait, and return it; None for a wait without an end.

    Args:
        job: The job, which has subscribers.
        waiter: Gets the error that ends the wait.
        timeout: Seconds; None takes the default of the client, which counts from the launch.
        since_launch: Whether the seconds of `timeout` count from the launch.
    """
    loop = asyncio.get_running_loop()
    # Tens of thousands of waits have a timer each, and each would copy a context of its own.
    context = job.context
    if timeout is not None and not since_launch:
        return loop.call_later(timeout, _end, job, waiter, f"{timeout:g} s", context=context)
    if (limit := _limit(job, timeout)) is None:
        return None
    now, end = loop.time(), _began(job) + limit
    if end > now and (job.history.watched or job.launch_time(now) is not None):
        return loop.call_at(end, _check, job, waiter, timeout, context=context)
    # The next poll may show that it has ended, and the first answer of the service tells how old it is.
    soon, until = job.settings.policy.max_interval, now + _HOUR
    return loop.call_later(soon, _check, job, waiter, timeout, job.polls, until, context=context)


def end_subscriptions(job: TrackedJob) -> None:
    """End the listeners and the review hook of a job whose time is over; its waiters have timers of their own."""
    limit = _limit(job, None)
    if limit is None or job.deciding or not (job.listeners or job.on_review):
        return
    if _began(job) + limit <= asyncio.get_running_loop().time():
        error = _late(job, f"{limit:g} s of {_beginning(job)}")
        if job.on_review is not None:
            logger.warning("on_review does not decide any more: %s", error)
        job.tell(error)
        job.listeners, job.on_review = (), None


def _limit(job: TrackedJob, timeout: float | None) -> float | None:
    return job.settings.policy.job_timeout if timeout is None else timeout


def _began(job: TrackedJob) -> float:
    """Return the loop time from which the time of a job counts: its launch, if that is known."""
    launched = None if job.history.watched else job.launch_time(asyncio.get_running_loop().time())
    return job.history.began if launched is None else launched


def _check(job: TrackedJob, waiter: Waiter, timeout: float | None, polls: int = -1, until: float = 0.0) -> None:
    """End a wait whose time since the launch is over, or check it again soon.

    The wait of a job that is due a poll goes on until it has more than `polls`, but not beyond a time, and that without
    a `timeout` of its own while `on_review` is deciding.
    """
    loop, limit = asyncio.get_running_loop(), _limit(job, timeout)
    if waiter.done() or limit is None:
        return
    early = _began(job) + limit > loop.time() + _CLOCK_ERROR
    unpolled = job.polls == polls and job.scheduled and loop.time() < until
    if early or unpolled or (timeout is None and job.deciding):
        # This timer may outlast its waiter, but not for long.
        delay = job.settings.policy.max_interval
        loop.call_later(delay, _check, job, waiter, timeout, polls, until, context=job.context)
        return
    _end(job, waiter, f"{limit:g} s of {_beginning(job)}")


def _beginning(job: TrackedJob) -> str:
    return "the beginning of its watch" if job.history.watched else "its launch"


def _end(job: TrackedJob, waiter: Waiter, time: str) -> None:
    if not waiter.done():
        waiter.set_result(_late(job, time))


def _late(job: TrackedJob, time: str) -> JobWaitTimeoutError:
    return JobWaitTimeoutError(
        f"The {job.kind} of {markup.plain(job.target)} did not finish within {time}. It continues and may be "
        "paid for: wait again with a longer `timeout`, or keep its token, with which "
        "client.jobs.attach(token) waits for it later.",
        job=job.handle,
    )
