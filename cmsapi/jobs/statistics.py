"""Figures about jobs: how they were polled, and how late their ends were seen."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import attrs

from cmsapi.display import markup
from cmsapi.jobs.kinds.kind import Kind

# Enough for a percentile, and for a process that runs for months.
_LARGEST_SAMPLE = 10_000


@attrs.frozen(kw_only=True)
class JobStatistics:
    """Show how jobs were polled. Lateness is estimated: of an end only the polls before and after it are known.

    Args:
        finished: Jobs whose end was seen.
        polls: Polls of them and of jobs that still run; one read of a page of a list counts once for each job it shows.
        polls_per_job: Polls for each finished job, or None before the first.
        wasted_polls: Polls that found the job running, or failed.
        lateness_p50: Median of the seconds between the end of a job and the poll that saw it, or None.
        lateness_p95: The same, which 95 % do not exceed.
        stretch: Mean of the time from launch to the seen end, as a multiple of the time to the end; or None.
        by_kind: The same for the jobs of each kind, by its word, such as `"keyword_analysis"`.
    """

    finished: int
    polls: int
    polls_per_job: float | None
    wasted_polls: int
    lateness_p50: float | None
    lateness_p95: float | None
    stretch: float | None
    by_kind: Mapping[str, JobStatistics] = attrs.field(factory=dict, repr=False, hash=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as values of JSON, with those of each kind."""
        return attrs.asdict(self)

    def _repr_html_(self) -> str:
        return markup.record(self)


@attrs.define
class Tally:
    """Count what is seen of one kind of job."""

    polls: int = 0
    wasted: int = 0
    finished: int = 0
    lateness: deque[float] = attrs.field(factory=lambda: deque(maxlen=_LARGEST_SAMPLE))
    stretches: deque[float] = attrs.field(factory=lambda: deque(maxlen=_LARGEST_SAMPLE))

    def end(self, age: float, lateness: float) -> None:
        """Count an end that was seen at `age`, `lateness` seconds late."""
        self.finished += 1
        self.lateness.append(lateness)
        self.stretches.append(age / max(age - lateness, 1e-3))


def summary(tallies: Mapping[Kind, Tally], kinds: Iterable[Kind]) -> JobStatistics:
    """Add up what was counted, and show it for each of these kinds."""
    by_kind = {kind.name.value: _total([tallies[kind]] if kind in tallies else []) for kind in kinds}
    return attrs.evolve(_total(tallies.values()), by_kind=by_kind)


def _total(counted: Collection[Tally]) -> JobStatistics:
    lateness = sorted(late for tally in counted for late in tally.lateness)
    stretches = [stretch for tally in counted for stretch in tally.stretches]
    finished, polls = sum(tally.finished for tally in counted), sum(tally.polls for tally in counted)
    return JobStatistics(
        finished=finished,
        polls=polls,
        polls_per_job=polls / finished if finished else None,
        wasted_polls=sum(tally.wasted for tally in counted),
        lateness_p50=_quantile(lateness, 0.5),
        lateness_p95=_quantile(lateness, 0.95),
        stretch=sum(stretches) / len(stretches) if stretches else None,
    )


def _quantile(values: list[float], share: float) -> float | None:
    return values[min(len(values) - 1, int(share * len(values)))] if values else None
