"""Launch paid work, at most once.

A launch costs a credit and there is no idempotency key, so it is written down before it is sent (`intent`), and never
repeated while it may have happened (`sender`).

Launches for the same target join: while one is being sent, a second one waits for its answer; while the job runs, or
its article waits for a decision, it is returned instead of being paid again. The running launches of other processes
are joined, too, and the orphans of dead processes are reconciled.

A launch belongs to the client and not to its caller: once its bytes may have left, cancelling the caller does not lose
the job that may be paid for. Before that, a launch without callers is called back.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from cmsapi.api.arguments import function
from cmsapi.config import LaunchPolicy
from cmsapi.errors import CMSError, LaunchUnknownError, OutOfCreditsError, StateError
from cmsapi.jobs.job import Job, job_of
from cmsapi.jobs.kinds.review import ReviewHook
from cmsapi.jobs.launching.credits import is_free
from cmsapi.jobs.launching.intent import IntentLog
from cmsapi.jobs.launching.pending import TRACES, PendingLaunch, PendingLaunches, without_fan_out
from cmsapi.jobs.launching.reconcile import Reconciler
from cmsapi.jobs.launching.request import LaunchRequest, already_running
from cmsapi.jobs.launching.sender import Sender
from cmsapi.jobs.polling.poller import Poller
from cmsapi.jobs.polling.tasks import result_of
from cmsapi.jobs.tracked import Record, TrackedJob
from cmsapi.transport.caller import OperationCaller

logger: logging.Logger = logging.getLogger("cmsapi")


class Launcher:
    """Launch jobs of one client.

    Args:
        caller: Calls the operations.
        poller: Polls what was launched.
        policy: What to do when the same work is under way.
        pending: The launches that are being sent; shared by clients that must not pay twice for the same work.
    """

    def __init__(self, caller: OperationCaller, poller: Poller, policy: LaunchPolicy, pending: PendingLaunches) -> None:
        self._caller = caller
        self.poller: Poller = poller
        self._policy = policy
        self._pending = pending
        self._journal = journal = poller.journal
        self.reconciler: Reconciler = Reconciler(caller, journal)
        self._intent_log = IntentLog(journal, poller, policy, self.reconciler)
        self._sender = Sender(caller, journal, poller, policy, self.reconciler)

    async def launch(self, request: LaunchRequest, on_review: ReviewHook | None = None) -> Job[Any]:
        """Launch a job, or join the one that is under way.

        Raises:
            ArgumentError: `on_review` is not a function; nothing was sent.
            LaunchUnknownError: It was sent, and it could not be found out whether it happened.
            StateError: It could not be written down; nothing was sent.
            LeaseLostError: This process stood still, and another one has taken the launch over; nothing was sent.
            OutOfCreditsError: The credits that the policy allows are spent; nothing was sent.
            JobError: The policy forbids a second launch, or it has other settings than the one under way.
            APIError: The service refused it; nothing was charged.
            NotSentError: Nothing was sent.
        """
        if on_review is not None:
            function("on_review", on_review)
        found = await self._join(request) if request.kind.joins and self._policy.dedupe != "allow" else None
        job = await self._answer(self._send(request)) if found is None else found
        handle = job_of(job, self.poller)
        if on_review is not None and job.adopted:
            logger.warning("%r may be a colleague's, so that on_review does not decide on it", job)
        elif on_review is not None:
            # What the hook launches is no part of the batch or the fan-out for which this was launched.
            without_fan_out().run(self.poller.decide_with, job, on_review)
        return handle

    async def _join(self, request: LaunchRequest) -> TrackedJob | None:
        """Find the job that this launch would repeat.

        After each wait the search starts again, because others may have launched meanwhile.
        """
        registry = self.poller.registry
        while True:
            if (pending := self._pending.get(request.key)) is not None:
                self._check_same(request, pending.request.body)
                try:
                    return await self._answer(pending)
                except CMSError as error:
                    if pending.sender is self or _is_given_up(error):
                        raise
                    # It may have ended because of the settings of its client: those of this one reconcile it.
                    continue
            job = registry.get(request.key)
            if job is None:
                return None
            self.poller.join(job)
            # Without subscribers it may have ended, and an ended one is not what a new launch asks for.
            if not job.subscribed and not await self._goes_on(job):
                registry.ended_elsewhere(job)
            elif registry.get(request.key) is job:
                self._check_same(request, job.history.settings, job)
                return registry.reopen(job, self.poller.poll_settings) if job.closed else job

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
            return await job.kind.read_review(self._caller, job.target, job.id) is not None
        return not job.closed or job.undecided

    def _check_same(
        self, request: LaunchRequest, settings: Mapping[str, Any] | None, job: TrackedJob | None = None
    ) -> None:
        same = request.body == settings
        if self._policy.dedupe == "error" or not same:
            problem = "" if same else " with other settings" if settings else " with settings not known to this client"
            raise already_running(request, problem, job=None if job is None else job_of(job, self.poller))

    def _send(self, request: LaunchRequest) -> PendingLaunch:
        """Begin to send a launch. No other task may run between the search for one to join and this."""
        pending = PendingLaunch(request, self)
        pending.task = self.poller.tasks.start(self._run(pending))
        if (traces := TRACES.get()) is not None:
            traces.append(pending)
        if request.kind.joins:
            self._pending.add(pending)
            pending.task.add_done_callback(lambda _: self._pending.remove(pending))
        return pending

    async def _answer(self, pending: PendingLaunch) -> TrackedJob:
        pending.callers += 1
        try:
            return await result_of(pending.task)
        except CMSError as error:
            raise error.fresh() from error.__cause__
        except asyncio.CancelledError:
            if pending.callers == 1 and not pending.in_flight:
                # From now on it is not joined and costs nothing, also before its task has heard of that.
                self._pending.remove(pending)
                self._pending.uncount(pending)
                pending.task.cancel()
            raise
        finally:
            pending.callers -= 1

    async def _run(self, pending: PendingLaunch) -> TrackedJob:
        """Write a launch down and send it, or find the job that runs in its place."""
        try:
            await self._journal.open(self.poller.poll_settings.read_user)
            begun = await self._intent_log.begin(pending.request)
            if isinstance(begun, TrackedJob):
                return begun
            with begun.in_work():
                try:
                    return await self._pay(pending, begun)
                finally:
                    if begun.held and not begun.bound:
                        # What may have happened is reconciled by the next launch of the same, or by `jobs.resume`.
                        self._journal.release_later(begun) if pending.in_flight else self._journal.delete_later(begun)
        except StateError as error:
            if not pending.in_flight:
                error.add_note("This launch was not sent, and nothing was charged for it.")
            raise

    async def _pay(self, pending: PendingLaunch, record: Record) -> TrackedJob:
        """Send it, unless that would cost more than the policy allows."""
        most, request = self._policy.max_credits, pending.request
        if most is not None and self._pending.paid >= most:
            raise OutOfCreditsError(
                f"The {most} credits that LaunchPolicy(max_credits=) allows this client are spent: the "
                f"{request.kind} of {request.target} was not sent, and nothing was charged for it. What is "
                "launched goes on."
            )
        self._pending.count(pending)
        try:
            return await self._sender.send(pending, record)
        except BaseException as error:
            if is_free(error) or not pending.in_flight:
                self._pending.uncount(pending)
            if isinstance(error, LaunchUnknownError) and not pending.callers:
                logger.error("no caller waits for this launch any more: %s", error)  # noqa: TRY400  no traceback tells more
            raise


def _is_given_up(error: CMSError) -> bool:
    """Tell whether a launch was given up as unknown."""
    return isinstance(error, LaunchUnknownError) and "open" not in error.evidence
