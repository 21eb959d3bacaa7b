"""Show the figures: as Markdown for people, as plain values for JSON."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any, TypeAlias

import attrs

from benchmarks.bars import Bar, bar_line, bar_table
from benchmarks.fanout import random_work, world_work
from benchmarks.fanout.bars import HOUR, Strategies, bars, forecasts, is_missed, mean, quantile, ratio, runs
from benchmarks.fanout.bound import least_lateness
from benchmarks.fanout.forecasts import COMPARED, foreseeable
from benchmarks.fanout.measuring import Figures
from benchmarks.fanout.random_work import Draw
from benchmarks.fanout.regimes import REGIMES
from benchmarks.fanout.rows import ROWS
from benchmarks.fanout.work import Work
from benchmarks.tables import Report, table

_TITLES = {
    "oracle": "oracle",
    "optimum": "informed optimum",
    "naive": "every 5 to 10 s",
    "exponential": "1, 2, 4, 8, 16, 20, 20, … s",
    "steady": "every 30 s",
    "adaptive": "one price, learning",
    "cold": "cmsapi, cold",
    "warm": "cmsapi, warm",
}
# What is compared of work drawn at random, and with which strategy.
_COMPARED = (
    ("mean turnaround, ratio to the optimum", "turnaround", "optimum"),
    ("all in hand, ratio to the oracle", "all_in_hand", "oracle"),
    ("all in hand, ratio to the optimum", "all_in_hand", "optimum"),
)
_OF_WORLDS = {"turnaround": "mean turnaround", "all_in_hand": "all in hand"}
_SHARES = {0.0: "best", 0.25: "25 %", 0.5: "median", 0.75: "75 %", 0.9: "90 %", 0.95: "95 %", 1.0: "worst"}
_WORST = 10
_MISSED = ("hours missed, oracle < 1,800 s", "oracle < 3,600 s")
_FORECAST_SHARES = {"5 %": 0.05, "25 %": 0.25, "median": 0.5, "75 %": 0.75, "95 %": 0.95}

Run: TypeAlias = tuple[str, Draw, Strategies]


def _seconds(value: float) -> str:
    return f"{value:,.0f} s" if value >= 100 else f"{value:.1f} s"


def _ratio(strategies: Strategies, strategy: str, figure: str) -> str:
    best = strategies.get("optimum")
    return "" if best is None else f"{ratio(strategies[strategy], best, figure):.2f}"


def _least_turnaround(work: Work, strategies: Strategies) -> float | None:
    """Return the bound of the mean turnaround: that of the lateness, after the ends that the optimum met."""
    lateness, best = least_lateness(work), strategies.get("optimum")
    if lateness is None or best is None:
        return None
    return mean(best, "turnaround") - mean(best, "lateness") + lateness


def _bound(work: Work, strategies: Strategies) -> list[str] | None:
    least = _least_turnaround(work, strategies)
    if least is None:
        return None
    best = strategies["optimum"]
    lateness = least - mean(best, "turnaround") + mean(best, "lateness")
    return ["bound", "", "", _seconds(least), f"{least / mean(best, 'turnaround'):.2f}", _seconds(lateness), "", "", ""]


def _listed(work: Work, strategies: Strategies) -> str:
    head = ["strategy", "all in hand", "ratio", "mean turnaround", "ratio", "mean lateness", "in 10 min"]
    head += ["requests a job", "429s"]
    rows = [
        [
            _TITLES[strategy],
            _seconds(mean(outcomes, "all_in_hand")),
            _ratio(strategies, strategy, "all_in_hand"),
            _seconds(mean(outcomes, "turnaround")),
            _ratio(strategies, strategy, "turnaround"),
            _seconds(mean(outcomes, "lateness")),
            f"{mean(outcomes, 'soon'):.0f}",
            f"{mean(outcomes, 'requests'):.2f}",
            f"{sum(outcome.refused for outcome in outcomes)}",
        ]
        for strategy, outcomes in strategies.items()
    ]
    if (bound := _bound(work, strategies)) is not None:
        rows.insert(list(strategies).index("optimum"), bound)
    return table(head, rows)


def _turnarounds(listed: Mapping[str, Strategies]) -> str:
    """Compare the mean turnaround of all strategies, one line for each work."""
    strategies = list(dict.fromkeys(strategy for by in listed.values() for strategy in by))
    rows = [
        [
            ROWS[name].title,
            *(_seconds(mean(by[strategy], "turnaround")) if strategy in by else "" for strategy in strategies),
        ]
        for name, by in listed.items()
    ]
    return table(["mean turnaround", *(_TITLES[strategy] for strategy in strategies)], rows)


def _random(figures: Figures) -> str:
    drawn = runs(figures, random_work.draws())
    modes = _modes(drawn)
    bounded = [(by, least) for draw, by in drawn if (least := _least_turnaround(draw.work, by)) is not None]
    parts = []
    if bounded:
        ratios = [mean(by["optimum"], "turnaround") / least for by, least in bounded]
        rows = [["informed optimum: mean turnaround, ratio to the bound", *_quantiles(ratios)]]
        parts.append(table([f"{len(bounded)} fan-outs that one hour holds", *_SHARES.values()], rows))
    for mode in modes:
        rows = [
            [
                title,
                *_quantiles([ratio(by[mode], by[best], figure) for _, by in drawn]),
            ]
            for title, figure, best in _COMPARED
        ]
        parts += [f"*{_TITLES[mode]}:*", table(["", *_SHARES.values()], rows)]
        missed = [sum(is_missed(by, mode, within) for _, by in drawn) for within in (HOUR / 2, HOUR)]
        parts.append(
            f"Hours missed, where the oracle needs less than half of one: {missed[0]}; where it needs less than one: "
            f"{missed[1]}."
        )
        if told := _forecasts(mode, drawn):
            parts += ["What it had forecast, as a ratio to what happened:", told]
    worst = heapq.nlargest(_WORST, ((mode, *each) for mode in modes for each in drawn), key=_turnaround)
    return "\n\n".join([*parts, "The worst of them by their turnaround:", _seeds(worst)])


def _drawn_turnarounds(figures: Figures) -> str:
    """Compare the mean turnaround of all random work with the optimum."""
    drawn = runs(figures, random_work.draws())
    rows = [
        [
            _TITLES[mode],
            *_quantiles([ratio(by[mode], by["optimum"], "turnaround") for _, by in drawn]),
            *(str(sum(is_missed(by, mode, within) for _, by in drawn)) for within in (HOUR / 2, HOUR)),
        ]
        for mode in _modes(drawn)
    ]
    head = ["mean turnaround, ratio to the optimum", *_SHARES.values(), *_MISSED]
    return table(head, rows)


def _quantiles(ratios: Sequence[float]) -> list[str]:
    return [f"{quantile(share, ratios):.2f}" for share in _SHARES]


def _forecasts(mode: str, runs: Sequence[tuple[Draw, Strategies]]) -> str:
    """Show how far forecasts were off, and which part of that could be known."""
    by_name = forecasts([by for _, by in runs], mode)
    rows = []
    for what, part in COMPARED.items():
        if compared := by_name.get(what):
            ratios = [each.forecast / each.actual for each in compared]
            rows.append(
                [
                    what,
                    f"{fmean(each.is_near for each in compared):.0%}",
                    "" if part is None else f"{fmean(foreseeable(draw.work.jobs, part) for draw, _ in runs):.0%}",
                    f"{fmean(each.is_near_by_the_whole for each in compared):.0%}",
                    "" if compared[0].range is None else f"{fmean(each.holds for each in compared):.0%}",
                    *(f"{quantile(share, ratios):.2f}" for share in _FORECAST_SHARES.values()),
                ]
            )
    head = ["forecast", "within 20 %", "can be known", "within 20 % of the whole", "range holds", *_FORECAST_SHARES]
    return table(head, rows) if rows else ""


def _by_world(figures: Figures) -> str:
    """Compare each world with its oracle."""
    drawn = runs(figures, world_work.draws())
    modes = _modes(drawn)
    rows = []
    for world, mode in itertools.product(dict.fromkeys(draw.family for draw, _ in drawn), modes):
        these = [by for draw, by in drawn if draw.family == world]
        ratios = [sorted(ratio(by[mode], by["oracle"], figure) for by in these) for figure in _OF_WORLDS]
        rows.append(
            [
                f"{world}, {_TITLES[mode]}",
                *(f"{quantile(share, each):.2f}" for each in ratios for share in (0.5, 1.0)),
                *(str(sum(is_missed(by, mode, within) for by in these)) for within in (HOUR / 2, HOUR)),
                str(sum(outcome.refused for by in these for outcome in by[mode])),
            ]
        )
    head = ["ratios to the oracle", *(f"{title}: {of}" for title in _OF_WORLDS.values() for of in ("median", "worst"))]
    return table([*head, *_MISSED, "429s"], rows)


def _worlds(figures: Figures) -> str:
    drawn = runs(figures, world_work.draws())
    worst = heapq.nlargest(_WORST, ((mode, *each) for mode in _modes(drawn) for each in drawn), key=_all_in_hand)
    return "\n\n".join([_by_world(figures), "The worst of them by their last result:", _seeds(worst)])


def _modes(drawn: Sequence[tuple[Draw, Strategies]]) -> list[str]:
    return [mode for mode in ("cold", "warm") if mode in drawn[0][1]]


def _seeds(worst: Iterable[Run]) -> str:
    """List runs with their seeds and what they are compared with."""
    rows = [
        [
            f"{draw.number}, {mode}",
            f"{draw.family}; {draw.told}",
            f"{len(draw.work.jobs)} {'searches' if draw.work.results else 'analyses'}",
            _seconds(mean(by["optimum"], "turnaround")),
            *(f"{ratio(by[mode], by[best], figure):.2f}" for _, figure, best in _COMPARED),
        ]
        for mode, draw, by in worst
    ]
    head = ["seed", "durations", "jobs", "optimum: mean turnaround", *(title for title, *_ in _COMPARED)]
    return table(head, rows)


def _turnaround(run: Run) -> float:
    mode, _, strategies = run
    return ratio(strategies[mode], strategies["optimum"], "turnaround")


def _all_in_hand(run: Run) -> float:
    mode, _, strategies = run
    return ratio(strategies[mode], strategies["oracle"], "all_in_hand")


def sections(figures: Figures) -> dict[str, Report]:
    """Show the figures as Markdown, by the section of the page that they belong to."""
    listed = {name: strategies for name, strategies in figures.batches.items() if name in ROWS}
    told = {}
    if listed or figures.trials:
        tables = [
            part for name, by in listed.items() for part in (f"**{ROWS[name].title}**", _listed(ROWS[name].work, by))
        ]
        reached = _bars(attrs.evolve(figures, batches=listed))
        told["fanout"] = Report(
            "\n\n".join([f"Means of {figures.seeds} seeds.", _turnarounds(listed), bar_line(reached)]),
            "\n\n".join(
                [
                    f"Means of {figures.seeds} seeds. Ratios are those to the informed optimum.",
                    *tables,
                    bar_table(reached),
                ]
            ),
        )
    if figures.regimes:
        told["regimes"] = _regimes(figures)
    for name, draws, show, show_all in (
        ("random", random_work.draws(), _drawn_turnarounds, _random),
        ("worlds", world_work.draws(), _by_world, _worlds),
    ):
        if drawn := runs(figures, draws):
            of_drawn = attrs.evolve(figures, batches={draw.work.name: by for draw, by in drawn}, trials={}, regimes={})
            reached = _bars(of_drawn)
            told[name] = Report(
                "\n\n".join([show(of_drawn), bar_line(reached)]),
                "\n\n".join([show_all(of_drawn), bar_table(reached)]),
            )
    return told


def _regimes(figures: Figures) -> Report:
    parts = [f"{figures.seeds} seeds."]
    counts = []
    for name, regime in REGIMES.items():
        judged = {
            f"{case}, {mode}": regime.judge(regime.cases[case], tried)
            for (of, case, mode), tried in figures.regimes.items()
            if of == name
        }
        if judged:
            rows = [
                [case, *each.figures.values(), "met" if each.met else "**not met**"] for case, each in judged.items()
            ]
            head = ["", *next(iter(judged.values())).figures, ""]
            parts += [f"**{regime.title}**", table(head, rows)]
            counts.append([regime.title, str(sum(each.met for each in judged.values())), str(len(judged))])
    shown = table(["", "cases that meet the bar", "of"], counts)
    return Report(f"{parts[0]}\n\n{shown}", "\n\n".join(parts))


def _bars(figures: Figures) -> list[Bar]:
    return [Bar(f"{each.work}; {each.mode}: {each.name}", each.figure, each.met) for each in bars(figures)]


def plain(figures: Figures) -> dict[str, Any]:
    """Return everything as plain values."""
    drawn = runs(figures, [*random_work.draws(), *world_work.draws()])
    told = {draw.work.name: draw.told for draw, _ in drawn}
    regimes = [
        {
            "regime": name,
            "case": case,
            "mode": mode,
            **attrs.asdict(REGIMES[name].judge(REGIMES[name].cases[case], tried)),
        }
        for (name, case, mode), tried in figures.regimes.items()
    ]
    return {
        **attrs.asdict(attrs.evolve(figures, regimes={})),
        "regimes": regimes,
        "drawn": told,
        "bars": [attrs.asdict(bar) for bar in bars(figures)],
    }
