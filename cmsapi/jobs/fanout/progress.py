"""How far a fan-out is: a snapshot of its counts, and a row for each item that a table shows."""

from __future__ import annotations

import enum
from datetime import datetime
from typing import Any

import attrs

from cmsapi.display import markup
from cmsapi.jobs.fanout.forecast import counted, span
from cmsapi.jobs.job import Job
from cmsapi.jobs.status import in_json

# The parts of the bar, with colours that show on light and on dark pages.
_COLOURS = (("succeeded", "#3a9d5d"), ("failed", "#d9534f"), ("running", "#4a90d9"))


class ItemState(enum.StrEnum):
    """Name the states of an item, in the order in which an item goes through them and in which tables show them."""

    WAITING = "waiting"
    LAUNCHING = "launching"
    RUNNING = "running"
    REVIEW = "review"
    FINISHED = "finished"
    FAILED = "failed"


@attrs.frozen(kw_only=True)
class ItemStatus:
    """Show one item of a fan-out, as a row of a table.

    Args:
        item: The item.
        label: Name of the keyword, prompt, search or article, if the client has seen it, else its identifier.
        state: Where the item stands.
        elapsed: Seconds from its launch until now or its end; None before it is launched.
        job: Its job, or None without one. Its `status` has the polls and the expected end.
        earlier: Whether the item ended in an earlier run of a batch.
        error: Why it has no result, if it has ended without one.
    """

    item: Any
    label: str
    state: ItemState
    elapsed: float | None = None
    job: Job[Any] | None = None
    earlier: bool = False
    error: Exception | None = None


@attrs.frozen(kw_only=True, repr=False)
class Progress:
    """Show how far a fan-out, a batch or `as_completed` is. `finished`, `running` and `waiting` add up to `total`.

    Args:
        finished: Items that have an outcome, with or without a result.
        running: Items whose jobs run, or wait for a decision.
        waiting: Items that have no job yet, those that are being launched among them.
        failed: Items among the finished ones that have no result.
        unknown: Items among the failed ones that may have been launched and paid for.
        earlier: Items among the finished ones that ended in an earlier run of a batch.
        total: All items; None while an iterable without a length is not exhausted.
        stopped: Whether no more items are launched, because the credits are spent or the fan-out was left.
        seconds_left: Seconds until about the last outcome, from the durations of earlier jobs and the request limits;
            None while that is not known.
        seconds_left_range: The fewest and the most seconds that are expected; nine of ten fan-outs end within them, as
            far as the jobs behave like earlier ones.
        eta: When about the last outcome is expected.
        credits: Credits that the launches have cost; of a batch those of all its runs.
        earlier_credits: Those among them that earlier runs of the batch have cost.
        requests: Requests that were sent for the items: for launches, polls and results; of a batch those of all runs,
            which a run writes down about every five seconds.
        requests_planned: Requests that all of it is expected to take; None while that is not known.
    """

    finished: int = 0
    running: int = 0
    waiting: int = 0
    failed: int = 0
    unknown: int = 0
    earlier: int = 0
    total: int | None = None
    stopped: bool = False
    seconds_left: float | None = None
    seconds_left_range: tuple[float, float] | None = None
    eta: datetime | None = None
    credits: int = 0
    earlier_credits: int = 0
    requests: int = 0
    requests_planned: int | None = None

    @property
    def done(self) -> bool:
        """Whether all items are finished."""
        return self.finished == self.total

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as values of JSON: the fields and `done`; `eta` is a text in ISO 8601."""
        return {**attrs.asdict(self, value_serializer=in_json), "done": self.done}

    @property
    def time_left(self) -> str:
        """The time left and its range in words, such as `"about 6 min left (4 min to 9 min)"`; empty if unknown."""
        if not self.seconds_left:
            return ""
        about = f"about {span(self.seconds_left)} left"
        return (
            about if self.seconds_left_range is None else f"{about} ({' to '.join(map(span, self.seconds_left_range))})"
        )

    def __str__(self) -> str:
        of = "" if self.total is None else f" of {self.total:,}"
        earlier = f" ({self.earlier:,} earlier)" if self.earlier else ""
        waiting = f"{self.waiting:,} {'not launched' if self.stopped else 'waiting'}"
        failed = f"{self.failed:,} failed" + (f" ({self.unknown:,} of them unknown)" if self.unknown else "")
        parts = [f"{self.finished:,}{of} finished{earlier}, {self.running:,} running, {waiting}, {failed}"]
        parts += [self.time_left] if self.time_left else []
        parts.append(f"{counted(self.credits, 'credit')}, {counted(self.requests, 'request')}")
        return "; ".join(parts)

    def __repr__(self) -> str:
        return f"<Progress {self}>"

    def _repr_html_(self) -> str:
        return html_of(self)


def html_of(progress: Progress) -> str:
    """Write a progress as a bar, and in words below it."""
    whole = progress.total if progress.total is not None else progress.finished + progress.running + progress.waiting
    counts = (progress.finished - progress.failed, progress.failed, progress.running)
    bars = "".join(
        f'<div title="{count:,} {name}" style="width:{count / max(1, whole):.2%};background:{colour}"></div>'
        for (name, colour), count in zip(_COLOURS, counts, strict=True)
    )
    frame = "display:flex;height:.6em;max-width:30em;border-radius:.3em;overflow:hidden;background:#80808040"
    return f'<div><div style="{frame}">{bars}</div><span>{markup.text(str(progress))}</span></div>'
