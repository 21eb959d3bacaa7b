"""Launch paid work, at most once.

A launch costs a credit and there is no idempotency key, so it is written down before it is sent (`intent`), and never
repeated while it may have happened (`sending`, `reconcile`).

Launches for the same target join: while one is being sent, a second one waits for its answer; while the job runs, or
its article waits for a decision, it is returned instead of being paid again. The running launches of other processes
are joined, too, and the orphans of dead processes are reconciled.

A launch belongs to the client and not to its caller: once its bytes may have left, cancelling the caller, or the end of
its deadline, does not lose the job that may be paid for. Before that, a launch without callers is called back.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from typing import Any

from cmsapi.api.arguments import function
from cmsapi.config import LaunchPolicy
from cmsapi.errors import APIError, ClientClosedError, CMSError, DeadlineError, JobError, LaunchUnknownError
from cmsapi.jobs.job import Job, job_of
from cmsapi.jobs.kinds.review import ReviewHook
from cmsapi.jobs.launching.books import Books
from cmsapi.jobs.launching.empty import is_about_credits, out_of_credits
from cmsapi.jobs.launching.pending import PURPOSE, PendingLaunch, PendingLaunches, WithdrawnError
from cmsapi.jobs.launching.reconcile import Reconciler
from cmsapi.jobs.launching.request import LaunchRequest
from cmsapi.jobs.launching.sending import Sender
from cmsapi.jobs.polling.poller import Poller
from cmsapi.jobs.tracked import JobKey, TrackedJob
from cmsapi.observability.job_events import LaunchFinished, LaunchStarted
from cmsapi.transport.requests import expand

logger: logging.Logger = logging.getLogger("cmsapi")


class Launcher:
    """Launch jobs of one client; clients that must not pay twice for the same work share their pending launches."""

    def __init__(self, poller: Poller, policy: LaunchPolicy, launches: PendingLaunches, books: Books) -> None:
        self.poller: Poller = poller
        self.reconciler: Reconciler = Reconciler(poller, policy, books)
        self._caller = poller.poll_settings.caller
        self._sender = Sender(poller, books, self.reconciler)
        self._policy = policy
        self._launches = launches

    async def launch(self, request: LaunchRequest, on_review: ReviewHook | None = None) -> Job[Any]:
        """Launch a job, or join the one that is under way.

        Raises:
            ArgumentError: An identifier is none, or `on_review` is not a function; nothing was sent.
            LaunchUnknownError: It was sent, and it could not be found out (in time) whether it happened.
            StateError: It could not be written down; nothing was sent.
            LeaseLostError: This process stood still, and another one has taken the launch over; nothing was sent.
            OutOfCreditsError: The credits that the policy allows are spent, and nothing was sent; or the service says
                that none are left.
            DeadlineError: The deadline is over; nothing was sent.
            JobError: The policy forbids a second launch, it has other settings than the one under way, or it was sent
                as often as the settings allow and certainly never happened.
            APIError: The service refused it; nothing was charged.
            NotSentError: Nothing was sent.
        """
        if on_review is not None:
            function("on_review", on_review)
        # What cannot be sent is refused before anything is read or recorded for it.
        expand(self._caller.operations[request.kind.launch_operation].path, request.path)
        hooks = self.poller.hooks
        try:
            job, _ = await (self._observed(request) if hooks.wants(LaunchFinished.level) else self._in_time(request))
        except APIError as error:
            if not is_about_credits(error):
                raise
            # A fan-out reads the balance once for all of its launches.
            settings = self.poller.poll_settings if PURPOSE.get() is None else None
            raise await out_of_credits(request, error, settings) from error
        handle = job_of(job, self.poller)
        if on_review is not None and job.adopted:
            logger.warning("%r may be a colleague's, so that on_review does not decide on it", job)
        elif on_review is not None:
            # What the hook launches is no part of the batch or the fan-out for which this was launched.
            context = contextvars.copy_context()
            context.run(PURPOSE.set, None)
            context.run(self.poller.decide_with, job, on_review)
        return handle

    async def _observed(self, request: LaunchRequest) -> tuple[TrackedJob, bool]:
        """Launch or join with an event at the start and the end."""
        hooks, loop = self.poller.hooks, asyncio.get_running_loop()
        kind, target, began = request.kind.name.value, request.target, loop.time()
        job: TrackedJob | None = None
        joined, error = False, None
        hooks(LaunchStarted(kind=kind, target=target))
        try:
            job, joined = await self._in_time(request)
        except BaseException as raised:
            error = type(raised).__name__
            raise
        else:
            return job, joined
        finally:
            job_id, duration = None if job is None else job.id, loop.time() - began
            hooks(LaunchFinished(kind=kind, target=target, id=job_id, joined=joined, duration=duration, error=error))

    async def _in_time(self, request: LaunchRequest) -> tuple[TrackedJob, bool]:
        """Launch or join before the deadline; return the job, and whether this call sent nothing for it."""
        pending: PendingLaunch | None = None
        job: TrackedJob | None = None
        joined = True
        deadline = asyncio.timeout(self._caller.pipeline.timeouts.deadline)
        try:
            async with deadline:
                while job is None:
                    found = await self._find(request)
                    if isinstance(found, TrackedJob):
                        job = found
                    else:
                        pending, mine = found, not found.callers
                        job = await self._answer(pending)
                        joined = not (mine and pending.attempts)
        except TimeoutError as error:
            if not deadline.expired():
                raise
            raise self._too_late(request, pending) from error
        return job, joined

    async def _find(self, request: LaunchRequest) -> PendingLaunch | TrackedJob:
        """Find the launch or the job that this launch would repeat, or begin to send it.

        After each wait the search starts again, because others may have launched meanwhile.
        """
        registry, digest, key = self.poller.registry, self.poller.journal.digest, (request.kind, request.target)
        settings = digest(request.body)
        while request.kind.joins and self._policy.dedupe != "allow":
            pending = self._launches.joinable.get(key)
            if pending is not None and not (pending.task.done() or pending.called_back):
                request.check_join(self._policy, settings=settings, theirs=digest(pending.request.body))
                return pending
            job = registry.jobs.get(key)
            if job is None:
                break
            self.poller.join(job)
            # Without subscribers it may have ended, and an ended one is not what a new launch asks for.
            if not job.has_subscribers and not await self._goes_on(job):
                registry.ended_elsewhere(job)
            elif registry.jobs.get(key) is job:
                theirs = None if job.record is None else job.record.entry.settings
                handle = job_of(job, self.poller)
                request.check_join(self._policy, settings=settings, theirs=theirs, job=handle)
                return registry.reopen(job, self.poller.poll_settings) if job.closed else job
        return self._send(request, key)

    async def _goes_on(self, job: TrackedJob) -> bool:
        if not job.closed:
            joined = job.poll is not None
            try:
                await self.poller.poll_now(job)
            except CMSError:
                if not joined:
                    raise
                # That poll may have been begun with another client's settings.
                await self.poller.poll_now(job)
        elif job.undecided:
            return job.record is None or not await job.kind.is_over(self._caller, job.record.entry)
        return not job.closed or job.undecided

    def _send(self, request: LaunchRequest, key: JobKey) -> PendingLaunch:
        """Begin to send a launch. No other task may run between the search for one to join and this."""
        pending = PendingLaunch(request, self.poller, self._policy, self._launches, PURPOSE.get())
        pending.task = self.poller.tasks.start(self._sender.run(pending))
        if pending.purpose is not None:
            pending.purpose.launches.append(pending)
        if request.kind.joins:
            self._launches.joinable[key] = pending
        return pending

    async def _answer(self, pending: PendingLaunch) -> TrackedJob | None:
        """Wait for a launch, and return its job; None when it has to be tried anew.

        That is so when another client has failed at it, or its fan-out has withdrawn it, once that wants it again.

        Raises:
            ClientClosedError: The client was closed before it was sent.
            JobError: Other code has cancelled it before it was sent.
            CMSError: Why there is no job.
        """
        pending.callers += 1
        try:
            await asyncio.wait([pending.task])
        except asyncio.CancelledError:
            if pending.callers == 1 and not pending.has_left:
                pending.call_back()
            raise
        finally:
            pending.callers -= 1
        if pending.task.cancelled():
            what = f"the {pending.request}"
            try:
                self._caller.open()
            except ClientClosedError:
                raise ClientClosedError(
                    f"The client was closed before {what} was sent; nothing was charged for it."
                ) from None
            raise JobError(f"The task of {what} was cancelled before it was sent; nothing was charged for it.")
        error = pending.task.exception()
        if isinstance(error, WithdrawnError):
            if (mine := PURPOSE.get()) is not None:
                await mine.wanted.wait()
            return None
        if not isinstance(error, CMSError):
            return pending.task.result()
        given_up = isinstance(error, LaunchUnknownError) and "open" not in error.evidence
        if pending.poller is self.poller or given_up:
            raise error.fresh()
        return None

    def _too_late(self, request: LaunchRequest, pending: PendingLaunch | None) -> CMSError:
        """Make the error of a launch whose deadline is over; what is in flight goes on without this caller."""
        said = f"not done within its deadline of {self._caller.pipeline.timeouts.deadline:g} s"
        if pending is not None and pending.in_flight:
            return self.reconciler.unknown(pending, said, stays=True)
        return DeadlineError(
            f"The {request} was {said}. Nothing was sent or charged for it by this call.",
            operation=request.kind.launch_operation,
            attempts=0,
            sent=False,
        )
