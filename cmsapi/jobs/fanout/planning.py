"""Plan a fan-out from what the state has learned, the balance, and the jobs that run; launch nothing."""

from __future__ import annotations

import asyncio
import math

from cmsapi.api.models.user import User
from cmsapi.errors import RateLimitedError, ServerError, TransportError
from cmsapi.jobs.fanout.forecast import Forecast
from cmsapi.jobs.kinds.kind import Kind
from cmsapi.jobs.kinds.registry import KINDS
from cmsapi.jobs.polling.poller import Poller
from cmsapi.jobs.polling.registry import FORGOTTEN_AFTER
from cmsapi.jobs.scheduling.outlook import outlook
from cmsapi.ratelimit.limiter import Priority
from cmsapi.state.entry import EntryStatus

# Seconds for which a plan waits for the balance at most.
_PATIENCE = 10.0


async def plan_jobs(
    poller: Poller, kind: Kind, count: int, *, in_flight: float = math.inf, earlier: int = 0
) -> Forecast:
    """Work out what a fan-out would take; at most one request.

    Args:
        poller: Would poll the jobs.
        kind: Their kind.
        count: How many there are.
        in_flight: How many may run at a time.
        earlier: Results of an earlier run that are read again.

    Raises:
        StateError: The state cannot be reached; nothing was sent.
    """
    scheduler, guesses = poller.scheduler, []
    if scheduler.duration_store is not None:
        await scheduler.duration_store.known()
    if not scheduler.policy.durations[kind].ends:
        guesses.append(
            f"the durations, because no such job was seen to end: {kind.initial_duration:g} s for half of them"
        )
    answer = await _read_user(poller)
    user = answer if isinstance(answer, User) else None
    if user is None:
        what = "the requests that other programs have used" + ("" if kind.balance is None else ", and the balance")
        guesses.append(f"{what}, because {answer}")
    elsewhere = await _running_elsewhere(poller, user)
    if elsewhere is None:
        guesses.append("the jobs of other processes, because no answer has told whose journal to read")
    balance = None if user is None or kind.balance is None else kind.balance.of(user)
    if user is not None and kind.balance is not None and balance is None:
        guesses.append("the balance, because the service does not show it")
    now = asyncio.get_running_loop().time()
    beside = outlook(
        scheduler.policy,
        now,
        (kind, poller.poll_settings.policy),
        count,
        slots=in_flight,
        earlier=earlier,
        elsewhere=elsewhere or (),
    )
    found = beside.estimate
    fewest, most = found.requests_range
    return Forecast(
        kind=kind.name,
        count=count,
        earlier=earlier,
        in_flight=found.in_flight,
        credits=count if kind.balance is not None else 0,
        balance=balance,
        requests=math.ceil(found.requests),
        requests_range=(math.floor(fewest), math.ceil(most)),
        polls=round(count * found.polls_per_job),
        results=round(count * found.results),
        requests_left=None if beside.requests_left == math.inf else int(beside.requests_left),
        fits=found.fits,
        seconds=found.seconds,
        seconds_range=found.seconds_range,
        polls_per_job=found.polls_per_job,
        lateness=found.lateness,
        running=beside.running,
        waiting=beside.waiting,
        learned_from=int(beside.learned),
        guesses=tuple(guesses),
    )


async def _read_user(poller: Poller) -> User | str:
    """Read the user with the balances; return why there is no answer if the service cannot be asked now."""
    settings = poller.poll_settings
    limiter = poller.scheduler.policy.limiter
    wait = limiter.expected_wait(Priority.INTERACTIVE, asyncio.get_running_loop().time())
    if wait > _PATIENCE:
        return f"the request limit admits the next request in about {wait:.0f} s"
    try:
        async with asyncio.timeout(_PATIENCE):
            return await settings.read_user()
    except (TransportError, ServerError, RateLimitedError) as error:
        return f"the service could not be asked: {str(error).partition('. ')[0].rstrip('.')}"
    except TimeoutError:
        return f"no answer came within {_PATIENCE:g} s"


async def _running_elsewhere(poller: Poller, user: User | None) -> list[tuple[Kind, float]] | None:
    """Return the kinds and ages of the running jobs that are not polled here, or None when they cannot be read."""
    journal, scheduler = poller.journal, poller.scheduler

    async def whose() -> User:
        if user is None:
            raise RuntimeError("only a journal that is open is read without a user")
        return user

    if user is None and not journal.opened:
        return None if journal.state.shared else []
    await journal.open(whose)
    now, found = journal.wall(), list[tuple[Kind, float]]()
    for entry in (await journal.known_entries()).values():
        kind, age = KINDS[entry.kind], max(0.0, now - entry.asked_at)
        polled = scheduler.polls((kind, kind.job_target(entry.target, entry.job_id)))
        if entry.status == EntryStatus.RUNNING and age < FORGOTTEN_AFTER and not polled:
            found.append((kind, age))
    return found
