"""The controls of a service, with which a test inspects and changes it beside the requests of clients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from cmsapi.sandbox.domain import contents, generations
from cmsapi.sandbox.service.job_kinds import check_kinds
from cmsapi.sandbox.world.jobs import FAILED, SUCCESS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cmsapi.sandbox.faults.injector import FaultInjector
    from cmsapi.sandbox.faults.rules import Fault
    from cmsapi.sandbox.service.ledger import Ledger
    from cmsapi.sandbox.service.service import Service, Statistics
    from cmsapi.sandbox.world.jobs import Job
    from cmsapi.sandbox.world.records import Content


class Controls:
    """Inspect and change a service.

    Args:
        service: The service.
        injector: The faults on the way to it.
        colleague_id: The user in whose name a colleague acts.
    """

    def __init__(self, service: Service, injector: FaultInjector, colleague_id: str) -> None:
        self._service = service
        self._world = service.world
        self._injector = injector
        self._colleague_id = colleague_id

    @property
    def ledger(self) -> Ledger:
        """Every request that has arrived, in order of arrival."""
        return self._service.ledger

    @property
    def statistics(self) -> Statistics:
        """A snapshot of the counters of requests."""
        return self._service.statistics

    @property
    def faults_struck(self) -> Mapping[str, int]:
        """How many faults have struck, by kind."""
        return dict(self._injector.struck)

    @property
    def jobs(self) -> tuple[Job, ...]:
        """Every job launched, in order of launch: the truth behind the words that clients poll."""
        return tuple(self._world.jobs.all)

    def durations_of(self, kind: str) -> list[float]:
        """Return the durations of the jobs of a kind in seconds, in order of their launches.

        Raises:
            ValueError: The kind does not exist.
        """
        check_kinds(self._service.job_kinds, {kind: None})
        return [job.duration for job in self._world.jobs.all if job.kind == kind]

    def now(self) -> float:
        """Return the present moment of the service, in epoch seconds."""
        return self._world.now

    def finish(self, target_id: str, outcome: Literal["success", "failed", "review"] = "success") -> None:
        """End the running job of a target now.

        Args:
            target_id: Keyword, prompt, search, content or knowledge document.
            outcome: `failed`, or `success`, which for a generation is the same as `review`.

        Raises:
            LookupError: No job runs on the target.
        """
        at = self._complete_due_jobs()
        ended = FAILED if outcome == FAILED else SUCCESS
        self._service.complete_job(self._world.jobs.end_now(target_id, ended, at))

    def pause(self, seconds: float) -> None:
        """Let no job make progress from now on for some seconds; the service answers all the same.

        The running jobs end later by the pause, and those launched during it begin after it.

        Raises:
            ValueError: The number of seconds is negative.
        """
        if seconds < 0:
            raise ValueError(f"`seconds` must be 0 or more, got {seconds:g}")
        self._world.jobs.pause(self._complete_due_jobs(), seconds)

    def set_outcome(
        self, target_id: str, outcome: Literal["success", "failed"] | None, *, times: int | None = None
    ) -> None:
        """Fix the outcome of the jobs launched on a target from now on; None leaves it to chance again.

        Args:
            target_id: Keyword, prompt, search, content or knowledge document.
            outcome: How they end.
            times: How many of them; then chance decides again. None for all.

        Raises:
            ValueError: The outcome does not exist, or `times` is below 1.
        """
        if outcome not in (SUCCESS, FAILED, None):
            raise ValueError(f"`outcome` must be 'success', 'failed' or None, got {outcome!r}")
        if times is not None and times < 1:
            raise ValueError(f"`times` must be at least 1, or None for all jobs, got {times}")
        self._world.jobs.fix_outcome(target_id, outcome, times)

    def set_status_word(self, target_id: str, word: str | None) -> None:
        """Show a word, or null, instead of the true status of a target."""
        self._world.status_words[target_id] = word

    def clear_status_word(self, target_id: str) -> None:
        """Show the true status of a target again."""
        self._world.status_words.pop(target_id, None)

    def set_credits(
        self,
        *,
        analysis: int | None = None,
        ai_writing: int | None = None,
        content_ideas_searches: int | None = None,
    ) -> None:
        """Set some of the balances."""
        balances = self._world.bookkeeper.balances
        if analysis is not None:
            balances.analysis = analysis
        if ai_writing is not None:
            balances.ai_writing = ai_writing
        if content_ideas_searches is not None:
            balances.content_ideas_searches = content_ideas_searches

    def add_fault(self, fault: Fault) -> None:
        """Add a fault that strikes from now on, before the existing ones."""
        self._injector.add(fault)

    def clear_faults(self) -> None:
        """Remove all faults; latency and steps of the clock stay."""
        self._injector.clear()

    def revoke(self, api_key: str) -> None:
        """Revoke an API key: its requests are answered with 401 from now on."""
        self._service.keys[api_key].revoked = True

    def restore(self, api_key: str) -> None:
        """Make a revoked API key valid again."""
        self._service.keys[api_key].revoked = False

    def step_clock(self, seconds: float) -> None:
        """Set the service's clock forward, or back by negative seconds; intervals stay as they are."""
        self._world.clock.step(seconds)

    def forget(self, target_id: str) -> None:
        """Answer requests for a resource with 404 from now on."""
        self._world.forgotten.add(target_id)

    def remember(self, target_id: str) -> None:
        """Show a forgotten resource again."""
        self._world.forgotten.discard(target_id)

    def supersede_generation(self, content_id: str) -> str:
        """Discard the current generation and launch another, as a colleague; return the identifier of the new one."""
        content = self._content(content_id)
        self._world.history.keep(content)
        self._world.drop_job(content.id)
        content.generation = None
        colleague = self._world.store.users[self._colleague_id]
        return generations.launch(self._world, content, colleague, {}).id

    def confirm_elsewhere(self, content_id: str) -> None:
        """Confirm the generation in review, as a colleague."""
        generations.confirm(self._world, self._content(content_id), self._colleague_id)

    def cancel_elsewhere(self, content_id: str) -> None:
        """Cancel the generation in review, as a colleague."""
        generations.cancel(self._world, self._content(content_id))

    def touch_content(self, content_id: str, **fields: Any) -> int:
        """Edit a content as a colleague.

        Args:
            content_id: The content.
            fields: New values, by the names of a request body.

        Returns:
            The new `version`.
        """
        content = self._content(content_id)
        contents.apply_changes(self._world, content, fields, self._colleague_id)
        return content.version

    def _content(self, content_id: str) -> Content:
        self._complete_due_jobs()
        return self._world.store.contents[content_id]

    def _complete_due_jobs(self) -> float:
        at = self._world.clock.seconds()
        self._service.complete_due_jobs(at)
        return at
