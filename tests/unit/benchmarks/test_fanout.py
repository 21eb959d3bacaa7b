"""The benchmark of fan-outs still runs, and its landmarks stand where they must."""

from __future__ import annotations

import json
import random
from collections import Counter
from pkgutil import resolve_name

import pytest
from hypothesis import given, settings, strategies as st

from benchmarks.fanout import world_work
from benchmarks.fanout.bound import least_lateness
from benchmarks.fanout.durations import Distribution, age_at, finished
from benchmarks.fanout.forecasts import COMPARED, REQUESTS, SECONDS, foreseeable
from benchmarks.fanout.measuring import Figures, run
from benchmarks.fanout.numbers import NUMBERS
from benchmarks.fanout.poll_times import CHEAPEST, DEAREST, SHORTEST_GAP, Plans, plans_for
from benchmarks.fanout.price import Group, Tokens, find_price
from benchmarks.fanout.random_work import draws
from benchmarks.fanout.report import plain, sections
from benchmarks.fanout.rows import ROWS
from benchmarks.fanout.rules import RULES
from benchmarks.fanout.trials import awaiters
from benchmarks.fanout.work import Kind, Outcome, Work
from benchmarks.virtual import in_virtual_time
from cmsapi.sandbox import Lognormal, Mixture, Weibull

MINUTE = Lognormal(60, 0.6)
DISTRIBUTIONS = [MINUTE, Weibull(232.5, 0.7), Mixture(((0.5, Lognormal(20, 0.25)), (0.5, Lognormal(300, 0.25))))]


def first_polls(distribution: Distribution, polls: float, count: int) -> tuple[float, list[float]]:
    """Return the mean lateness and the first ages of the plan that takes so many polls a job."""
    plans = Plans(distribution)
    plan = min((plans.at(power) for power in range(CHEAPEST, DEAREST)), key=lambda plan: abs(plan.polls[0] - polls))
    ages, index = [], 0
    for _ in range(count):
        index = plan.following[index]
        ages.append(plans.ages[index])
    return plan.lateness, ages


@pytest.mark.parametrize(
    ("distribution", "polls", "lateness", "ages"),
    [
        (MINUTE, 1.30, 42, [94, 158, 226]),
        (MINUTE, 1.20, 53, [108, 188, 276]),
        (Lognormal(90, 0.5), 8.5, 4, [44, 56, 66]),
    ],
)
def test_the_plans_are_those_of_the_theory(
    distribution: Distribution, polls: float, lateness: float, ages: list[float]
) -> None:
    """For a budget of polls, lateness and first polls are those computed once by other means."""
    found_lateness, found_ages = first_polls(distribution, polls, len(ages))
    assert found_lateness == pytest.approx(lateness, abs=2)
    assert found_ages == pytest.approx(ages, rel=0.05)


@settings(max_examples=20)
@given(st.sampled_from(DISTRIBUTIONS), st.integers(CHEAPEST, DEAREST - 1))
def test_dearer_looks_are_fewer_and_later(distribution: Distribution, power: int) -> None:
    """A higher price never means more polls or less lateness, and no poll follows another at once."""
    plans = Plans(distribution)
    cheap, dear = plans.at(power), plans.at(power + 1)
    assert dear.polls[0] <= cheap.polls[0] + 1e-6
    assert dear.lateness >= cheap.lateness - 1e-6
    assert all(plans.next_age(cheap, age, index) - age >= SHORTEST_GAP - 1e-9 for index, age in enumerate(plans.ages))


@given(st.sampled_from(DISTRIBUTIONS), st.floats(1.05, 12.0), st.integers(1, 400))
def test_the_price_uses_the_budget_up(distribution: Distribution, looks_each: float, count: int) -> None:
    """The expected polls are those that the tokens allow, and tokens that come back later are not spent before."""
    group = Group(plans_for(distribution), index=0, count=count, launched_at=0.0)
    budget = looks_each * count
    price = find_price([group], Tokens(now=0.0, left=budget, returns=[]))
    expected = (1 - price.below) * group.polls(price.power) + price.below * group.polls(price.power - 1)
    assert expected == pytest.approx(min(budget, group.polls(CHEAPEST)), abs=0.01)
    returns = [100.0] * count
    price = find_price([group], Tokens(now=0.0, left=budget / 2, returns=returns))
    if price.power < Tokens(0.0, 0.0, returns).dearest:
        assert group.looks_before(price.power, 100.0) <= budget / 2


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_what_is_drawn_is_what_is_planned_with(distribution: Distribution) -> None:
    """The probability that the optimum reckons with is the share of the drawn durations."""
    rng = random.Random(0)
    drawn = [distribution(rng) for _ in range(4000)]
    for probability in (0.1, 0.5, 0.9):
        age = age_at(distribution, probability)
        assert finished(distribution, age) == pytest.approx(probability, abs=1e-3)
        assert sum(duration <= age for duration in drawn) / len(drawn) == pytest.approx(probability, abs=0.03)


@pytest.fixture(scope="module")
def outcomes() -> dict[str, list[Outcome]]:
    """Do 240 searches, too many for polls without a plan, by some strategies."""
    work = Work(name="searches", kind=Kind.SEARCH, jobs=(MINUTE,) * 240)
    return {strategy: [run(work, strategy, 1)] for strategy in ("oracle", "optimum", "naive", "cold")}


@pytest.mark.slow
def test_the_landmarks_stand_in_order(outcomes: dict[str, list[Outcome]]) -> None:
    """No strategy is faster than the oracle, the naive one is slower than the optimum, and no request is refused."""
    oracle, optimum, naive = (outcomes[name][0] for name in ("oracle", "optimum", "naive"))
    assert oracle.turnaround < optimum.turnaround < naive.turnaround
    assert oracle.requests == 3
    assert oracle.lateness < 1
    assert optimum.requests * 240 <= 1000
    assert [outcome.refused for (outcome,) in outcomes.values()] == [0] * len(outcomes)


@pytest.mark.slow
def test_tables_and_json_are_written(outcomes: dict[str, list[Outcome]]) -> None:
    """Every strategy has its row, every bar its figure, and the plain values are JSON."""
    trials = {"awaiters": {"cold": [in_virtual_time(awaiters(0, warm=False))]}}
    figures = Figures(1, {"searches": outcomes}, trials)
    shown = sections(figures)["fanout"].details
    assert ROWS["searches"].title in shown
    assert "| informed optimum |" in shown
    document = json.loads(json.dumps(plain(figures)))
    assert [bar["name"] for bar in document["bars"]] == [
        "all in hand, ratio to the optimum, ≤ 1.15",
        "mean turnaround, ratio to the optimum, ≤ 1.3",
        "polls of one stream, none too soon after another",
        "no 429",
    ]
    assert document["batches"]["searches"]["optimum"][0]["turnaround"] > 0


@pytest.mark.slow
def test_forecasts_are_compared_with_what_happens() -> None:
    """Work that is forecast yields the plan and the estimates at each moment, and the tables and bars show them."""
    work = Work(name="few", kind=Kind.ANALYSIS, jobs=(Lognormal(60, 0.3),) * 24, forecast=True)
    outcome = run(work, "warm", 1)
    assert [each.what for each in outcome.forecasts][:2] == [REQUESTS, SECONDS]
    assert {each.what for each in outcome.forecasts} == set(COMPARED)
    assert all(each.actual > 0.0 and each.whole >= each.actual for each in outcome.forecasts)
    landmarks = {name: [run(work, name, 1)] for name in ("oracle", "optimum")}
    shown = sections(Figures(1, {"random 0": {**landmarks, "warm": [outcome]}}, {}))["random"].details
    assert f"| {REQUESTS} | " in shown
    assert "warm: seconds left: within 20 % of the whole in 90 % |" in shown


@pytest.mark.parametrize(
    ("distribution", "part", "chance"),
    [(Lognormal(60, 0.02), 0.0, (0.99, 1.0)), (Lognormal(60, 1.0), 0.0, (0.3, 0.5)), (MINUTE, 0.9, (0.1, 0.5))],
)
def test_the_spread_of_the_last_end_bounds_every_forecast(
    distribution: Distribution, part: float, chance: tuple[float, float]
) -> None:
    """Jobs that are alike end as foretold; the largest of many unlike ones is a matter of chance, later still more."""
    assert chance[0] <= foreseeable([distribution] * 200, part) <= chance[1]


@pytest.mark.parametrize("number", range(4))
def test_the_oracle_lives_in_each_world(number: int) -> None:
    """It polls each job once, at its end, whenever that is."""
    work = world_work.draws()[number].work
    oracle = run(work, "oracle", 0)
    assert oracle.requests == 2 + work.results
    assert oracle.lateness < 10.0


def test_worlds_are_always_the_same() -> None:
    """Ten fan-outs of each world are drawn, and those beside a stranger leave it its third of the hour."""
    drawn = world_work.draws()
    assert drawn == world_work.draws()
    assert set(Counter(draw.family for draw in drawn).values()) == {10}
    beside = [draw.work for draw in drawn if draw.family == "stranger"]
    assert max(len(work.jobs) * (2 + work.results) for work in beside) <= 600


def test_all_strategies_meet_the_same_durations() -> None:
    """A warm client's measured batch takes as long as a cold one's, whatever came before."""
    work = Work(name="few", kind=Kind.SEARCH, jobs=(Lognormal(20, 0.5),) * 8)
    cold, warm, oracle = (run(work, strategy, 3) for strategy in ("cold", "warm", "oracle"))
    ends = [outcome.turnaround - outcome.lateness for outcome in (cold, warm, oracle)]
    assert ends == pytest.approx([ends[0]] * 3, abs=0.5)


def test_what_is_drawn_at_random_is_always_the_same() -> None:
    """Work differs from draw to draw, comes from every family, and has the medians and the sizes that are promised."""
    drawn = draws()
    assert drawn == draws()
    assert len({draw.told for draw in drawn}) == len(drawn) == 200
    assert len({draw.family for draw in drawn}) == 7
    assert all(60 <= len(draw.work.jobs) <= 480 for draw in drawn)
    same = [draw for draw in drawn if draw.family != "drift"]
    assert all(11 <= age_at(draw.work.jobs[0], 0.5) <= 310 for draw in same)


@pytest.mark.slow
@pytest.mark.parametrize("number", [25, 49, 73, 122, 169, 178])
def test_no_result_comes_an_hour_late(number: int) -> None:
    """Work whose last results once came after an hour, because all requests were used before, is over long before."""
    assert run(draws()[number].work, "cold", 0).all_in_hand < 1800.0


@pytest.mark.parametrize(("name", "optimum"), [("searches", 43.5), ("analyses", 53.1)])
def test_the_bound_lies_a_little_below_the_informed_optimum(name: str, optimum: float) -> None:
    """No policy beats the bound, and the informed optimum, as it was measured, is not far above it."""
    bound = least_lateness(ROWS[name].work)
    assert bound is not None
    assert 0.85 * optimum < bound < optimum


def test_work_that_one_hour_does_not_hold_has_no_bound() -> None:
    """Requests that come back, and lists that show many jobs, are beyond the bound."""
    assert [least_lateness(ROWS[name].work) for name in ("crowd", "slow", "pages")] == [None] * 3


def test_each_rule_can_be_switched_off_and_each_number_changed() -> None:
    """The places of a rule exist, so that the list follows the code."""
    for rule in (*RULES.values(), *NUMBERS.values()):
        for place in rule.neutral:
            module, _, attribute = place.rpartition(".")
            assert hasattr(resolve_name(module), attribute)


def test_the_learning_peer_keeps_the_limits_and_beats_fixed_intervals() -> None:
    """It draws no 429, and where the hour is too small for fixed intervals it is far ahead of them."""
    work = Work(name="peer", kind=Kind.SEARCH, jobs=(MINUTE,) * 150)
    adaptive, naive = (run(work, strategy, 0) for strategy in ("adaptive", "naive"))
    assert adaptive.refused == 0
    assert adaptive.turnaround < naive.turnaround / 2
