"""Reviews of generated articles: confirming applies an article to its draft, cancelling discards the article.

A decision is recorded in the launch's row, if there is one, before the decision is sent. If the response is lost, this
process or a later one can read from the generation whether the decision was carried out.
"""

from __future__ import annotations

import asyncio
import inspect
import zlib
from collections.abc import Awaitable, Callable
from types import NoneType
from typing import Any, Literal, TypeAlias

from attrs import define, field

from cmsapi.errors import ArgumentError, CMSError, ConflictError, OutcomeUnknownError, ServerError
from cmsapi.models import Content, Generation
from cmsapi.state.store import JobStatus, Store
from cmsapi.transport.pipeline import Pipeline
from cmsapi.wire.converter import dump, to_dict

Choice: TypeAlias = Literal["confirm", "cancel"]
OnReview: TypeAlias = Choice | Callable[["GenerationReview"], Choice | Awaitable[Choice | None] | None]

_WORDS = {"confirm": "applied", "cancel": "discarded"}


def decision_of(written: str | None, word: str | None) -> str:
    """Return the recorded decision ``written``; ``elsewhere`` if it is empty or the status ``word`` contradicts it."""
    others = [shown for choice, shown in _WORDS.items() if choice != written]
    return written if written and (word or "").strip().casefold() not in others else "elsewhere"


@define(eq=False, repr=False)
class GenerationReview:
    """A generated article, and the decision on it.

    Attributes:
        content_id: Identifier of the content that the article was generated for.
        generation: The generation as it was last read.
        decision: ``confirm`` or ``cancel``; ``elsewhere`` if it was made by other means; None if no decision is known.
        content: The content with the article, as read by `confirm`; None until then.
    """

    _pipeline: Pipeline
    _store: Store
    _launch: str | None  # identifier of the launch in the state
    content_id: str
    generation: Generation
    decision: str | None = None
    content: Content | None = field(default=None, init=False)
    _lock: asyncio.Lock = field(factory=asyncio.Lock, init=False)

    def __repr__(self) -> str:
        return f"<GenerationReview of {self.content_id}: {self.decision or 'no decision'}>"

    async def confirm(self) -> Content:
        """Apply the article to its draft, and return the content. Costs two requests, no credit (specification 3).

        Raises:
            ConflictError: The article is no longer in review, and the generation does not show this decision.
            OutcomeUnknownError: The response was lost, and the generation does not show the decision; call again.
            ServerError: The service failed, and the generation does not show the decision; call again.
        """
        await self._decide("confirm")
        self.content = await self._pipeline.call("get_content", Content, self.content_id)
        return self.content

    async def cancel(self) -> None:
        """Discard the article. Costs one request, no credit (specification 3). Raises the same errors as `confirm`."""
        await self._decide("cancel")

    async def ask(self, on_review: OnReview) -> None:
        """Carry out the choice from ``on_review``. Do nothing if the choice is None or a decision has been made."""
        answer = on_review if isinstance(on_review, str) else on_review(self)
        choice = await answer if inspect.isawaitable(answer) else answer
        if choice == "confirm" and self.decision is None:
            await self.confirm()
        elif choice == "cancel" and self.decision is None:
            await self.cancel()
        elif choice not in ("confirm", "cancel", None):
            problem = f'must be or return "confirm", "cancel" or None, got {choice!r}; the article stays in review'
            raise ArgumentError("on_review", problem)

    async def _decide(self, choice: Choice) -> None:
        async with self._lock:  # two simultaneous decisions would take each other for decisions made elsewhere
            if self.decision == choice:
                return
            await self._write_down(decision=choice)
            try:
                await self._pipeline.call(f"{choice}_generation", NoneType, self.content_id)
            except (ConflictError, OutcomeUnknownError, ServerError):
                if not await self._shows(choice):
                    raise
            self.decision = choice
            packed = zlib.compress(dump(to_dict(self.generation)))
            await self._write_down(status=JobStatus.SUCCEEDED, decision=self.decision, result=packed)

    async def _write_down(self, **changes: Any) -> None:
        row = await self._store.get(self._launch) if self._launch else None
        if row is not None and row.open:
            await self._store.update(row, **changes)

    async def _shows(self, choice: Choice) -> bool:
        """Read the generation, and return True if its status matches ``choice``; False if not, or if the read fails."""
        try:
            shown = await self._pipeline.call("get_generation", Generation, self.content_id)
        except CMSError:
            return False
        if self.generation.id not in (None, shown.id):
            return False
        self.generation = shown
        return (shown.status or "").strip().casefold() == _WORDS[choice]
