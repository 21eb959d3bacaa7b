"""Say what a fan-out would take before anything is launched."""

from __future__ import annotations

import bisect
import math
from typing import Any

import attrs

from cmsapi.display import markup
from cmsapi.jobs.kinds.kind import JobKind, Kind
from cmsapi.jobs.scheduling.durations import step_before
from cmsapi.jobs.scheduling.poll_budget import Pace, Returning
from cmsapi.jobs.scheduling.poll_interval import HOUR, AdvisedSchedule, Schedule

#: A fan-out without `in_flight` has at most so many jobs at a time.
MOST_IN_FLIGHT = 1000
# Nine of ten runs end within a range: the share of runs that end before it, and of those that end before its end.
_EARLY, _LATE = 0.05, 0.95
# A duration of which one end is known may be off by so many times itself, and a number of polls likewise.
_DOUBT, _DOUBT_OF_POLLS = 3.0, 2.5
# Durations of jobs deviate from their mean by about this share of it.
_DEVIATION = 0.8
# Above this share of the requests that are left, polls may become rarer than planned. Each job then takes so many
# requests at the least after its launch: alone, and where one request for a list shows many jobs.
_AMPLE = 0.5
_FEWEST, _FEWEST_WITH_LISTS = 1.0, 0.5


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
        fields = attrs.asdict(self)
        fields |= {"kind": self.kind.value, "affordable": self.affordable, "basis": self.basis}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()}

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


def forecast(
    kind: Kind,
    pace: Pace,
    spare: float,
    returning: Returning,
    *,
    ahead: int,
    earlier: int,
    per_second: float,
    running: int,
    waiting: int,
) -> Forecast:
    """Work out what the queued jobs of a load take.

    Args:
        kind: Their kind.
        pace: How many there are, and how they will be polled.
        spare: Requests that the jobs that run leave.
        returning: Tells which come back later.
        ahead: Queued jobs that other fan-outs launch.
        earlier: Results of an earlier run to read again.
        per_second: Requests that one second admits.
        running: Jobs that run.
        waiting: Jobs that other fan-outs have still to launch, of all kinds.
    """
    load, curve = pace.load, pace.load.curve
    count, free = load.queued - ahead, max(0.0, spare)
    polls_per_job = pace.share * _polls(pace.cheaper) + (1.0 - pace.share) * _polls(pace.dearer)
    life, reading = 1.0 + polls_per_job + load.result, earlier * (1.0 + load.result)
    requests, needed = math.ceil(count * life + reading), load.queued * life + reading
    hourly = free + returning(HOUR)
    # Those that fit into whole hours wait for these, the rest until enough requests have come back.
    hours, rest = divmod(needed, hourly) if hourly > 0.0 else (0.0, math.inf)
    if needed <= free:
        hours = wait = 0.0
    else:
        wait = HOUR * hours + bisect.bisect_left(range(int(HOUR)), rest - free, key=returning)
    turnaround = max(1.0, curve.remaining(0) + pace.dearer.lateness)
    fitting = max(1.0, free / load.least_life)
    in_flight = min(count, load.slots, MOST_IN_FLIGHT, math.ceil(min(fitting, 1e9)), per_second * turnaround)
    if load.slots < load.queued:
        wait = max(wait, (load.queued - load.slots) / load.slots * turnaround)
    # Of jobs that wait for others, the last ones end last.
    last = max(1.0, min(count, load.slots, hourly / life if hours else math.inf))
    launched = wait + last / per_second

    def ends(share: float, seen: float) -> float:
        """Return when the last end is seen in a share of the fan-outs, at a part of the interval between polls."""
        age = curve.quantile(share ** (1.0 / last))
        return age + seen * pace.interval(step_before(age), 0)

    doubt = 1.0 + _DOUBT / math.sqrt(1.0 + load.learned)
    seconds = launched + ends(0.5, 0.5)
    around = launched / doubt + ends(_EARLY, 0.0) / doubt, launched + ends(_LATE, 1.0) * doubt
    # How far the sum of all polls may be off: by the chance of so many jobs, and by what is known of their durations.
    chance = math.sqrt(_DEVIATION**2 / max(1, count) + _DOUBT_OF_POLLS**2 / (1.0 + load.learned))
    advised = 1.0 + _polls(load.advised) * (1.0 + chance) + load.result
    fewest = max(_FEWEST, polls_per_job * (1.0 - chance)) + load.result
    if requests > _AMPLE * free:
        # A service that refuses to show results early lets reading a result stand for a poll.
        fewest = _FEWEST_WITH_LISTS if kind.list_operation else _FEWEST
        fewest += 0.0 if kind.reads_results_early else load.result
    most = min(count * advised + reading, max(requests, free if needed <= free else (hours + 2.0) * hourly))
    return Forecast(
        kind=kind.name,
        count=count,
        earlier=earlier,
        in_flight=int(in_flight),
        credits=count if kind.balance is not None else 0,
        requests=requests,
        requests_range=(math.floor(count * (1.0 + fewest) + reading), math.ceil(most)),
        polls=round(count * polls_per_job),
        results=round(count * load.result),
        requests_left=None if spare == math.inf else int(free),
        fits=needed <= free,
        seconds=seconds if count else 0.0,
        seconds_range=around if count else (0.0, 0.0),
        polls_per_job=polls_per_job,
        lateness=pace.dearer.lateness,
        running=running,
        waiting=waiting,
        learned_from=int(load.learned),
    )


def _polls(schedule: Schedule) -> float:
    """Return the polls that one more job is expected to take; a plan is more cautious."""
    polls = schedule.polls(0)
    return 1.0 + (polls - 1.0) / schedule.caution if isinstance(schedule, AdvisedSchedule) else polls


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
