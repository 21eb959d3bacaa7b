"""What the SDK has to reach, and whether it does."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import TypeAlias

import attrs

from benchmarks.fanout import random_work, world_work
from benchmarks.fanout.forecasts import LEFT, REQUESTS, SECONDS, Compared
from benchmarks.fanout.measuring import Figures
from benchmarks.fanout.random_work import Draw
from benchmarks.fanout.regimes import refusals
from benchmarks.fanout.rows import ROWS, Bound, Row
from benchmarks.fanout.trials import TRIALS, Awaiters, Calls
from benchmarks.fanout.work import ONE_WAY, Outcome

HOUR = 3600.0
_MODES = ("cold", "warm")
_LONGEST_WAIT = 1.5
_NINE_OF_TEN = 0.9
_RANDOM = "work drawn at random"
_OF_RANDOM = (
    (
        "mean turnaround, ratio to the optimum",
        "turnaround",
        "optimum",
        (("median", 0.5, 1.08), ("95 %", 0.95, 1.35), ("worst", 1.0, 1.6)),
    ),
    ("all in hand, ratio to the oracle", "all_in_hand", "oracle", (("95 %", 0.95, 1.2),)),
)

Strategies: TypeAlias = Mapping[str, Sequence[Outcome]]


@attrs.frozen
class Bar:
    """Compare a figure with its bar.

    Args:
        work: What was done.
        mode: `"cold"` or `"warm"`.
        name: What has to be reached.
        figure: What was.
        met: Whether that suffices.
    """

    work: str
    mode: str
    name: str
    figure: str
    met: bool


def mean(outcomes: Sequence[Outcome], figure: str) -> float:
    """Return the mean of a figure over the seeds."""
    return fmean(getattr(outcome, figure) for outcome in outcomes)


def ratio(outcomes: Sequence[Outcome], others: Sequence[Outcome], figure: str) -> float:
    """Return the mean of a figure as a ratio to that of others."""
    return mean(outcomes, figure) / mean(others, figure)


def quantile(share: float, values: Sequence[float]) -> float:
    """Return the value below which a share of some values lies."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def is_missed(strategies: Strategies, mode: str, within: float) -> bool:
    """Tell whether a run ended after an hour though the oracle's ended within some seconds."""
    return mean(strategies[mode], "all_in_hand") >= HOUR and mean(strategies["oracle"], "all_in_hand") < within


def forecasts(runs: Sequence[Strategies], mode: str) -> Mapping[str, Sequence[Compared]]:
    """Return what was forecast in all runs, by what it was."""
    found: defaultdict[str, list[Compared]] = defaultdict(list)
    for strategies in runs:
        for outcome in strategies[mode]:
            for compared in outcome.forecasts:
                found[compared.what].append(compared)
    return found


def runs(figures: Figures, draws: Sequence[Draw]) -> list[tuple[Draw, Strategies]]:
    """Return the work that was drawn and measured, with its outcomes."""
    return [(draw, figures.batches[draw.work.name]) for draw in draws if draw.work.name in figures.batches]


def bars(figures: Figures) -> Iterator[Bar]:
    """Compare what was measured with the bars."""
    for name, strategies in figures.batches.items():
        for place, mode in enumerate(_MODES):
            if name in ROWS and mode in strategies:
                row = ROWS[name]
                yield from _of_row(row, place, mode, strategies[mode], strategies.get(row.against))
    for mode in _MODES:
        drawn = [each for _, each in runs(figures, random_work.draws()) if {mode, "optimum", "oracle"} <= set(each)]
        if drawn:
            yield from _of_random(mode, drawn)
        in_worlds = [(draw, each) for draw, each in runs(figures, world_work.draws()) if {mode, "oracle"} <= set(each)]
        for world in dict.fromkeys(draw.family for draw, _ in in_worlds):
            yield _missed(world, mode, [each for draw, each in in_worlds if draw.family == world])
    for name, modes in figures.trials.items():
        for mode, outcomes in modes.items():
            yield _of_trial(TRIALS[name].title, mode, outcomes)
    # A second that a stranger's request falls into may be full.
    batches = [by for name, by in figures.batches.items() if not name.startswith(world_work.NAME)]
    refused = sum(outcome.refused for by in batches for each in by.values() for outcome in each)
    refused += sum(outcome.refused for by in figures.trials.values() for each in by.values() for outcome in each)
    refused += sum(refusals(tried) for each in figures.regimes.values() for tried in each)
    yield Bar("all runs", "all strategies", "no 429", str(refused), refused == 0)


def _of_row(
    row: Row, place: int, mode: str, outcomes: Sequence[Outcome], others: Sequence[Outcome] | None
) -> Iterator[Bar]:
    def least(name: str, figure: float, bound: Bound, unit: str = "") -> Bar:
        return Bar(row.title, mode, f"{name} ≤ {bound[place]:g}{unit}", f"{figure:.2f}{unit}", figure <= bound[place])

    if others is not None and row.all_in_hand is not None:
        figure = ratio(outcomes, others, "all_in_hand")
        yield least(f"all in hand, ratio to the {row.against},", figure, row.all_in_hand)
    if others is not None and row.turnaround is not None:
        figure = ratio(outcomes, others, "turnaround")
        yield least(f"mean turnaround, ratio to the {row.against},", figure, row.turnaround)
    if row.requests is not None:
        yield least("requests a job", mean(outcomes, "requests"), row.requests)
    if row.noticed is not None:
        figure = max(outcome.lateness for outcome in outcomes) - 2 * ONE_WAY
        yield least("noticed, the round trip apart,", figure, row.noticed, " s")
    if row.soon is not None:
        soon = mean(outcomes, "soon")
        yield Bar(
            row.title, mode, f"in hand after 10 min ≥ {row.soon[place]:g}", f"{soon:.0f}", soon >= row.soon[place]
        )


def _of_random(mode: str, drawn: Sequence[Strategies]) -> Iterator[Bar]:
    yield _missed(_RANDOM, mode, drawn)
    for title, figure, best, shares in _OF_RANDOM:
        ratios = [ratio(each[mode], each[best], figure) for each in drawn]
        for name, share, bound in shares:
            reached = quantile(share, ratios)
            yield Bar(_RANDOM, mode, f"{title}, {name} ≤ {bound:g}", f"{reached:.2f}", reached <= bound)
    yield from _of_forecasts(mode, forecasts(drawn, mode))


def _of_forecasts(mode: str, compared: Mapping[str, Sequence[Compared]]) -> Iterator[Bar]:
    """Compare forecasts with their bars: warm they have to be near, cold their ranges have to hold."""
    left = [each for what, found in compared.items() if what.startswith(LEFT) for each in found]
    checked = [(REQUESTS, compared.get(REQUESTS, ())), (SECONDS, compared.get(SECONDS, ())), ("seconds left", left)]
    for what, found in checked:
        shares = {"the range holds": [each.holds for each in found]}
        if mode == "warm":
            near = "within 20 % of the whole" if what == "seconds left" else "within 20 %"
            shares = {near: [each.is_near_by_the_whole for each in found], **shares}
        for name, passed in shares.items():
            if passed:
                reached = fmean(passed)
                yield Bar(_RANDOM, mode, f"{what}: {name} in 90 %", f"{reached:.0%}", reached >= _NINE_OF_TEN)


def _missed(work: str, mode: str, drawn: Sequence[Strategies]) -> Bar:
    missed = sum(is_missed(each, mode, HOUR / 2.0) for each in drawn)
    return Bar(work, mode, "hours missed where the oracle needs less than half of one", str(missed), missed == 0)


def _of_trial(title: str, mode: str, outcomes: Sequence[Calls | Awaiters]) -> Bar:
    calls = [outcome for outcome in outcomes if isinstance(outcome, Calls)]
    if calls:
        worst = max(outcome.longest_wait for outcome in calls)
        met = worst <= _LONGEST_WAIT
        return Bar(
            title, mode, f"none takes longer than a lone one by more than {_LONGEST_WAIT} s", f"{worst:.2f} s", met
        )
    polled = [outcome for outcome in outcomes if isinstance(outcome, Awaiters)]
    polls, of_one = (fmean(getattr(outcome, name) for outcome in polled) for name in ("polls", "polls_of_one"))
    hasty = sum(outcome.hasty for outcome in polled)
    figure = f"{hasty} too soon; {polls:.1f} polls, {of_one:.1f} for one awaiter"
    return Bar(title, mode, "polls of one stream, none too soon after another", figure, hasty == 0)
