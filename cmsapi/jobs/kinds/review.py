"""A generated article that waits for a decision (specification 3 and 4.4).

Confirming applies the article to the draft, cancelling discards it. Both requests name only the content. So the
generation is read just before: a newer one may have taken its place, whose article this client has not seen. Neither
request has an idempotency key. After a lost answer or a refusal the generation is read again, and its status decides
what is reported.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import ClassVar, Literal, TypeAlias

import attrs

from cmsapi.api.arguments import function
from cmsapi.api.models.content import Content
from cmsapi.api.models.generation import Generation, GenerationStatus
from cmsapi.display import markup
from cmsapi.errors import (
    ArgumentError,
    CMSError,
    ConflictError,
    JobSupersededError,
    ValidationError,
)
from cmsapi.transport.call import CallOptions
from cmsapi.transport.caller import OperationCaller
from cmsapi.unpicklable import Unpicklable

#: How a review was decided.
Decision: TypeAlias = Literal["confirm", "cancel", "leave", "elsewhere"]
#: What a hook may answer.
ReviewChoice: TypeAlias = Literal["confirm", "cancel", "leave"]
ReviewHook: TypeAlias = Callable[["GenerationReview"], ReviewChoice | Awaitable[ReviewChoice]]
_Action: TypeAlias = Literal["confirm", "cancel"]

# Before each repeat in doubt the generation is read, whatever the retry policy says.
_SENT_ONCE = CallOptions(repeat=False)

# How often a decision whose outcome stays unknown is sent.
MAX_ATTEMPTS = 3

DECIDED = (GenerationStatus.APPLIED, GenerationStatus.DISCARDED)
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
        content: The content as it was read after `confirm()`, else None.
    """

    __slots__ = ("_caller", "_deciding", "content", "content_id", "decision", "generation", "on_decided")

    _instead: ClassVar[str] = "Pass `content_id`, and use client.contents.review(content_id) of a client there."
    content_id: str
    generation: Generation
    decision: Decision | None

    def __init__(
        self, caller: OperationCaller, content_id: str, generation: Generation, decision: Decision | None = None
    ) -> None:
        self._caller = caller
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
        lost: CMSError | None = None
        attempts = 0
        while not await self._is_carried_out(action, lost):
            # An unlisted word may be the effect of this request or of another client: it must not be repeated.
            status = self.generation.status
            if lost is not None and (attempts == MAX_ATTEMPTS or status != GenerationStatus.REVIEW):
                lost.add_note(f"The generation was read again afterwards, and showed {str(status)!r}.")
                raise lost
            attempts += 1
            try:
                path = {"contentId": self.content_id}
                await self._caller.exchange(_OPERATIONS[action], path, options=_SENT_ONCE)
            except CMSError as error:
                if error.in_doubt:
                    lost = error
                elif not isinstance(error, ConflictError | ValidationError):
                    raise
                elif await self._is_carried_out(action, lost, error):
                    return
                else:
                    raise
            else:
                self.generation = attrs.evolve(self.generation, status=_GOALS[action])
                self._note(action)
                return

    async def _is_carried_out(self, action: _Action, lost: CMSError | None, refusal: CMSError | None = None) -> bool:
        """Read whether the generation has the status that an action leads to, and note whose decision that was."""
        await self._read_again(refusal or lost)
        status = self.generation.status
        if status in DECIDED and self.decision in (None, "leave"):
            self._note(action if status == _GOALS[action] and lost is not None else "elsewhere")
        return status == _GOALS[action]

    def _note(self, decision: Decision) -> None:
        self.decision = decision
        if self.on_decided is not None:
            self.on_decided(decision)

    async def _read_again(self, reason: CMSError | None) -> None:
        try:
            current = await self._caller.call(Generation, "get_generation", {"contentId": self.content_id})
        except CMSError as unreadable:
            if reason is None:
                raise
            reason.add_note(f"The generation could not be read again to find out what was decided: {unreadable}")
            raise reason from unreadable
        if differ(current.id, self.generation.id):
            raise JobSupersededError(
                f"Content {self.content_id} has a newer generation ({current.id}) than the one to decide on "
                f"({self.generation.id}). The newer one is not decided; read it, and decide on it."
            ) from reason
        self.generation = current

    def _repr_html_(self) -> str:
        pairs: list[tuple[str, object]] = [("content id", self.content_id), ("decision", self.decision)]
        return markup.record(self.generation, *pairs, ("content", self.content))
