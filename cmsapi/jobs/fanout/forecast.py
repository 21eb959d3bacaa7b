"""Say what a fan-out would take before anything is launched: from durations, the balance and the jobs that run."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import attrs

from cmsapi.api.models.user import User
from cmsapi.display import markup
from cmsapi.errors import RateLimitedError, ServerError, TransportError
from cmsapi.jobs.kinds.kind import JobKind, Kind
from cmsapi.jobs.kinds.registry import KINDS
from cmsapi.jobs.polling.poller import Poller
from cmsapi.jobs.polling.registry import FORGOTTEN_AFTER
from cmsapi.jobs.scheduling.outlook import outlook
from cmsapi.ratelimit.limiter import Priority
from cmsapi.state.entry import EntryStatus

# Seconds for which a plan waits for the balance at most.
_BALANCE_TIMEOUT = 10.0


@attrs.frozen(kw_only=True, repr=False)
class Forecast:
    """Say what more jobs of a kind would take if they were launched now, beside those that run.

    Ranges hold for about nine of ten fan-outs, as far as the jobs behave like those that were seen.

    Args:
        kind: Kind of job.
        count: How many jobs are launched.
        earlier: Items whose jobs have ended in an earlier run of a batch, and whose results are read again.
        in_flight: The most jobs that run at a time.
        credits: Credits that the launches cost, one each; 0 for knowledge documents.
        balance: Credits of that kind that are left. None where launches cost none, or when the service did not tell.
        requests: Requests that launches, polls and results take.
        requests_range: The fewest and the most requests that are expected. There are fewer where the requests left
            make polls rare, and where one request shows many jobs.
        polls: The polls among the requests.
        results: The requests among them that read results.
        requests_left: Requests that the hour admits now for these jobs: without its reserve, and without those that
            running jobs need. None without a limit.
        fits: Whether all of it fits into these. If not, the rest waits for requests to come back.
        seconds: Seconds until about the last result is in hand.
        seconds_range: The fewest and the most seconds that are expected.
        polls_per_job: Polls of each job, on average.
        lateness: Seconds between an end and the poll that sees it, on average.
        running: Jobs that run already and share the limits, in this process and in others with the same state.
        waiting: Jobs that other fan-outs of this process have still to launch.
        learned_from: Jobs of this kind that were seen to end before; with none of them, durations are a guess.
        guesses: What this rests on a guess for, each with the reason.
    """

    kind: JobKind
    count: int
    earlier: int = 0
    in_flight: int
    credits: int
    balance: int | None = None
    requests: int
    requests_range: tuple[int, int]
    polls: int
    results: int
    requests_left: int | None
    fits: bool
    seconds: float
    seconds_range: tuple[float, float]
    polls_per_job: float
    lateness: float
    running: int = 0
    waiting: int = 0
    learned_from: int
    guesses: tuple[str, ...] = ()

    @property
    def affordable(self) -> bool | None:
        """Whether the balance pays for all launches; None when the service did not tell the balance."""
        if not self.credits:
            return True
        return None if self.balance is None else self.credits <= self.balance

    @property
    def basis(self) -> str:
        """What the durations rest on, such as `"101 keyword analyses seen"` or `"a guess: …"`."""
        if not self.learned_from:
            return f"a guess: no {_words(self.kind)} was seen to end yet"
        return f"{counted(self.learned_from, _words(self.kind))} seen"

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as values of JSON: the fields, `affordable` and `basis`; seconds are numbers."""
        return {**attrs.asdict(self), "kind": self.kind.value, "affordable": self.affordable, "basis": self.basis}

    def __repr__(self) -> str:
        return f"<Forecast {self.headline}>"

    def __str__(self) -> str:
        return "\n".join([self.headline, *(f"  {name}: {fact}" for name, fact in self._details())])

    def _repr_html_(self) -> str:
        what, _, rest = self.headline.partition(", ")
        return markup.facts(what, [("plan", rest), *self._details()])

    @property
    def headline(self) -> str:
        """The plan in one line."""
        what = f"{self.count:,} x {_words(self.kind)}"
        if not self.count:
            reading = f", about {counted(self.requests, 'request')} to read earlier results" if self.requests else ""
            return f"{what}, nothing to launch, no credit{reading}"
        left = "" if self.balance is None else f" of {self.balance:,} left"
        room = "" if self.requests_left is None else f" of {self.requests_left:,} left this hour"
        waits = "" if self.fits else ", needs requests of later hours"
        requests = f"about {counted(self.requests, 'request')}{room}{waits}"
        time = f"about {span(self.seconds)} ({self.basis})"
        return f"{what}, {counted(self.credits, 'credit')}{left}, {requests}, {time}"

    def _details(self) -> list[tuple[str, str]]:
        fewest, most = self.requests_range
        parts = [counted(self.count, "launch"), f"{counted(self.polls, 'poll')} ({self.polls_per_job:.1f} a job)"]
        parts += [f"{self.results:,} for results"] if self.results else []
        parts += [f"{counted(self.earlier, 'result')} of an earlier run"] if self.earlier else []
        details = [
            ("requests", f"{', '.join(parts)}; between {fewest:,} and {most:,} in all"),
            ("time", f"between {' and '.join(map(span, self.seconds_range))}, at most {self.in_flight:,} in flight"),
        ]
        if self.affordable is False:
            details.append(("credits", f"the balance pays for {self.balance:,} of {self.count:,}"))
        if self.running or self.waiting:
            beside = [f"{counted(self.running, 'job')} running"] if self.running else []
            beside += [f"{counted(self.waiting, 'job')} waiting to be launched"] if self.waiting else []
            details.append(("beside", f"{' and '.join(beside)}, which share the limits"))
        return details + [("guess", guess) for guess in self.guesses]


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
    if wait > _BALANCE_TIMEOUT:
        return f"the request limit admits the next request in about {wait:.0f} s"
    try:
        async with asyncio.timeout(_BALANCE_TIMEOUT):
            return await settings.read_user()
    except (TransportError, ServerError, RateLimitedError) as error:
        return f"the service could not be asked: {str(error).partition('. ')[0].rstrip('.')}"
    except TimeoutError:
        return f"no answer came within {_BALANCE_TIMEOUT:g} s"


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


def _words(kind: JobKind) -> str:
    return kind.value.replace("_", " ")


def counted(count: int, noun: str) -> str:
    """Write a number of things."""
    if count != 1:
        noun = f"{noun[:-2]}es" if noun.endswith("analysis") else f"{noun}es" if noun.endswith("ch") else f"{noun}s"
    return f"{count:,} {noun}"


def span(seconds: float) -> str:
    """Write a span of time in the unit that suits it."""
    if seconds < 7200:
        return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
