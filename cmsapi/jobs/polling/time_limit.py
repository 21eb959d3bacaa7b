"""End the wait for a job that takes too long; the job goes on at the service, and its token stays valid.

The time counts from the launch, so that all who wait for a job agree about it, also those of a later process. Only
`Job.wait(timeout=)` counts from its own beginning.
"""

from __future__ import annotations

import asyncio
import logging
import math
from typing import TypeAlias

from cmsapi.display import markup
from cmsapi.errors import JobWaitTimeoutError
from cmsapi.jobs.planning.schedule import HOUR
from cmsapi.jobs.tracked import TrackedJob

logger: logging.Logger = logging.getLogger("cmsapi")

Waiter: TypeAlias = asyncio.Future[Exception | None]

# The clock of a service tells the time of a launch to the second.
_CLOCK_ERROR = 1.0


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
    loop, policy = asyncio.get_running_loop(), job.settings.policy
    # Tens of thousands of waits have a timer each, and each would copy a context of its own.
    context = job.subscribers.context
    if timeout is not None and not since_launch:
        return loop.call_later(timeout, _end, job, waiter, f"{timeout:g} s", context=context)
    if (limit := policy.job_timeout if timeout is None else timeout) is None:
        return None
    now, began = loop.time(), _began(job)
    if began is not None and began + limit > now:
        return loop.call_at(began + limit, _check, job, waiter, timeout, context=context)
    # The next poll may show that it has ended, and the first answer of the service tells how old it is. The request
    # limit may hold that poll back, for an hour at most.
    return loop.call_later(policy.max_interval, _check, job, waiter, timeout, job.polls, now + HOUR, context=context)


def end_subscriptions(job: TrackedJob) -> None:
    """End the listeners and the review hook of a job whose time is over; its waiters have timers of their own."""
    subscribers = job.subscribers
    if job.deciding or not (subscribers.listeners or subscribers.on_review) or (time := _over(job, None)) is None:
        return
    error = _late(job, time)
    if subscribers.on_review is not None:
        logger.warning("on_review does not decide any more: %s", error)
    subscribers.tell(error)
    subscribers.listeners, subscribers.on_review = (), None


def _check(job: TrackedJob, waiter: Waiter, timeout: float | None, polls: int = -1, until: float = 0.0) -> None:
    """End a wait whose time since the launch is over, or check it again soon.

    The wait of a job that is due a poll goes on until it has more than `polls`, but not beyond a time, and that without
    a `timeout` of its own while `on_review` is deciding.
    """
    if waiter.done():
        return
    loop, time = asyncio.get_running_loop(), _over(job, timeout)
    elsewhere = job.record is not None and not job.record.pollable
    unpolled = job.polls == polls and not (elsewhere or job.deciding) and loop.time() < until
    if time is None or unpolled or (timeout is None and job.deciding):
        # This timer may outlast its waiter, but not for long.
        soon, context = job.settings.policy.max_interval, job.subscribers.context
        loop.call_later(soon, _check, job, waiter, timeout, polls, until, context=context)
    else:
        _end(job, waiter, time)


def _began(job: TrackedJob) -> float | None:
    """Return the loop time from which the time of a job counts; None while that of its launch is not known."""
    return job.history.began if job.history.watched else job.launch_time(asyncio.get_running_loop().time())


def _over(job: TrackedJob, timeout: float | None) -> str | None:
    """Say within which time since its launch a job has not finished; None while that time is not over."""
    limit, began = job.settings.policy.job_timeout if timeout is None else timeout, _began(job)
    ends = math.inf if limit is None else limit + (job.history.began if began is None else began)
    if ends > asyncio.get_running_loop().time() + _CLOCK_ERROR:
        return None
    return f"{limit:g} s of {'the beginning of its watch' if job.history.watched else 'its launch'}"


def _end(job: TrackedJob, waiter: Waiter, time: str) -> None:
    if not waiter.done():
        waiter.set_result(_late(job, time))


def _late(job: TrackedJob, time: str) -> JobWaitTimeoutError:
    lasting, failures = job.history.lasting, job.failures
    shown = "" if lasting is None else f" At its last poll, {lasting.doubt.words}."
    if failures is not None:
        shown = f" Its last poll has failed, with {failures.last}."
    return JobWaitTimeoutError(
        f"The {job.kind} of {markup.plain(job.target)} did not finish within {time}.{shown} It continues and may be "
        "paid for: wait again with a longer `timeout`, or keep its token, with which "
        "client.jobs.attach(token) waits for it later.",
        job=job.handle,
    )
