"""Tools that wait for jobs and decide on articles. Their docstrings are what an assistant reads."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Annotated, Any, TypeAlias

import attrs

import cmsapi
from cmsapi.extras import needs
from cmsapi.mcp.answers import Article, ContentLine, Decided, JobLine, Waited
from cmsapi.mcp.launches import Launches
from cmsapi.mcp.reading import ContentId, Id

with needs("mcp"):
    from mcp.server.mcpserver import Context
    from mcp.server.mcpserver.exceptions import ToolError
    from pydantic import Field

# Seconds between two notifications of progress.
_INTERVAL = 5.0
GenerationId: TypeAlias = Annotated[Id, Field(description="`generation_id` of the article that the person has seen.")]


@attrs.frozen(eq=False)
class WaitingTools:
    """Hold the tools that wait for jobs and decide on articles.

    Args:
        client: Polls and decides.
        launches: Know the jobs of this server.
    """

    client: cmsapi.Client
    launches: Launches
    # Tokens of the finished jobs that an answer has reported.
    _reported: set[str] = attrs.field(factory=set, init=False)

    async def wait_for_jobs(
        self,
        context: Context[Any, Any],
        tokens: Annotated[
            list[str] | None,
            Field(
                max_length=500, description="Tokens of jobs. Leave it out for all jobs of this server without a result."
            ),
        ] = None,
        seconds: Annotated[
            float, Field(ge=0, le=300, description="Longest wait; 0 asks once. The client may allow less.")
        ] = 30,
    ) -> Waited:
        """Wait until jobs end, or the time is over, and give their results. No credit; one request a poll.

        Jobs go on when the wait ends. Call it again with `unfinished_tokens` until none is left. Waiting in one call is
        cheaper than asking often.
        """
        own = self.launches.jobs
        if tokens is None:
            jobs = [job for token, job in own.items() if token not in self._reported]
        else:
            jobs = [own.get(token) or self.client.jobs.attach(token) for token in tokens]
        if not jobs:
            then = "This server has no jobs without a result; list_jobs shows those of other programs."
            return Waited(jobs=[], unfinished_tokens=[], next=then)
        problems = await self._wait(jobs, seconds, context)
        lines = [JobLine.of(job, problems.get(job)) for job in jobs]
        unfinished = [line.token for line in lines if not line.done]
        self._reported.update(line.token for line in lines if line.done)
        return Waited(jobs=lines, unfinished_tokens=unfinished, next=self._next(lines, unfinished))

    async def _wait(
        self, jobs: list[cmsapi.Job[Any]], seconds: float, context: Context[Any, Any]
    ) -> dict[cmsapi.Job[Any], BaseException]:
        """Wait for jobs, and return why some of them could not be waited for."""
        loop = asyncio.get_running_loop()
        began, count = loop.time(), len(jobs)
        waits = {asyncio.create_task(_ended(job, seconds)): job for job in jobs}
        pending = set(waits)
        try:
            while pending:
                # With no time left, each job is polled once.
                left = began + seconds - loop.time()
                if seconds and left <= 0:
                    break
                _, pending = await asyncio.wait(
                    pending, timeout=min(_INTERVAL, left) if seconds else None, return_when=asyncio.FIRST_COMPLETED
                )
                done = count - len(pending)
                # Each progress must be more than the one before, so that it has the part of the time that has passed.
                passed = (loop.time() - began) / (seconds + 1) if pending else 0.0
                await context.report_progress(done + passed, count, f"{done} of {count} jobs finished")
        finally:
            for task in pending:
                task.cancel()
        return {
            waits[task]: error
            for task in waits.keys() - pending
            if not waits[task].done() and (error := task.result()) is not None
        }

    def _next(self, lines: list[JobLine], unfinished: list[str]) -> str:
        advice = []
        if unfinished:
            advice.append(f"{len(unfinished)} still run: call wait_for_jobs with `unfinished_tokens`.")
        if any(line.article is not None and line.article.decision is None for line in lines):
            if self.launches.bound.max_credits:
                advice.append("Ask the person about each article, then call confirm_article or cancel_article.")
            else:
                advice.append("The person decides on articles, for example with `cmsapi jobs reviews`.")
        if any(line.problem is not None for line in lines):
            advice.append("A job without a result is not launched again by itself: ask the person.")
        return " ".join(advice) or "All jobs have ended."

    async def confirm_article(self, content_id: ContentId, generation_id: GenerationId) -> Decided:
        """Apply a generated article: it REPLACES the title and the body of the draft. No credit; six requests at most.

        Only when the person has agreed. The answer has the earlier text, so that it can be restored, for example with
        `cmsapi contents edit`. The same call again changes nothing.
        """
        review = await self._review(content_id, generation_id)
        before = await self.client.contents.get(content_id)
        already = review.phase is cmsapi.Phase.SUCCEEDED
        content = await review.confirm()
        return Decided(
            article=Article.model_validate(review),
            content=ContentLine.model_validate(content),
            previous_title=None if already else before.title,
            previous_html=None if already else before.html,
        )

    async def cancel_article(self, content_id: ContentId, generation_id: GenerationId) -> Decided:
        """Discard a generated article that was paid for; the draft stays as it is. The credit is NOT given back.

        Only when the person has agreed. No credit; four requests at most. The same call again changes nothing.
        """
        review = await self._review(content_id, generation_id)
        await review.cancel()
        return Decided(article=Article.model_validate(review), content=None, previous_title=None, previous_html=None)

    async def _review(self, content_id: str, generation_id: str) -> cmsapi.GenerationReview:
        """Return the review of a generation, and refuse to decide on another one than the person has seen."""
        review = await self._find(content_id)
        newest = Article.model_validate(review).generation_id
        if newest != generation_id:
            raise ToolError(
                f"The newest generation of this content is {newest}, not {generation_id}. Nothing was "
                "decided, and no credit was spent. Show the person the newest one, and decide on it."
            )
        return review

    async def _find(self, content_id: str) -> cmsapi.GenerationReview:
        """Return the review of the job that the state remembers, so that the decision is written down there."""
        for entry in await self.client.jobs.journal():
            if entry.kind == cmsapi.JobKind.GENERATION and entry.target == content_id and entry.token is not None:
                with contextlib.suppress(cmsapi.JobError):
                    job = self.client.jobs.attach(entry.token)
                    review = job.result() if job.done() else await job.wait(timeout=10)
                    if isinstance(review, cmsapi.GenerationReview):
                        return review
        return await self.client.contents.review(content_id)


async def _ended(job: cmsapi.Job[Any], seconds: float) -> Exception | None:
    """Wait `seconds` for the end of a job, or with 0 poll it once; return what prevented that."""
    try:
        await (job.wait(seconds) if seconds else job.refresh())
    except cmsapi.JobWaitTimeoutError:
        return None
    except cmsapi.CMSError as error:
        return error
    except Exception as error:  # a hook or a transport of the client
        return error
    return None
