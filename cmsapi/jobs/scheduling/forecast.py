"""Say what a fan-out would take before anything is launched."""

from __future__ import annotations

import bisect
import math

import attrs

from cmsapi.display import markup
from cmsapi.jobs.kinds.kind import JobKind, Kind
from cmsapi.jobs.scheduling.durations import step_before
from cmsapi.jobs.scheduling.poll_budget import Pace, Returning
from cmsapi.jobs.scheduling.poll_interval import HOUR


@attrs.frozen(kw_only=True)
class Forecast:
    """Say what more jobs of a kind would take if they were launched now, beside those that run.

    Args:
        kind: Kind of job.
        count: How many.
        credits: Credits that the launches cost, one each; 0 for knowledge documents.
        balance: Credits of that kind that are left, or None where launches cost none or the service does not show it.
        requests: Requests that launches, polls and results take.
        polls_per_job: Polls of each of them, on average.
        lateness: Seconds between an end and the poll that sees it, on average.
        seconds: Seconds until about the last result is in hand.
        fits: Whether all of it fits into what is left of the hour. If not, the rest waits for requests to come back.
        learned_from: Jobs of this kind that were seen to end before; with none of them, this is a guess.
    """

    kind: JobKind
    count: int
    credits: int
    balance: int | None
    requests: int
    polls_per_job: float
    lateness: float
    seconds: float
    fits: bool
    learned_from: int

    @property
    def affordable(self) -> bool:
        """Whether the balance pays for all launches, as far as it is known."""
        return self.balance is None or self.credits <= self.balance

    def _repr_html_(self) -> str:
        return markup.record(self)


def forecast(
    kind: Kind, pace: Pace, spare: float, returning: Returning, *, balance: int | None, per_second: float
) -> Forecast:
    """Work out what the queued jobs of a load take.

    Args:
        kind: Their kind.
        pace: How many there are, and how they will be polled.
        spare: Requests that the jobs that run leave.
        returning: Tells which come back later.
        balance: Credits that are left for them, or None when that is not known.
        per_second: Requests that one second admits.
    """
    load, count = pace.load, pace.load.queued
    requests, free = math.ceil(count * pace.life), max(0.0, spare)
    hourly = free + returning(HOUR)
    # Those that fit into whole hours wait for these, the rest until enough requests have come back.
    hours, rest = divmod(requests, hourly) if hourly > 0.0 else (0.0, math.inf)
    if requests <= free:
        hours = wait = 0.0
    else:
        wait = HOUR * hours + bisect.bisect_left(range(int(HOUR)), rest - free, key=returning)
    # Of jobs that wait for requests to come back, the last ones end last.
    last = max(1.0, hourly / pace.life) if hours else count
    age = load.curve.quantile(1.0 - 0.5 / max(1.0, min(count, last)))
    # The last ones are polled less often than most.
    ending = age + pace.interval(step_before(age), 0) / 2.0
    return Forecast(
        kind=kind.name,
        count=count,
        credits=count if kind.balance is not None else 0,
        balance=balance,
        requests=requests,
        polls_per_job=pace.life - 1.0 - load.result,
        lateness=pace.dearer.lateness,
        seconds=(wait + min(count, last) / per_second + ending) if count else 0.0,
        fits=not wait,
        learned_from=int(load.learned),
    )
