"""How often to poll, so that all polls fit into what is left: promises that hold for whatever runs."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import NamedTuple

import attrs
import pytest
from hypothesis import assume, given, settings, strategies as st

from cmsapi.config import PollPolicy
from cmsapi.jobs.planning.durations import AGES, NEVER, Curve, DurationModel, step_after, step_before
from cmsapi.jobs.planning.poll_budget import Load, Pace, extra, plan, spare
from cmsapi.jobs.planning.poll_interval import GROUPS, AdvisedSchedule, PricedSchedule, Schedule, solve

thorough = settings(max_examples=40, deadline=None, derandomize=True)
HOUR = 3600.0
ADVISED = PollPolicy()
LAST = NEVER - 1


# Deviations of the number of polls that are kept back.
CHANCE = 1.0


class Supply(NamedTuple):
    """Say what is left of the hour, and what comes back when."""

    free: float
    returning: Callable[[float], float] = lambda span: 0.0

    @property
    def first_return(self) -> int:
        """The first whole second within which something comes back."""
        return next((span for span in range(int(HOUR)) if self.returning(span) > 0), int(HOUR))


@functools.cache
def believed(median: float, ends: int) -> Curve:
    """Return what is believed of durations, after some jobs that took as long as guessed."""
    durations = DurationModel(median)
    for _ in range(ends):
        durations.saw_end(step_before(0.8 * median), step_after(1.1 * median))
    return durations.curve()


@functools.cache
def two_sorts() -> Curve:
    """Return jobs of which half take 20 s and half 300 s."""
    return Curve.of([0.5 * (age >= 20.0) + 0.5 * (age >= 300.0) for age in AGES])


curves = st.one_of(
    st.builds(believed, st.sampled_from([10.0, 60.0, 1800.0]), st.sampled_from([0, 30])), st.builds(two_sorts)
)
counts = st.dictionaries(st.integers(0, NEVER - 1), st.integers(1, 300), max_size=4)


@st.composite
def loads(draw: st.DrawFn) -> Load:
    """Draw jobs that run, are polled, or wait to be launched."""
    shortest = draw(st.sampled_from([0.5, 5.0, 30.0]))
    return Load(
        curve=draw(curves),
        running=draw(counts),
        paged=draw(counts),
        queued=draw(st.sampled_from([0, 0, 3, 400, 20_000])),
        slots=draw(st.sampled_from([1.0, 20.0, math.inf])),
        result=draw(st.sampled_from([0.0, 0.1, 1.0])),
        policy=PollPolicy(
            min_interval=shortest,
            max_interval=shortest * draw(st.sampled_from([1.0, 2.0, 10.0])),
            budget=draw(st.sampled_from(["fit", "strict"])),
        ),
    )


def evenly(used: float, first: float) -> Callable[[float], float]:
    """Let requests that were used come back evenly from a moment on, until the hour is over."""
    return lambda span: used * min(1.0, max(0.0, (span - first) / (HOUR - first))) if first < HOUR else 0.0


returns = st.tuples(st.sampled_from([0.0, 20.0, 900.0]), st.sampled_from([math.inf, 1.0, 300.0, 3000.0]))


@st.composite
def supplies(draw: st.DrawFn) -> Supply:
    """Draw what is left of the hour, and what comes back when."""
    free = draw(st.sampled_from([-50.0, 0.0, 1.0, 40.0, 300.0, 900.0, 5000.0, math.inf]))
    used, first = draw(returns)
    return Supply(free, evenly(used, first))


@functools.cache
def priced(curve: Curve, price: int, min_interval: float) -> PricedSchedule:
    """Solve for a step of the scale of prices, six of which make a poll e times as dear."""
    return solve(curve, math.exp(price / 6.0), min_interval)


def useful(load: Load) -> int:
    """Find the first price at which a job needs hardly more than the one poll that sees its end."""
    found = (at for at in range(1, 72) if priced(load.curve, at, load.policy.min_interval).polls(0) <= 1.06)
    return next(found, 72)


def at_price(load: Load, price: int) -> Schedule:
    """Give the schedule at a price: the advised one at -1 and under a strict budget.

    While jobs wait to be launched, none is dearer than makes sense.
    """
    if price < 0 or load.strict:
        caution = 1.0 + 5.0 / (math.sqrt(1.0 + load.learned) if load.strict else 1.0 + load.learned)
        if not load.strict and sum(load.running.values()) + sum(load.paged.values()) + load.queued < 2:
            caution = 1.0
        return AdvisedSchedule(load.curve, load.policy.min_interval, load.policy.max_interval, caution)
    return priced(load.curve, min(price, useful(load)) if load.queued else price, load.policy.min_interval)


def polls(load: Load, schedule: Schedule, span: float = math.inf) -> float:
    """Count the polls of running jobs within a span; the advised schedule counts those on pages, too."""
    counted = [*load.running.items()]
    if isinstance(schedule, AdvisedSchedule):
        counted += load.paged.items()
    return sum(count * schedule.polls(step, span) for step, count in counted)


def least(load: Load) -> float:
    """Count the polls that running jobs must take."""
    return polls(load, at_price(load, useful(load)))


def life(load: Load, schedule: Schedule) -> float:
    """Count the requests of one more job: its launch, its polls, its result."""
    return 1.0 + schedule.polls(0) + load.result


def least_life(load: Load) -> float:
    """Count the requests that one more job must take."""
    return life(load, at_price(load, useful(load)))


def needs(load: Load, price: int, most: float, span: float = math.inf) -> float:
    """Count the requests at a price: polls at what runs within a span, and whole lives of what is yet to run."""
    schedule = at_price(load, price)
    return polls(load, schedule, span) + launches(load, price, most) * life(load, schedule)


def launches(load: Load, price: int, most: float) -> float:
    """Count the jobs that are launched within an hour at a price."""
    schedule = at_price(load, price)
    launched = min(float(load.queued), load.slots * HOUR / max(1.0, load.curve.remaining(0) + schedule.lateness))
    if load.slots == math.inf and price >= 0:
        launched = min(launched, max(0.0, most) / least_life(load))
    return launched


def chance(all_loads: list[Load], price: int, most: float) -> float:
    """Count what is kept back at a price, because the number of polls is a matter of chance."""
    variance = 0.0
    for load in all_loads:
        schedule = at_price(load, price)
        variance += launches(load, price, most) * schedule.variance(0)
        variance += sum(count * schedule.variance(step) for step, count in load.running.items())
    return CHANCE * math.sqrt(variance)


def left(all_loads: list[Load], supply: Supply) -> float:
    """Count what is left for polls and launches: results are paid for."""
    return supply.free - sum(load.count * load.result for load in all_loads)


def nearly_over(all_loads: list[Load]) -> float:
    """Find the span after which nearly all jobs are over."""
    ends = [load.curve.remaining(step) for load in all_loads for step, _ in load.running.items()]
    return max([0.0, *ends, *(load.curve.quantile(0.97) for load in all_loads)])


def fits(all_loads: list[Load], supply: Supply, price: int) -> bool:
    """Tell whether all polls and launches at a price fit into what is left, or into what comes back in time."""
    free = left(all_loads, supply)
    most = free - sum(map(least, all_loads))
    kept = chance(all_loads, price, most)
    needed = sum(needs(load, price, most) for load in all_loads) + kept
    if needed <= free:
        return True
    coming = 0.9 * supply.returning(nearly_over(all_loads))
    before = sum(needs(load, price, most, supply.first_return) for load in all_loads) + kept
    return bool(coming) and before <= free and needed <= free + coming


@st.composite
def shortages(draw: st.DrawFn) -> tuple[list[Load], Supply]:
    """Draw jobs, and as many requests as they need at some price, some of which are yet to come."""
    all_loads = [
        attrs.evolve(
            load,
            running={**load.running, 0: draw(st.integers(1, 90))},
            policy=attrs.evolve(load.policy, budget=draw(st.sampled_from(["fit", "fit", "fit", "strict"]))),
        )
        for load in draw(st.lists(loads(), min_size=1, max_size=3))
    ]
    price, part = draw(st.integers(0, 30)), draw(st.sampled_from([0.0, 0.2, 0.5]))
    used, first = draw(returns)
    returning = evenly(used, first)
    free = sum(least(load) if load.strict else needs(load, price, math.inf) for load in all_loads)
    # Now and then not all that wait can be launched.
    free *= draw(st.sampled_from([1.0, 1.0, 0.5]))
    free += sum(load.count * load.result for load in all_loads)
    free += chance(all_loads, price, math.inf)
    return all_loads, Supply(free - part * returning(nearly_over(all_loads)), returning)


def useful_at(load: Load, price: int) -> int:
    """Return the price that a load follows: while jobs wait to be launched, none is higher than makes sense."""
    return min(price, useful(load)) if load.queued else price


def prices(pace: Pace) -> list[float]:
    """Return the two prices that the jobs of a stretched load follow."""
    assert isinstance(pace.cheaper, PricedSchedule)
    assert isinstance(pace.dearer, PricedSchedule)
    return [pace.cheaper.price, pace.dearer.price]


def gaps(made: list[Pace]) -> list[float]:
    """List how long everybody waits, whatever was seen last, in whatever group."""
    return [pace.interval(step, group) for pace in made for step in range(0, NEVER, 3) for group in range(GROUPS)]


@thorough
@given(st.lists(loads(), min_size=1, max_size=3), supplies())
def test_no_two_polls_are_too_close(all_loads: list[Load], supply: Supply) -> None:
    """Whatever there is to poll at and to poll with, no wait is shorter than the least interval."""
    made = plan(all_loads, *supply)
    assert len(made) == len(all_loads)
    for load, pace in zip(all_loads, made, strict=True):
        assert pace.load == load
        for step in range(NEVER):
            assert all(load.policy.min_interval <= pace.interval(step, group) < math.inf for group in range(GROUPS))


@thorough
@given(st.lists(loads(), min_size=1, max_size=3), supplies())
def test_what_is_not_stretched_is_polled_as_advised(all_loads: list[Load], supply: Supply) -> None:
    """Without a shortage, and under a strict budget always, no wait is longer than the longest interval."""
    for pace in plan(all_loads, *supply):
        assert not (pace.load.strict and pace.stretched)
        if not pace.stretched:
            longest = max(pace.interval(step, group) for step in range(NEVER) for group in range(GROUPS))
            assert longest <= pace.load.policy.max_interval


@thorough
@given(st.lists(loads(), min_size=1, max_size=3))
def test_without_a_limit_nothing_is_stretched(all_loads: list[Load]) -> None:
    """Where the service sets no limit, everything is polled as advised and anything may be launched."""
    made = plan(all_loads, math.inf)
    assert not any(pace.stretched for pace in made)
    assert spare(all_loads, math.inf) == math.inf


@thorough
@given(loads(), st.sampled_from([-50.0, 0.0, 40.0, 300.0, 900.0]))
def test_expected_polls_fit(load: Load, free: float) -> None:
    """The dearer of two neighbouring prices fits into what is left, unless the dearest of all does not."""
    load = attrs.evolve(load, policy=attrs.evolve(load.policy, budget="fit"), queued=0)
    (pace,) = plan([load], free)
    if not pace.stretched:
        assert polls(load, pace.dearer) <= free
        return
    last_resort = solve(load.curve, 100_000.0, load.policy.min_interval)
    must = sum(count * last_resort.polls(step) for step, count in load.running.items())
    taken = polls(load, pace.dearer)
    assert taken <= polls(load, pace.cheaper) + 1e-6
    assert taken <= max(free, must) + 1e-6
    assert 0.0 <= pace.share <= 1.0


@thorough
@given(st.lists(loads(), min_size=1, max_size=3), supplies())
def test_spare_requests_are_those_that_no_job_must_have(all_loads: list[Load], supply: Supply) -> None:
    """From what is left go the polls that running jobs must take, and one more job must take its least life."""
    assert spare(all_loads, supply.free) == pytest.approx(left(all_loads, supply) - sum(map(least, all_loads)))
    assert [load.least_life for load in all_loads] == pytest.approx([least_life(load) for load in all_loads])


@thorough
@given(shortages())
def test_jobs_are_polled_as_advised_when_that_fits(shortage: tuple[list[Load], Supply]) -> None:
    """No poll is put off while all of them fit, and some are as soon as they do not."""
    all_loads, supply = shortage
    advised = fits(all_loads, supply, -1)
    for load, pace in zip(all_loads, plan(all_loads, *supply), strict=True):
        assert pace.stretched is not (advised or load.strict)


@settings(thorough, max_examples=80)
@given(shortages())
def test_the_price_is_the_lowest_that_fits(shortage: tuple[list[Load], Supply]) -> None:
    """Some follow the lowest price that fits, others the one below; where none fits, all follow the dearest."""
    all_loads, supply = shortage
    made, free = plan(all_loads, *supply), left(all_loads, supply)
    scarce = [pace for pace in made if pace.stretched]
    if not scarce:
        return
    most = free - sum(map(least, all_loads))
    dearest = max(useful(load) if load.queued else 72 for load in all_loads if not load.strict)
    near = [supply._replace(free=supply.free + off) for off in (-1e-6, 0.0, 1e-6)]
    found = {next((price for price in range(dearest + 1) if fits(all_loads, each, price)), dearest) for each in near}
    # Rounding decides what fits exactly.
    assume(len(found) == 1)
    (lowest,) = found
    cheaper = max(0, lowest - 1)
    more, fewer = (
        sum(needs(load, price, most) for load in all_loads) + chance(all_loads, price, most)
        for price in (cheaper, lowest)
    )
    coming = supply.returning(nearly_over(all_loads))
    share = min(1.0, max(0.0, (free - fewer) / (more - fewer))) if more > fewer and not coming else 0.0
    for pace in scarce:
        assert prices(pace) == pytest.approx([math.exp(useful_at(pace.load, at) / 6.0) for at in (cheaper, lowest)])
        assert pace.share == pytest.approx(share, abs=1e-6)


@thorough
@given(st.lists(loads(), min_size=1, max_size=2), supplies(), st.sampled_from([1.0, 30.0, 500.0]))
def test_more_requests_never_mean_more_lateness(all_loads: list[Load], supply: Supply, more: float) -> None:
    """With more requests left, polls do not get rarer on the whole, no more is stretched, and no less is spare."""
    poor = plan(all_loads, *supply)
    rich = plan(all_loads, *supply._replace(free=supply.free + more))
    assert spare(all_loads, supply.free + more) >= spare(all_loads, supply.free)
    for before, after in zip(poor, rich, strict=True):
        assert before.stretched or not after.stretched
        if before.stretched and after.stretched:
            assert prices(after)[1] <= prices(before)[1] * (1 + 1e-9)
            assert after.dearer.lateness <= before.dearer.lateness + 1e-6


@thorough
@given(st.lists(loads(), min_size=1, max_size=2), supplies())
def test_the_same_question_has_the_same_answer(all_loads: list[Load], supply: Supply) -> None:
    """A plan depends on its arguments alone."""
    first, second = plan(all_loads, *supply), plan(all_loads, *supply)
    assert gaps(first) == gaps(second)


@thorough
@given(loads(), supplies())
def test_a_life_is_a_launch_a_poll_and_a_result(load: Load, supply: Supply) -> None:
    """One more job takes no less than its launch, a poll at its end, and its result."""
    made = plan([load], *supply)
    assert load.least_life >= 2.0 + load.result - 1e-9
    # From a certain price on a poll or two in a hundred jobs make no difference.
    assert made[0].life >= load.least_life - 0.1 or load.strict


@thorough
@given(loads(), supplies(), st.integers(1, 50))
def test_running_jobs_take_what_they_need_first(load: Load, supply: Supply, more: int) -> None:
    """Each job that runs leaves less to those that are yet to be launched."""
    if supply.free == math.inf:
        return
    busier = attrs.evolve(load, running={**load.running, 3: load.running.get(3, 0) + more})
    assert spare([busier], supply.free) <= spare([load], supply.free) - more * (1.0 + load.result) + 1e-6


@pytest.mark.parametrize("price", [7, 12, 20])
@pytest.mark.parametrize("part", [0.2, 0.5, 0.8])
def test_what_lies_between_two_prices_is_shared_out(price: int, part: float) -> None:
    """Where polls at one price are too many and at the next too few, so many jobs follow each that all are used."""
    load = Load(curve=believed(60.0, 30), learned=30.0, policy=ADVISED, running={0: 100})
    more, fewer = (needs(load, each, 0.0) + chance([load], each, 0.0) for each in (price - 1, price))
    (pace,) = plan([load], *Supply(part * more + (1.0 - part) * fewer))
    assert prices(pace) == pytest.approx([math.exp((price - 1) / 6), math.exp(price / 6)])
    assert pace.share == pytest.approx(part)


@pytest.mark.parametrize(("begin", "used"), [(90.0, True), (120.0, False)])
def test_what_comes_back_counts_until_nearly_all_are_over(begin: float, used: bool) -> None:
    """Of jobs that end at any age alike, 30 s on average, three in a hundred run for longer than 105 s."""
    load = Load(curve=Curve.of([1.0 - math.exp(-age / 30.0) for age in AGES]), policy=ADVISED, running={0: 40})
    supply = Supply(140.0, lambda span: 1.0 * (span >= 1.0) + 1000.0 * (span >= begin))
    assert plan([load], *supply)[0].stretched is not used


@pytest.mark.parametrize(("more", "stretched"), [(-1.0, True), (1.0, False)])
def test_launches_of_an_hour_take_their_requests_first(more: float, stretched: bool) -> None:
    """Ten slots launch as many jobs as end in an hour, each with a launch, its polls and its result."""
    known = Curve.of([float(age >= 60.0) for age in AGES])
    load = Load(curve=known, learned=math.inf, policy=ADVISED, queued=20_000, slots=10.0, result=1.0)
    needed = 36_000.0 / (known.remaining(0) + 5.0) * (3.0 + known.remaining(0) / 10.0) + more
    assert plan([load], needed + chance([load], -1, math.inf))[0].stretched is stretched


def test_a_price_that_makes_no_difference_is_not_asked_for_while_jobs_wait() -> None:
    """When nothing is left, the dearest price is for jobs that run, and a sensible one where others wait."""
    running = Load(curve=believed(600.0, 30), learned=30.0, policy=ADVISED, running={0: 300})
    waiting = Load(curve=believed(60.0, 30), learned=30.0, policy=ADVISED, running={0: 300}, queued=5)
    one, other = plan([running, waiting], 0.0)
    assert prices(one)[1] == pytest.approx(math.exp(12.0))
    assert prices(other)[1] == pytest.approx(math.exp(useful(waiting) / 6.0))
    assert useful(waiting) < 72


def test_what_is_not_launched_needs_no_polls() -> None:
    """Of more jobs than all requests are enough for, as many are counted as could be launched at all."""
    load = Load(curve=believed(60.0, 30), learned=30.0, policy=ADVISED, running={0: 20}, queued=5000, result=0.0)
    (pace,) = plan([load], 500.0)
    assert prices(pace)[1] == pytest.approx(math.exp(useful(load) / 6.0))


def test_nothing_to_poll_at_is_a_plan_too() -> None:
    """No jobs take nothing, and fit into nothing."""
    assert not plan([Load(curve=believed(60.0, 30), learned=30.0, policy=ADVISED)], 0.0)[0].stretched
    assert spare([], 300.0) == 300.0
    assert plan([], 300.0) == []


@pytest.mark.parametrize(
    ("jobs", "free", "stretched"), [(1, 400.0, False), (20, 400.0, False), (300, 400.0, True), (1, 2.0, True)]
)
def test_a_few_jobs_are_polled_as_advised_and_many_are_not(jobs: int, free: float, stretched: bool) -> None:
    """It is what is left for the jobs there are that decides on the pace."""
    (pace,) = plan([Load(curve=believed(60.0, 30), learned=30.0, policy=ADVISED, running={0: jobs})], free)
    assert pace.stretched is stretched


@pytest.mark.parametrize("known", [0, 12, 30])
def test_what_comes_back_soon_is_used(known: int) -> None:
    """Requests that come back before most polls make them more frequent than those that never come back."""
    load = Load(curve=believed(600.0, 30), learned=30.0, policy=ADVISED, running={known: 200})

    def returning(span: float) -> float:
        return min(900.0, 3.0 * max(0.0, span - 30.0))

    (alone,) = plan([load], 250.0)
    (helped,) = plan([load], *Supply(250.0, returning))
    assert helped.dearer.lateness < alone.dearer.lateness


@pytest.mark.parametrize(("ends", "stretched"), [(0, True), (30, False)])
def test_a_guess_does_not_spend_the_hour(ends: int, stretched: bool) -> None:
    """As long as no end is known, jobs may take much longer than guessed, and need polls then, too."""
    load = Load(curve=believed(60.0, ends), learned=float(ends), policy=ADVISED, running={0: 30})
    assert plan([load], 900.0)[0].stretched is stretched


def test_a_single_job_has_the_hour_to_itself() -> None:
    """What is guessed of one job is believed, so that a short interval is kept from its first poll on."""
    often = PollPolicy(min_interval=0.1, max_interval=0.2)
    load = Load(curve=believed(60.0, 0), policy=often, running={0: 1})
    assert not plan([load], 900.0)[0].stretched
    assert plan([attrs.evolve(load, running={0: 2})], 900.0)[0].stretched


def test_an_old_job_is_counted_for_as_long_as_it_will_be_polled() -> None:
    """Jobs that have run for hours and go on are not taken for jobs that need one more poll."""
    day = Curve.of([0.02 * age / AGES[-1] for age in AGES])
    old = Load(curve=day, learned=math.inf, policy=ADVISED, running={step_before(20_000.0): 10})
    # Polled every ten seconds for an hour they would take 3,600 requests.
    assert plan([old], 900.0)[0].stretched
    # 600 requests are needed before the others come back, and only 500 are left.
    assert plan([old], *Supply(500.0, lambda span: 5000.0 * (span > 600.0)))[0].stretched
    assert not plan([old], *Supply(900.0, lambda span: 5000.0 * (span > 600.0)))[0].stretched


NEVER_OVER = Curve.of([0.0] * NEVER)
HALF = Curve.of([0.0, *([0.5] * (NEVER - 1))])


def test_what_as_advised_takes_is_a_poll_an_interval_and_one_at_the_end() -> None:
    """Jobs that go on for the whole span take a poll every ten seconds and one more, those on pages too."""
    load = Load(curve=NEVER_OVER, learned=math.inf, policy=ADVISED, running={0: 2, 30: 1}, paged={7: 4})
    assert load.polls(0, 100.0) == pytest.approx(7 * 11.0)
    assert load.polls(0) == load.polls(0, 5000.0) == pytest.approx(7 * 361.0)
    # With three ends known, a duration is taken to be off by two and a half times itself.
    strict = attrs.evolve(load, policy=PollPolicy(budget="strict"), learned=3.0)
    assert strict.polls(0, 100.0) == pytest.approx(7 * 36.0)
    # Where jobs can be polled more rarely later, by one and a quarter.
    assert attrs.evolve(load, learned=3.0).polls(0, 100.0) == pytest.approx(7 * 23.5)


@pytest.mark.parametrize(("queued", "slots", "slots_used"), [(5, math.inf, 5.0), (500, 2.0, 2.0), (1, 2.0, 1.0)])
def test_slots_bound_the_launches_of_an_hour(queued: int, slots: float, slots_used: float) -> None:
    """A slot that serves jobs of nearly an hour serves hardly more than one of them in an hour."""
    curve = Curve.of([float(age >= 3500.0) for age in AGES])
    load = Load(curve=curve, policy=ADVISED, queued=queued, slots=slots)
    served = max(1.0, HOUR / (curve.remaining(0) + 5.0)) if queued > slots else 1.0
    assert load.launches(0, math.inf) == pytest.approx(slots_used * served * load.life(load.advised))


def advised(curve: Curve) -> AdvisedSchedule:
    """Make the schedule that the service advises."""
    return AdvisedSchedule(curve, 5.0, 10.0)


def test_an_interval_goes_by_how_likely_an_end_is() -> None:
    """Where ends are likely a poll comes sooner, by the square root; groups wait up to half as long, or not at all."""
    even = Curve.of([1.0 - math.exp(-age / 30.0) for age in AGES])
    assert advised(even).interval(1, 0) == pytest.approx(math.sqrt(60.0), rel=0.01)
    assert advised(even).interval(15, 0) == pytest.approx(math.sqrt(60.0), rel=0.01)
    # Half of those that run end in the last step of the scale.
    late = Curve.of([0.0] * LAST + [0.5])
    interval = math.sqrt(4.0 * (AGES[LAST] - AGES[LAST - 1]))
    assert AdvisedSchedule(late, 5.0, 900.0).interval(LAST - 1, 0) == pytest.approx(interval)
    short = Curve.of([1.0 - math.exp(-age) for age in AGES])
    for step in (1, LAST):
        assert advised(short).interval(step, 0) == pytest.approx(5.0 if step == 1 else 10.0)
    for curve in (NEVER_OVER, HALF, Curve.of([0.0, *([1.0] * (NEVER - 1))])):
        schedule = advised(curve)
        assert [schedule.interval(9, group) for group in range(GROUPS)] == pytest.approx([10.0, 9.375, 8.75, 8.125])
        assert schedule.interval(LAST, 0) == 10.0


@pytest.mark.parametrize(("share", "cheaper"), [(0.0, 0), (0.1, 0), (0.2, 1), (0.375, 1), (0.5, 2), (0.9, 4), (1.0, 4)])
def test_groups_share_the_two_prices(share: float, cheaper: int) -> None:
    """As many of the groups follow the lower price as its share says, to the nearest."""
    two = solve(believed(60.0, 30), 1.0, 5.0), solve(believed(60.0, 30), 400.0, 5.0)
    pace = Pace(Load(curve=believed(60.0, 30), learned=30.0, policy=ADVISED), *two, share)
    seen = [pace.interval(0, group) for group in range(GROUPS)]
    assert seen == [two[0].interval(0)] * cheaper + [two[1].interval(0)] * (GROUPS - cheaper)


def test_a_plan_keeps_results_back() -> None:
    """Nine jobs whose end is known take a poll and a result each."""
    known = Curve.of([float(age >= 60.0) for age in AGES])
    load = Load(curve=known, policy=ADVISED, running={0: 9}, result=1.0)
    assert spare([load], 100.0) == pytest.approx(100.0 - 9.0 - 9.0)
    assert load.least_life == pytest.approx(3.0)
    assert extra([load], 100.0) == pytest.approx(100.0 - 9.0 - 9.0)
    assert extra([attrs.evolve(load, queued=16)], 100.0) == pytest.approx(100.0 - 9.0 - 9.0 - 16.0 * 3.0)
    assert extra([attrs.evolve(load, queued=1000)], 100.0) == pytest.approx(0.0)


@pytest.mark.parametrize("price", [3.0, 40.0, 600.0])
def test_the_variance_of_polls_is_that_of_their_distribution(price: float) -> None:
    """As many jobs take one more poll as still run at the one before."""
    schedule, step, more = solve(believed(60.0, 30), price, 5.0), 0, [1.0]
    while step < LAST:
        step = schedule.following[step]
        more.append(schedule.curve.running(step))
    mean, squares = sum(more), sum((2 * number + 1) * share for number, share in enumerate(more))
    assert schedule.polls(0) == pytest.approx(mean)
    assert schedule.variance(0) == pytest.approx(squares - mean**2)
