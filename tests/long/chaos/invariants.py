"""What must hold after every run, whatever the weather was: read off the sandbox's ledger and off what callers heard.

1. Every call ended in time, with a result or a documented error, which survives `pickle` and does not show the key.
2. What was called done is done, once; what was called refused did not happen; only what is reported as unknown may be
   either. Nothing happened more often than that.
3. A job that succeeded has succeeded at the service since its launch, a failed one has failed there, and every other
   end has a reason. A result is that of this job, and it is complete or says that it is not. Each wait ends within a
   bounded time after the job, and an error of a job has a token with which the wait can go on.
4. Nothing is left: no call, permit, waiter, poll or task, and no unhandled error.
"""

from __future__ import annotations

import asyncio
import pickle
from collections import Counter
from collections.abc import Iterator
from typing import Any

import cmsapi
from cmsapi import errors
from cmsapi.api.operations import OPERATIONS, Replay
from cmsapi.jobs.token import read_token
from cmsapi.sandbox import Job
from cmsapi.sandbox.faults.spoiling import NAMES
from tests.long.chaos.record import Call, Record

LAUNCHES = {name for name, row in OPERATIONS.items() if row.replay is Replay.COSTS_CREDIT}
DECISIONS = {"confirm_generation": "confirm", "cancel_generation": "cancel"}
# Seconds after which a wait that learns nothing has ended; doubt about an analysis lasts half an hour.
LONGEST_DOUBT = 2400.0
_MILLISECOND = 0.0011
_SPOILED = NAMES - {"null status", "unknown status", "superseded"}
CHANGES = {name for name, row in OPERATIONS.items() if row.replay is not Replay.SAFE}


def violations(run: Record) -> Iterator[str]:
    """Name what does not hold of a run."""
    for call in run.calls:
        yield from _of_call(call, run)
        if call.job is not None:
            yield from _of_job(run, call.operation, call.job, call.error, call.result)
            yield from _of_wait(run, call)
        for outcome in call.taken:
            if outcome.job is not None:
                yield from _of_job(run, "map", outcome.job, outcome.error, outcome.value if outcome.ok else None)
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
    elif isinstance(error, errors.DecodeError) and not _SPOILED & set(run.weather.faults_struck):
        yield f"{name} could not read an answer that was not spoiled: {error!r}"
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


def _of_job(run: Record, where: str, job: Any, error: Any, result: Any) -> Iterator[str]:
    """Compare the end of a job with the ends at the service since it was launched."""
    truth = _truth(run, job)
    outcomes = {each.outcome for each in truth}
    if error is None:
        if "success" not in outcomes:
            yield f"{where} of {job.target}: a false success"
        else:
            yield from (f"{where} of {job.target}: {wrong}" for wrong in _of_result(job, truth, result))
        return
    if not _justified(run, where, outcomes, error):
        yield f"{where} of {job.target}: {error!r}, and the service says {sorted(outcomes)}"
    if isinstance(error, errors.JobError):
        yield from (f"{where} of {job.target}: {wrong}" for wrong in _of_token(run, job, error))


def _truth(run: Record, job: Any) -> list[Job]:
    """Return what has ended at the service since a job was launched, or was launched without an answer and found."""
    given_at, launches = [], []
    for call in run.calls:
        given = [outcome.job for outcome in call.taken] if call.taken else [call.result] if call.job is None else []
        if any(_same(each, job) for each in given):
            given_at.append(call.began)
        if any(isinstance(each, cmsapi.Job) and each.target == job.target for each in given):
            launches.append((call.began, call.ended or float("inf")))
    # Of a job that is watched all ends are its own.
    since = min(given_at, default=float("-inf"))
    return [
        each
        for each in run.box.jobs
        if each.target_id == job.target
        and each.done
        and (each.ends_at >= since or not any(began <= each.launched_at <= ended for began, ended in launches))
    ]


def _same(one: Any, other: Any) -> bool:
    # A generation that waits for its decision is handed out again as a new object.
    return one is other or (
        isinstance(one, cmsapi.Job) and (one.kind, one.id) == ("generation", other.id) and one.target == other.target
    )


def _of_result(job: Any, truth: list[Job], result: Any) -> Iterator[str]:
    """Name what is wrong with the result of a job that has succeeded."""
    match result:
        case cmsapi.Keyword() | cmsapi.Prompt():
            at = result.last_analyzed_at
            stamps = [each.stamp for each in truth if each.stamp is not None]
            if at is None or not any(abs(at.timestamp() - stamp) < _MILLISECOND for stamp in stamps):
                yield f"the result is of {at}, and this analysis ended at {stamps}"
        case cmsapi.ContentIdeas():
            told, got = result.search.nb_content_ideas, len(result)
            if result.search.id != job.target:
                yield f"the result is of the search {result.search.id}"
            if got < (told or 0) and result.complete:
                yield f"{got} of {told} ideas, and the result does not say so"
        case cmsapi.GenerationReview():
            if result.generation.id != job.id:
                yield f"the result is of the generation {result.generation.id}, not {job.id}"


def _of_token(run: Record, job: Any, error: errors.JobError) -> Iterator[str]:
    """Name what is wrong with the token of an error: it has to lead to the job again."""
    try:
        kind, target, _ = read_token(error.token, run.weather.base_url)
    except errors.ArgumentError as wrong:
        yield f"the token of {error!r} is no token: {wrong}"
    else:
        if (kind.name, target) != (job.kind, job.target):
            yield f"the token of {error!r} is of {kind.name} {target}"


def _of_wait(run: Record, call: Call) -> Iterator[str]:
    """Name a wait that goes on long after the job, the storm and the last doubt are over."""
    assert call.job is not None
    ends = [each.ends_at for each in run.box.jobs if each.target_id == call.job.target]
    storm = min(each.began for each in run.calls) + run.lasts
    late = (call.ended or float("inf")) - max([call.began, storm, *ends])
    if late > LONGEST_DOUBT:
        yield f"{call.operation} of {call.target} ended {late:,.0f} s after the job: {call.error!r}"


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
            odd = run.habits.odd_clocks or run.habits.unlisted_words
            return "failed" in outcomes or "clock step" in struck or odd
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
