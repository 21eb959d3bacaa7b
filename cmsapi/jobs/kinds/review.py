"""A generated article that waits for a decision (specification 3 and 4.4).

Confirming applies the article to the draft, cancelling discards it. Both requests name only the content. So the
generation is read just before: a newer one may have taken its place, whose article this client has not seen. Neither
request has an idempotency key. So the generation is also read before each repeat of a request that may have taken
effect, and after a lost answer or a refusal: its status decides what is reported.

A service may show an older generation, or none, after it has shown the one in review (replicas, caches). What it shows
counts against the review only if it is newer and stays.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import ClassVar, Literal, NoReturn, TypeAlias

import anyio
import attrs

from cmsapi.api.arguments import function
from cmsapi.api.models.content import Content
from cmsapi.api.models.generation import Generation, GenerationStatus
from cmsapi.config import fold
from cmsapi.display import markup
from cmsapi.errors import (
    ArgumentError,
    CMSError,
    ConflictError,
    JobSupersededError,
    NotFoundError,
    ValidationError,
)
from cmsapi.jobs.kinds import words
from cmsapi.jobs.kinds.words import Words
from cmsapi.jobs.status import Phase
from cmsapi.transport.call import CallOptions
from cmsapi.transport.caller import OperationCaller
from cmsapi.unpicklable import Unpicklable

#: How a review was decided.
Decision: TypeAlias = Literal["confirm", "cancel", "leave", "elsewhere"]
#: What a hook may answer.
ReviewChoice: TypeAlias = Literal["confirm", "cancel", "leave"]
ReviewHook: TypeAlias = Callable[["GenerationReview"], ReviewChoice | Awaitable[ReviewChoice]]
_Action: TypeAlias = Literal["confirm", "cancel"]

#: The words for the state of a generation, by what they mean.
GENERATION_WORDS: Mapping[Phase, Words] = {
    Phase.RUNNING: words.RUNNING,
    Phase.REVIEW: words.IN_REVIEW,
    Phase.SUCCEEDED: (*words.APPLIED, *words.DISCARDED),
    Phase.FAILED: words.FAILED,
}

# Seconds between readings that show another generation, or none. A newer one that is there stays for the last three.
PAUSES = (1.0, 2.0, 4.0, 8.0)
_LASTING_READS = 3

_OPERATIONS = {"confirm": "confirm_generation", "cancel": "cancel_generation"}
_GOALS = {"confirm": GenerationStatus.APPLIED, "cancel": GenerationStatus.DISCARDED}


def differ(one: str | None, other: str | None) -> bool:
    """Tell whether two generations are certainly not the same; a service may not show their identifiers."""
    return None not in (one, other) and one != other


class GenerationReview(Unpicklable):
    """Hold a generation in review, and decide on it.

    Args:
        caller: Calls the operations.
        content_id: The content it was generated for.
        generation: The generation as it was last read.
        decision: The decision, or None before there is one; `"elsewhere"` when this review did not make it.
        before: Identifier of the generation that the content had before the launch, or None when it is not known. It is
            never a newer one.
        content: The content as it was read after `confirm()`, else None.
    """

    __slots__ = ("_before", "_caller", "_deciding", "content", "content_id", "decision", "generation", "on_decided")

    _instead: ClassVar[str] = "Pass its `content_id`, and read the review there again."
    content_id: str
    generation: Generation
    decision: Decision | None

    def __init__(
        self,
        caller: OperationCaller,
        content_id: str,
        generation: Generation,
        decision: Decision | None = None,
        *,
        before: str | None = None,
    ) -> None:
        self._caller = caller
        self._before = before
        self.content_id = content_id
        self.generation = generation
        self.decision = decision
        self.content: Content | None = None
        # Called with the decision.
        self.on_decided: Callable[[str], None] | None = None
        # One decision at a time: the effect of one must not appear to another as a decision made elsewhere.
        self._deciding = asyncio.Lock()

    def __repr__(self) -> str:
        return f"<GenerationReview of {self.content_id}: {self.generation.status}, decision {self.decision}>"

    @property
    def phase(self) -> Phase:
        """What the status of the generation means: `REVIEW` while it waits for its decision; sends nothing."""
        return words.phase_of(self.generation.status, "generation", GENERATION_WORDS.items(), self._caller.words)

    async def confirm(self) -> Content:
        """Apply the generated article to the draft; three requests, no credit.

        Returns:
            The content with the article.

        Raises:
            ConflictError: It was discarded, or is not in review.
            JobSupersededError: A newer generation has taken its place.
            OutcomeUnknownError: No answer came, and the generation does not tell what was decided.
            ServerError: The service failed, and the generation does not tell what was decided.
        """
        await self._decide("confirm")
        try:
            self.content = await self._caller.call(Content, "get_content", {"contentId": self.content_id})
        except CMSError as error:
            error.add_note("The article was applied; only reading the content afterwards failed.")
            raise
        return self.content

    async def cancel(self) -> None:
        """Discard the generated article; two requests, no credit.

        Raises:
            ConflictError: It was applied, or is not in review.
            JobSupersededError: A newer generation has taken its place.
            OutcomeUnknownError: No answer came, and the generation does not tell what was decided.
            ServerError: The service failed, and the generation does not tell what was decided.
        """
        await self._decide("cancel")

    async def follow(self, hook: ReviewHook) -> None:
        """Call a hook and carry out its answer; a decision made elsewhere meanwhile shows in `decision`.

        Raises:
            ArgumentError: `hook` is no function, or returned no valid answer; the generation stays in review.
        """
        function("hook", hook)
        choice = hook(self)
        if inspect.isawaitable(choice):
            choice = await choice
        try:
            if choice == "confirm":
                await self.confirm()
            elif choice == "cancel":
                await self.cancel()
            elif choice == "leave":
                self.decision = self.decision or "leave"
            else:
                raise ArgumentError(
                    f"`on_review` must return 'confirm', 'cancel' or 'leave', got {choice!r}. The generation stays in "
                    "review.",
                    parameter="on_review",
                )
        except (ConflictError, ValidationError):
            if self.decision != "elsewhere":
                raise

    async def _decide(self, action: _Action) -> None:
        async with self._deciding:
            if self.decision != action:
                await self._carry_out(action)

    async def _carry_out(self, action: _Action) -> None:
        await self._read_again(None)
        if self._is_carried_out(action, ours=False):
            return
        options = CallOptions(repeat=True, before_repeat=self._still_waits)
        try:
            await self._caller.exchange(_OPERATIONS[action], {"contentId": self.content_id}, options=options)
        except CMSError as error:
            if not error.in_doubt and not isinstance(error, ConflictError | ValidationError):
                raise
            shown = await self._read_again(error)
            if self._is_carried_out(action, ours=error.in_doubt):
                return
            if error.in_doubt:
                status = f"showed {str(self.generation.status)!r}" if shown else "was not shown"
                error.add_note(f"The generation was read again afterwards, and {status}.")
            raise
        self.generation = attrs.evolve(self.generation, status=_GOALS[action])
        self._note(action)

    async def _still_waits(self, failure: CMSError) -> bool:
        """Read whether a decision may be sent once more, after a request that may have taken effect.

        An unlisted word may be the effect of that request, or of another client.
        """
        return await self._read_again(failure) and self.phase is Phase.REVIEW

    def _is_carried_out(self, action: _Action, *, ours: bool) -> bool:
        """Tell whether the generation has the status that an action leads to, and note whose decision that was.

        Args:
            action: The action.
            ours: Whether a request of this review may have led to it.
        """
        if self.phase is not Phase.SUCCEEDED:
            return False
        discarded = fold(self.generation.status) in words.DISCARDED
        carried_out = discarded == (action == "cancel")
        if self.decision in (None, "leave"):
            self._note(action if carried_out and ours else "elsewhere")
        return carried_out

    def _note(self, decision: Decision) -> None:
        self.decision = decision
        if self.on_decided is not None:
            self.on_decided(decision)

    async def _read_again(self, reason: CMSError | None) -> bool:
        """Read the generation, several times while the service shows another one or none; tell whether it was shown.

        Raises:
            JobSupersededError: A newer one has taken its place.
            CMSError: It cannot be read: the `reason` for reading it, if there is one.
        """
        current, newer, missing = self.generation, 0, None
        for pause in (0.0, *PAUSES):
            await anyio.sleep(pause)
            try:
                current = await self._caller.call(Generation, "get_generation", {"contentId": self.content_id})
            except NotFoundError as error:
                newer, missing = 0, error
                continue
            except CMSError as error:
                _give_up(reason, error)
            if not differ(current.id, self.generation.id):
                self.generation = current
                return True
            newer, missing = newer + 1 if current.id != self._before else 0, None
        if missing is not None:
            _give_up(reason, missing)
        if newer >= _LASTING_READS:
            raise JobSupersededError(
                f"Content {self.content_id} has a newer generation ({current.id}) than the one to decide on "
                f"({self.generation.id}). The newer one is not decided; read it, and decide on it."
            ) from reason
        return False

    def _repr_html_(self) -> str:
        pairs: list[tuple[str, object]] = [("content id", self.content_id), ("decision", self.decision)]
        return markup.record(self.generation, *pairs, ("content", self.content))


def _give_up(reason: CMSError | None, error: CMSError) -> NoReturn:
    """Raise why a generation cannot be read again: the error of that, or the reason for reading it."""
    if reason is None:
        raise error
    reason.add_note(f"The generation could not be read again to find out what was decided: {error}")
    raise reason from error
