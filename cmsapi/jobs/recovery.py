"""Recovery of recorded launches: find their jobs from any process, and settle what dead processes left behind."""

from __future__ import annotations

import asyncio
import contextlib
import zlib
from typing import Any

from attrs import evolve, frozen

from cmsapi.config import MARGIN, PollPolicy
from cmsapi.errors import (
    CMSError,
    DecodeError,
    JobFailedError,
    LaunchUnknownError,
    NotFoundError,
    ServerError,
    TransportError,
)
from cmsapi.jobs.kinds import JobKind, Kind, LaunchContext, service_time
from cmsapi.jobs.poller import LOOK, Poller, poller_of
from cmsapi.jobs.review import GenerationReview, OnReview, decision_of
from cmsapi.jobs.token import Token
from cmsapi.jobs.tracked import Tracked
from cmsapi.jobs.words import Phase
from cmsapi.limits.limiter import Priority
from cmsapi.state.store import JobStatus, Row
from cmsapi.transport.pipeline import Pipeline
from cmsapi.wire.converter import parse


@frozen
class Recovery:
    """Recovery of recorded launches for one client: finds their jobs, and settles launches of dead processes."""

    pipeline: Pipeline
    kinds: dict[JobKind, Kind]
    polling: PollPolicy

    @property
    def poller(self) -> Poller:
        """Poller of the client's account; the first use creates it."""
        return poller_of(self.pipeline.account(), self.polling)

    async def join(self, row: Row, on_review: OnReview | None = None) -> Tracked | None:
        """Return a launch's job; None if the row is gone or a poll finds the job ended. Raise for unknown launches."""
        if row.status is JobStatus.SENDING:
            return await self._settle(row, on_review)
        job = self.recall(row)
        on_review, job.on_review = job.on_review or on_review, None  # the decision is made below, for the caller
        if row.open and not job.watchers and job.phase is Phase.RUNNING:
            with contextlib.suppress(ServerError, TransportError, NotFoundError, DecodeError):
                await self.poller.poll(job)
            if job.phase in (Phase.SUCCEEDED, Phase.FAILED):
                return None
        if job.phase is Phase.REVIEW and on_review is not None:
            await job.value.ask(on_review)
        job.on_review = on_review
        return job

    def recall(self, row: Row, on_review: OnReview | None = None) -> Tracked:
        """Return a launch's job, with any stored result or error; raise `LaunchUnknownError` for an unknown launch."""
        if row.status is JobStatus.UNKNOWN:
            raise unknown(row)
        token = evolve(Token.parse(row.token or ""), launch=row.id)
        kind = self.kinds[token.kind]
        if row.status is not JobStatus.FAILED and row.result is None:
            job = self.poller.trace(kind, token, self.pipeline)
            job.launched = job.polled = min(job.launched, asyncio.get_running_loop().time() - row.age)
            job.token, job.on_review = token, job.on_review or on_review
            return job
        job = Tracked(kind, token, (self.pipeline,))
        if row.result is None:
            job.settle(Phase.FAILED, None, JobFailedError(str(row.error), token=row.token))
            return job
        value = kind.unpack(parse(zlib.decompress(row.result)))
        if kind.name is JobKind.GENERATION:
            decision = decision_of(row.decision, value.status)
            value = GenerationReview(self.pipeline, self.poller.store, None, token.id, value, decision)
        job.settle(Phase.SUCCEEDED, value, None)
        return job

    async def _settle(self, row: Row, on_review: OnReview | None) -> Tracked | None:
        """Wait until another process settles its launch, or settle it after the deadline. Return the job, if any."""
        store, seconds = self.poller.store, self.pipeline.timeouts.request + MARGIN
        there: Row | None = row
        while there is not None and there.status is JobStatus.SENDING:
            if there.remaining > 0:
                await asyncio.sleep(min(LOOK, there.remaining))
            elif await store.update(there, seconds, attempt=there.attempt + 1):
                mine = evolve(there, attempt=there.attempt + 1)
                return await self.resolve(mine, asyncio.get_running_loop().time() - mine.age, on_review=on_review)
            there = await store.get(row.id)
        return None if there is None else self.recall(there, on_review)

    async def resolve(
        self, row: Row, began: float, cause: Exception | None = None, on_review: OnReview | None = None
    ) -> Tracked:
        """Return the job if its document or row shows an accepted launch; else mark the launch unknown, and raise."""
        try:
            tracked = await self.look(row, began, on_review)
        except CMSError as error:
            cause, tracked = cause or error, None
        if tracked is not None:
            return tracked
        kind = self.kinds[JobKind(row.kind)]
        path = self.pipeline.operations[kind.poll].fill((Token.parse(row.token or "").id,))
        where = f"{path} does not show it" if kind.exclusive else "see the application, or credit_usages"
        spent = ", and a credit spent" if kind.credit else ""
        problem = f"{row.kind} of {row.name}: the launch may have been accepted{spent}; it was not confirmed "
        problem += f"(attempt {row.attempt}), and {where}. Look there before you launch again"
        self.poller.balance.changed(accepted=False)
        if not await self.poller.store.update(row, status=JobStatus.UNKNOWN, error=problem):
            there = await self.poller.store.get(row.id)  # another process has settled it in the meantime
            if there is not None and there.status in (JobStatus.RUNNING, JobStatus.REVIEW):
                return self.recall(there, on_review)
        raise unknown(evolve(row, error=problem)) from cause

    async def look(self, row: Row, began: float, on_review: OnReview | None = None) -> Tracked | None:
        """Record and return the job if its document shows the launch, else return None; raise if the read fails."""
        token = evolve(Token.parse(row.token or ""), launch=row.id)
        kind, loop = self.kinds[token.kind], asyncio.get_running_loop()
        if not kind.exclusive:
            return None
        try:
            document: Any = await self.pipeline.call(kind.poll, kind.shape, token.id, priority=Priority.RESULT)
        except NotFoundError:  # a content item without a generation
            return None
        at = service_time(document.response, began)
        context = LaunchContext(at, loop.time() - began, before=token.before)
        if not kind.shows(document, context):
            return None
        token = evolve(token, own=document.id if kind.name is JobKind.GENERATION else None, at=at)
        return await self.poller.adopt(row, kind, token, began, self.pipeline, on_review)


def unknown(row: Row) -> LaunchUnknownError:
    """Return the error for the launch in ``row``, which may or may not have been accepted."""
    return LaunchUnknownError(str(row.error), target=row.name, attempts=row.attempt, token=row.token)
