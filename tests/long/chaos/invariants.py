"""What must hold after every run, whatever the weather was: read off the sandbox's ledger and off what callers heard.

1. Every call ended in time, with a result or a documented error, which survives `pickle` and does not show the key.
2. What was called done is done, once; what was called refused did not happen; only what is reported as unknown may be
   either. Nothing happened more often than that.
3. A job that succeeded has succeeded at the service, a failed one has failed there, and every other end has a reason.
4. Nothing is left: no call, permit, waiter, poll or task, and no unhandled error.
"""

from __future__ import annotations

import asyncio
import pickle
from collections import Counter
from collections.abc import Iterator
from typing import Any

from cmsapi import errors
from cmsapi.api.operations import OPERATIONS, Replay
from tests.long.chaos.record import Call, Record

LAUNCHES = {name for name, row in OPERATIONS.items() if row.replay is Replay.COSTS_CREDIT}
DECISIONS = {"confirm_generation": "confirm", "cancel_generation": "cancel"}
CHANGES = {name for name, row in OPERATIONS.items() if row.replay is not Replay.SAFE}


def violations(run: Record) -> Iterator[str]:
    """Name what does not hold of a run."""
    for call in run.calls:
        yield from _of_call(call, run)
        if call.operation.startswith("wait "):
            yield from _of_job(run, call.operation, call.target, call.error)
        for outcome in call.taken:
            if outcome.job is not None:
                yield from _of_job(run, "map", outcome.job.target, outcome.error)
    for name in sorted(CHANGES - LAUNCHES - set(DECISIONS)):
        yield from _of_changes(run, name)
    for name in sorted(LAUNCHES):
        yield from _of_launches(run, name)
    for name, wish in DECISIONS.items():
        yield from _of_decisions(run, name, wish)


def disclosures(run: Record) -> Iterator[str]:
    """Name the calls whose errors show the key."""
    for call in run.calls:
        error = call.error
        if error is not None and run.box.api_key in (
            f"{error} {error!r} {error.__cause__!r} {error.__context__!r} {getattr(error, '__notes__', '')}"
        ):
            yield f"{call.operation} shows the key"


def _of_call(call: Call, run: Record) -> Iterator[str]:
    name, error = call.operation, call.error
    if call.ended is None:
        yield f"{name} did not end"
    elif call.ended - call.began > call.patience + run.slack:
        yield f"{name} took {call.ended - call.began:.2f} s and not {call.patience:g} s: {error!r}"
    if error is None:
        if name.startswith("get_") and call.target not in (None, call.result.id):
            yield f"{name} of {call.target} gave {call.result.id}"
    elif not isinstance(error, errors.CMSError | asyncio.CancelledError):
        yield f"{name} raised {error!r}"
    else:
        twin = pickle.loads(pickle.dumps(error))  # noqa: S301  our own
        if (type(twin), str(twin)) != (type(error), str(error)):
            yield f"{name}: {error!r} does not survive pickle"


def _of_changes(run: Record, name: str) -> Iterator[str]:
    """Compare what happened with what callers were told."""
    calls = [call for call in run.calls if call.operation == name]
    told = Counter(call.error is None for call in calls)[True]
    yield from _between(name, _happened(run, name), told, sum(call.in_doubt for call in calls))


def _of_launches(run: Record, name: str) -> Iterator[str]:
    """Compare the paid launches with the jobs that callers got; several may have got the same one."""
    calls = [call for call in run.calls if call.operation == name]
    # A generation that waits for its decision is handed out again as a new object.
    jobs = {call.result.id if name == "generate_content" else id(call.result) for call in calls if call.error is None}
    doubts = sum(call.in_doubt for call in calls)
    if name == "analyze_keyword":
        for fan in (call for call in run.calls if call.operation == "map"):
            jobs |= {id(outcome.job) for outcome in fan.taken if outcome.job is not None}
            doubts += sum(isinstance(outcome.error, errors.LaunchUnknownError) for outcome in fan.taken)
            # A caller that leaves a fan-out has not seen all of its outcomes.
            doubts += 0 if fan.error is None else fan.width - len(fan.taken)
    yield from _between(name, _happened(run, name), len(jobs), doubts)


def _of_decisions(run: Record, name: str, wish: str) -> Iterator[str]:
    """Compare decisions on reviews, by a function or by hand, with what happened."""
    waits = [call for call in run.calls if call.operation == "wait generation"]
    reviews = {id(call.result): call.result for call in waits if call.error is None}
    callers = Counter(review.content_id for review in reviews.values())
    for review in reviews.values():
        if review.decision == "elsewhere" and callers[review.content_id] == 1:
            yield f"{review!r}: no other client decides"
    told = sum(review.decision == wish for review in reviews.values())
    doubts = sum(call.error is not None for call in run.calls if call.operation in (name, "wait generation"))
    yield from _between(name, _happened(run, name), told, doubts)


def _of_job(run: Record, where: str, target: str | None, error: Any) -> Iterator[str]:
    outcomes = {job.outcome for job in run.box.jobs if job.target_id == target and job.done}
    if error is None:
        if "success" not in outcomes:
            yield f"{where} of {target}: a false success"
    elif not _justified(run, where, outcomes, error):
        yield f"{where} of {target}: {error!r}, and the service says {sorted(outcomes)}"


def _justified(run: Record, where: str, outcomes: set[str], error: Any) -> bool:
    struck = run.weather.faults_struck
    match error:
        case errors.JobFailedError():
            return "failed" in outcomes
        case errors.JobSupersededError():
            return "superseded" in struck
        case errors.JobVanishedError():
            return struck.get("404", 0) >= 3
        case errors.UnknownJobStateError():
            # An analysis has no identifier: one that failed, or whose time another clock has told, looks like the one
            # before it.
            return "failed" in outcomes or "clock step" in struck or run.odd_clocks
        case errors.JobError():
            return False
        case errors.UnauthorizedError() | errors.ClientClosedError() | asyncio.CancelledError():
            return True
        case _:
            # The function that decides on a review, once the article was there, may fail like any call.
            return where == "wait generation" and "success" in outcomes


def _happened(run: Record, name: str) -> int:
    return sum(entry.effect for entry in run.box.ledger if entry.operation == name)


def _between(name: str, happened: int, told: int, doubts: int) -> Iterator[str]:
    if not told <= happened <= told + doubts:
        yield f"{name}: {happened} happened, {told} were told, {doubts} were in doubt"
