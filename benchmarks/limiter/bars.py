"""What our limiter has to reach, and whether it does."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.bars import Bar
from benchmarks.limiter import cost
from benchmarks.limiter.contestants import COLD, REMEMBERED
from benchmarks.limiter.measuring import Figures, ratio
from benchmarks.limiter.scenario import Outcome


def _refused(outcomes: list[Outcome]) -> str:
    return " · ".join(str(outcome.refused) for outcome in outcomes)


def _times(values: list[float | None]) -> tuple[float, str]:
    worst = max((float("inf") if value is None else value) for value in values)
    return worst, f"{worst:.2f} s"


def bars(figures: Figures) -> Iterator[Bar]:
    """Compare the worst seed of each run with the bar."""
    for contestant in (REMEMBERED, COLD):
        mode = "hour remembered" if contestant is REMEMBERED else "first request alone"
        runs = {name: modes[contestant.name] for name, modes in figures.hardships.items()}
        for name, what in (("plain", "2 hours"), ("answers", "2 hours, slow answers"), ("tail", "2 hours, heavy tail")):
            least = min(outcome.accepted for outcome in runs[name])
            none = all(outcome.refused == 0 for outcome in runs[name])
            yield Bar(f"{what}, {mode}: no 429", _refused(runs[name]), none)
            yield Bar(f"{what}, {mode}: ≥ 1,999 accepted", f"{least:,}", least >= 1999)
        worst, shown = _times([outcome.t20 for outcome in runs["plain"]])
        yield Bar(f"{mode}: t(20) ≤ 0.2 s", shown, worst <= 0.2)
        worst, shown = _times([outcome.t1000 for outcome in runs["plain"]])
        yield Bar(f"{mode}: t(1000) ≤ 62 s", shown, worst <= 62)
        for name, what in (("slow", "handled for 5 s"), ("day", "24 hours"), ("silence", "25 s of silence")):
            yield Bar(f"{what}, {mode}: no 429", _refused(runs[name]), all(each.refused == 0 for each in runs[name]))
        inversions = sum(outcome.inversions for name in runs for outcome in runs[name])
        yield Bar(f"all runs, {mode}: 0 FIFO inversions", str(inversions), inversions == 0)
    ours = {contestant.title for contestant in (REMEMBERED, COLD)}
    lost = max(row.lost for row in figures.rows if row.title in ours)
    yield Bar("200 cancelled waiters cost 0 turns", str(lost), lost == 0)
    turn, again = ratio(figures.microseconds, REMEMBERED.name), ratio(figures.microseconds, cost.AGAIN)
    if turn is not None and again is not None:
        spread = abs(again - 1)
        yield Bar("acquire + settle ≤ 20 aiolimiter acquires", f"{turn:.1f} (A/A {again:.2f})", turn <= 20 + spread)
    yield Bar("≤ 12 KB", f"{figures.memory:,} bytes", figures.memory <= 12_000)
