"""A generated article that waits for a decision (specification 3 and 4.4).

Confirming applies the article to the draft, cancelling discards it. Neither has an idempotency key, but both can be
read back: after a lost answer or a conflict the generation is read again, and only what it says is reported.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Literal, TypeAlias

import attrs

from cmsapi.core import Core
from cmsapi.errors import (
    APIError,
    ArgumentError,
    ConflictError,
    JobSupersededError,
    OutcomeUnknownError,
    TransportError,
)
from cmsapi.models import Content, Generation, GenerationStatus

Decision: TypeAlias = Literal["confirm", "cancel", "leave", "elsewhere"]

Wish: TypeAlias = Literal["confirm", "cancel", "leave"]
ReviewHook: TypeAlias = Callable[["GenerationReview"], Wish | Awaitable[Wish]]

# A decision whose outcome stays unknown is read back and repeated this often.
TRIES = 3


class GenerationReview:
    """Hold a generation in review, and decide on it.

    Args:
        core: Calls the operations.
        content_id: The content it was generated for.
        generation: The generation as it was last read.
        decision: What was decided, or None: `"elsewhere"` when somebody else decided.
        content: The content after a confirmation from here, else None.
    """

    __slots__ = ("_core", "content", "content_id", "decision", "generation")

    def __init__(self, core: Core, content_id: str, generation: Generation, decision: Decision | None = None) -> None:
        self._core = core
        self.content_id: str = content_id
        self.generation: Generation = generation
        self.decision: Decision | None = decision
        self.content: Content | None = None

    def __repr__(self) -> str:
        return f"<GenerationReview of {self.content_id}: {self.generation.status}, decision {self.decision}>"

    async def confirm(self) -> Content:
        """Apply the generated article to the draft; two requests, no credit.

        Returns:
            The content with the article.

        Raises:
            ConflictError: It was discarded, or is not in review.
            JobSupersededError: A newer generation has taken its place.
        """
        await self._decide("confirm_generation", GenerationStatus.APPLIED)
        self.content = await self._core.call(Content, "get_content", {"contentId": self.content_id})
        return self.content

    async def cancel(self) -> None:
        """Discard the generated article; one request, no credit.

        Raises:
            ConflictError: It was applied, or is not in review.
            JobSupersededError: A newer generation has taken its place.
        """
        await self._decide("cancel_generation", GenerationStatus.DISCARDED)

    async def follow(self, hook: ReviewHook) -> None:
        """Let a hook decide, and do what it says.

        Raises:
            ArgumentError: The hook returned something else than a decision; the generation stays in review.
        """
        wish = hook(self)
        if inspect.isawaitable(wish):
            wish = await wish
        if wish == "confirm":
            await self.confirm()
        elif wish == "cancel":
            await self.cancel()
        elif wish == "leave":
            self.decision = "leave"
        else:
            raise ArgumentError(
                f"on_review returns 'confirm', 'cancel' or 'leave', not {wish!r}; the generation stays in review.",
                parameter="on_review",
            )

    async def _decide(
        self, operation: Literal["confirm_generation", "cancel_generation"], goal: GenerationStatus
    ) -> None:
        decision: Decision = "confirm" if operation == "confirm_generation" else "cancel"
        in_doubt = False
        for last in (*[False] * (TRIES - 1), True):
            try:
                await self._core.exchange(operation, {"contentId": self.content_id})
            except (ConflictError, OutcomeUnknownError) as error:
                in_doubt = in_doubt or isinstance(error, OutcomeUnknownError)
                current = await self._read_back(error)
                if current.id != self.generation.id:
                    raise JobSupersededError(
                        f"Content {self.content_id} has a newer generation ({current.id}); the decision on "
                        f"{self.generation.id} was not made. Read the content and decide anew."
                    ) from error
                self.generation = current
                if current.status == goal:
                    self.decision = decision if in_doubt else "elsewhere"
                    return
                if last or isinstance(error, ConflictError):
                    raise
            else:
                self.decision = decision
                self.generation = attrs.evolve(self.generation, status=goal)
                return

    async def _read_back(self, error: APIError | TransportError) -> Generation:
        try:
            return await self._core.call(Generation, "get_generation", {"contentId": self.content_id})
        except (APIError, TransportError) as unreadable:
            error.add_note(f"Reading the generation again to settle it failed too: {unreadable}")
            raise error from unreadable
