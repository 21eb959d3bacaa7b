"""A generated article that waits for a decision (specification 3 and 4.4).

Confirming applies the article to the draft, cancelling discards it. The requests name only the content, so the
generation is read just before: a newer one may have taken its place, and nobody has read that one's article. Neither
request has an idempotency key, but both can be read back: after a lost answer or a refusal the generation is read
again, and only what it says is reported.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Literal, TypeAlias

import attrs

from cmsapi.api.arguments import function
from cmsapi.api.models import Content, Generation, GenerationStatus
from cmsapi.display import markup
from cmsapi.errors import (
    ArgumentError,
    CMSError,
    ConflictError,
    DeadlineError,
    JobSupersededError,
    OutcomeUnknownError,
    ValidationError,
)
from cmsapi.transport.caller import OperationCaller

Decision: TypeAlias = Literal["confirm", "cancel", "leave", "elsewhere"]

Wish: TypeAlias = Literal["confirm", "cancel", "leave"]
ReviewHook: TypeAlias = Callable[["GenerationReview"], Wish | Awaitable[Wish]]

# A decision whose outcome stays unknown is read back and repeated this often.
TRIES = 3

DECIDED = (GenerationStatus.APPLIED, GenerationStatus.DISCARDED)


class GenerationReview:
    """Hold a generation in review, and decide on it.

    Args:
        caller: Calls the operations.
        content_id: The content it was generated for.
        generation: The generation as it was last read.
        decision: What was decided, or None: `"elsewhere"` when somebody else decided.
        content: The content as it was read after `confirm()`, else None.
    """

    __slots__ = ("_caller", "_deciding", "content", "content_id", "decision", "generation", "on_decided")

    def __init__(
        self, caller: OperationCaller, content_id: str, generation: Generation, decision: Decision | None = None
    ) -> None:
        self._caller = caller
        self.content_id: str = content_id
        self.generation: Generation = generation
        self.decision: Decision | None = decision
        self.content: Content | None = None
        # Called when it is decided.
        self.on_decided: Callable[[str], None] | None = None
        # One decision at a time: what one has done must not look to another as done elsewhere.
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
            OutcomeUnknownError: Answers got lost, and reading did not tell what was decided.
        """
        await self._decide("confirm", GenerationStatus.APPLIED)
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
            OutcomeUnknownError: Answers got lost, and reading did not tell what was decided.
        """
        await self._decide("cancel", GenerationStatus.DISCARDED)

    async def follow(self, hook: ReviewHook) -> None:
        """Let a hook decide, and do what it says; when somebody else was faster, `decision` says so.

        Raises:
            ArgumentError: `hook` is no function, or returned something else than a decision; the generation stays in
                review.
        """
        function("hook", hook)
        wish = hook(self)
        if inspect.isawaitable(wish):
            wish = await wish
        try:
            if wish == "confirm":
                await self.confirm()
            elif wish == "cancel":
                await self.cancel()
            elif wish == "leave":
                self.decision = self.decision or "leave"
            else:
                raise ArgumentError(
                    f"on_review returns 'confirm', 'cancel' or 'leave', not {wish!r}; the generation stays in review.",
                    parameter="on_review",
                )
        except (ConflictError, ValidationError):
            if self.decision != "elsewhere":
                raise

    async def _decide(self, wish: Literal["confirm", "cancel"], goal: GenerationStatus) -> None:
        async with self._deciding:
            if self.decision != wish:
                await self._bring(wish, goal)

    async def _bring(self, wish: Literal["confirm", "cancel"], goal: GenerationStatus) -> None:
        doubt: OutcomeUnknownError | DeadlineError | None = None
        tries = 0
        while True:
            await self._read_again(doubt)
            if self._settled(wish, goal, doubt):
                return
            # Out of review in a word that nobody lists: by this request or by somebody else, and not to be repeated.
            if doubt is not None and (tries == TRIES or self.generation.status != GenerationStatus.REVIEW):
                doubt.add_note(f"The generation was read again afterwards, and showed {str(self.generation.status)!r}.")
                raise doubt
            tries += 1
            try:
                await self._caller.exchange(_OPERATIONS[wish], {"contentId": self.content_id})
            except (OutcomeUnknownError, DeadlineError) as error:
                if isinstance(error, DeadlineError) and not error.sent:
                    raise
                doubt = error
            except (ConflictError, ValidationError) as refusal:
                await self._read_again(refusal)
                if self._settled(wish, goal, doubt):
                    return
                raise
            else:
                self.generation = attrs.evolve(self.generation, status=goal)
                self._note(wish)
                return

    def _settled(self, wish: Literal["confirm", "cancel"], goal: GenerationStatus, doubt: Exception | None) -> bool:
        """Tell whether the generation is where it was to go, and note who brought it there."""
        status = self.generation.status
        if status in DECIDED and self.decision in (None, "leave"):
            self._note(wish if status == goal and doubt is not None else "elsewhere")
        return status == goal

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
            reason.add_note(f"Reading the generation again to settle it failed too: {unreadable}")
            raise reason from unreadable
        if current.id != self.generation.id:
            raise JobSupersededError(
                f"Content {self.content_id} has a newer generation ({current.id}) than the one to decide on "
                f"({self.generation.id}). Nothing was decided on the newer one; read it and decide anew."
            ) from reason
        self.generation = current

    def _repr_html_(self) -> str:
        pairs: list[tuple[str, object]] = [("content id", self.content_id), ("decision", self.decision)]
        return markup.record(self.generation, *pairs, ("content", self.content))


_OPERATIONS = {"confirm": "confirm_generation", "cancel": "cancel_generation"}
