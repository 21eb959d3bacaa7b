"""Contents: drafts and articles (specification 2.4, 4.3).

Updates use optimistic locking: an update repeats the ``version`` of the content, and a stale version is refused with
409 (specification 9, rule 4). `update` does just that. `edit` follows specification 7, retry rule 3: it reads the
content, applies the change, sends it, and starts again on a conflict. Since a lost answer may hide an accepted update,
a content that shows the change counts as changed.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from types import NoneType
from typing import Any, TypeAlias

from cmsapi.errors import ArgumentError, CMSError, ConflictError, EditConflictError, OutcomeUnknownError, ServerError
from cmsapi.jobs.job import Job
from cmsapi.jobs.kinds import JobKind
from cmsapi.jobs.review import GenerationReview, OnReview
from cmsapi.models import Content, ContentSummary, Generation, GenerationSettings
from cmsapi.resources.base import Resource, texts
from cmsapi.wire.arguments import MAX_LIMIT, UNSET, Unset, check_number, check_text, timestamp
from cmsapi.wire.converter import camel, to_dict
from cmsapi.wire.paging import Paginator

LONGEST_TITLE = 255
"""Maximum number of characters in a title (specification 8)."""
BEST_SCORE = 100
"""Maximum content score (specification 8)."""

Changes: TypeAlias = Mapping[str, Any]


class Contents(Resource):
    """Read, create, change, publish and delete contents."""

    def list(
        self,
        workspace_id: str,
        *,
        assigned_to_id: str | None = None,
        content_score: int | None = None,
        content_score_min: int | None = None,
        content_score_max: int | None = None,
        content_status_id: str | Sequence[str] | None = None,
        page: int = 1,
        limit: int = MAX_LIMIT,
    ) -> Paginator[ContentSummary]:
        """List the contents of a workspace without their text; one request per page, no credit.

        The specification does not show this list; its filters come from a public reference for the API.

        Args:
            workspace_id: The workspace.
            assigned_to_id: Only contents assigned to this user.
            content_score: Only contents with this score, 0 to 100.
            content_score_min: Only contents with at least this score.
            content_score_max: Only contents with at most this score.
            content_status_id: Only contents with this workflow status, or with one of several.
            page: Number of the first page to read, from 1.
            limit: Contents per page, 1 to 100.
        """
        scores = {
            "content_score": content_score,
            "content_score_min": content_score_min,
            "content_score_max": content_score_max,
        }
        for name, score in scores.items():
            if score is not None:
                check_number(name, score, 0, BEST_SCORE)
        if content_status_id is not None and not content_status_id:
            raise ArgumentError("content_status_id", "must not be empty; pass None for contents of any status")
        params = {
            "assignedToId": assigned_to_id,
            "contentScore": content_score,
            "contentScore[gte]": content_score_min,
            "contentScore[lte]": content_score_max,
            "contentStatusId": content_status_id,
        }
        return self._pipeline.list("list_contents", ContentSummary, workspace_id, params=params, page=page, limit=limit)

    async def get(self, content_id: str) -> Content:
        """Return a content with its text; one request, no credit.

        Raises:
            NotFoundError: It does not exist, or is not visible to this key.
        """
        return await self._pipeline.call("get_content", Content, content_id)

    async def create(
        self,
        workspace_id: str,
        title: str,
        *,
        html: str | None = None,
        meta_description: str | None = None,
        page_id: str | None = None,
        folder_id: str | None = None,
        assigned_to_id: str | None = None,
        content_status_id: str | None = None,
        due_date: datetime | None = None,
    ) -> Content:
        """Create a draft; one request, no credit (specification 4.3).

        Args:
            workspace_id: The workspace.
            title: Title, 1 to 255 characters.
            html: Body.
            meta_description: Description for search engines.
            page_id: The page to attach it to; None creates an empty page, shown as the content's ``page``.
            folder_id: The folder to put it in.
            assigned_to_id: The user to assign it to.
            content_status_id: Its workflow status.
            due_date: When it is due; a time without a zone is taken as UTC.

        Raises:
            OutcomeUnknownError: The draft may exist; list the contents before repeating the call.
            ValidationError: An identifier does not exist.
        """
        fields = _fields(
            title=title,
            html=html,
            meta_description=meta_description,
            page_id=page_id,
            folder_id=folder_id,
            assigned_to_id=assigned_to_id,
            content_status_id=content_status_id,
            due_date=due_date,
        )
        body = {name: value for name, value in fields.items() if value is not None}
        return await self._pipeline.call("create_content", Content, workspace_id, json=body)

    async def update(
        self,
        content_id: str,
        version: int,
        *,
        title: str | Unset = UNSET,
        html: str | Unset | None = UNSET,
        meta_description: str | Unset | None = UNSET,
        folder_id: str | Unset | None = UNSET,
        assigned_to_id: str | Unset | None = UNSET,
        content_status_id: str | Unset | None = UNSET,
        due_date: datetime | Unset | None = UNSET,
    ) -> Content:
        """Change a content whose version is known; one request, no credit. `edit` reads the version itself.

        Omitted fields stay unchanged. None clears a field: ``folder_id=None`` takes the content out of its folder.

        Args:
            content_id: The content.
            version: Its ``version``, read together with the fields to change.
            title: Title, 1 to 255 characters.
            html: Body.
            meta_description: Description for search engines.
            folder_id: The folder to put it in.
            assigned_to_id: The user to assign it to.
            content_status_id: Its workflow status.
            due_date: When it is due; a time without a zone is taken as UTC.

        Raises:
            ConflictError: The version is stale (specification 9, rule 4); read the content again, or use `edit`.
            OutcomeUnknownError: The content may have been changed; read it before repeating the call.
        """
        fields = _fields(
            title=title,
            html=html,
            meta_description=meta_description,
            folder_id=folder_id,
            assigned_to_id=assigned_to_id,
            content_status_id=content_status_id,
            due_date=due_date,
        )
        if not fields:
            raise ArgumentError("title", "or another field must be given: there is nothing to change")
        body = {"version": check_number("version", version, 0), **fields}
        return await self._pipeline.call("update_content", Content, content_id, json=body)

    async def edit(
        self, content_id: str, change: Callable[[Content], Changes | Awaitable[Changes]], *, attempts: int = 5
    ) -> Content:
        """Change the current version of a content, and try again after each conflicting change; no credit.

        Costs two requests, and two more for each conflict (specification 7, retry rule 3)::

            await client.contents.edit(id, lambda content: {"title": f"{content.title} in 2026"})

        Args:
            content_id: The content.
            change: Function or coroutine function that takes the content and returns a mapping of fields to change,
                with the names of `update`. After a conflict it gets the newer content. An empty mapping sends nothing.
            attempts: Maximum number of updates to send.

        Returns:
            The content with the change.

        Raises:
            EditConflictError: Each attempt was refused with 409. Nothing was changed.
            OutcomeUnknownError: The answer was lost, and the content does not show the change.
            ServerError: The service failed, and the content does not show the change.
        """
        check_number("attempts", attempts, 1)
        content, attempt = await self.get(content_id), 0
        while True:
            attempt += 1
            answer = change(content)
            changes = await answer if inspect.isawaitable(answer) else answer
            if not isinstance(changes, Mapping):
                raise ArgumentError("change", f"must return a mapping of fields, got {type(changes).__name__}")
            if not changes:
                return content
            version = check_number("version", content.version, 0)
            try:
                return await self.update(content_id, version, **changes)
            except ConflictError as error:
                content = await self.get(content_id)
                if _shows(content, changes):
                    return content
                if attempt == attempts:
                    problem = f"content {content_id} was refused with 409 {attempts} times; nothing was changed"
                    raise EditConflictError(f"{problem}: {error.message}", attempts=attempts) from error
            except (OutcomeUnknownError, ServerError):
                with contextlib.suppress(CMSError):
                    content = await self.get(content_id)
                    if _shows(content, changes):
                        return content
                raise

    async def publish(self, content_id: str, url: str | None = None) -> Content:
        """Mark a content as published; one request, no credit. Nothing is sent to a CMS.

        The specification does not show this call.

        Args:
            content_id: The content.
            url: Where it was published.

        Raises:
            OutcomeUnknownError: The content may be marked; read it before repeating the call.
        """
        return await self._pipeline.call("publish_content", Content, content_id, json=texts(url=url))

    async def delete(self, content_id: str) -> None:
        """Delete a content with its text for good; one request, no credit (specification 4.3).

        If an answer is lost, the request is repeated; a content that is gone by then counts as deleted.

        Raises:
            NotFoundError: It does not exist, or is not visible to this key.
        """
        await self._pipeline.call("delete_content", NoneType, content_id)

    async def generate(
        self, content_id: str, settings: GenerationSettings | None = None, *, on_review: OnReview | None = None
    ) -> Job[GenerationReview]:
        """Launch the generation of an article; two requests and AI-writing credits (specification 4.4).

        While a generation of the content with the same settings is running or awaiting its decision, its job is
        returned, and nothing is charged.

        Args:
            content_id: A draft whose keyword has a completed analysis.
            settings: Brand voice, instructions and sources.
            on_review: Decision on the article: ``"confirm"``, ``"cancel"``, or a function, which may be async, that
                takes the `GenerationReview` and returns one of these, or None to leave it in review.

        Returns:
            The job; ``await job`` returns the review, to ``confirm()`` or ``cancel()``.

        Raises:
            JobError: A generation with other settings is under way.
            OutOfCreditsError: No credit is left, or ``max_credits`` is reached.
            LaunchUnknownError: The answer was lost, and the content does not show whether the generation was launched.
            ConflictError: The service refused, for example because the keyword is not analyzed.
        """
        if settings is not None and not isinstance(settings, GenerationSettings):
            raise ArgumentError("settings", f"must be GenerationSettings, got {type(settings).__name__}")
        if on_review not in ("confirm", "cancel", None) and not callable(on_review):
            raise ArgumentError("on_review", f'must be "confirm", "cancel" or a function, got {on_review!r}')
        chosen = {name: value for name, value in to_dict(settings or GenerationSettings()).items() if value is not None}
        return await self._launcher.launch(
            JobKind.GENERATION, content_id, body={"settings": chosen}, on_review=on_review
        )

    async def generation(self, content_id: str) -> Generation:
        """Return the current generation of a content; one request, no credit (specification 4.4).

        Raises:
            NotFoundError: There is none.
        """
        return await self._pipeline.call("get_generation", Generation, content_id)


def _fields(**fields: Any) -> dict[str, Any]:
    """Check the fields that are not `UNSET`, and return them under their names on the wire."""
    changed = {name: value for name, value in fields.items() if value is not UNSET}
    for name, value in changed.items():
        if name == "title":
            check_text(name, value, maximum=LONGEST_TITLE)
        elif name == "due_date":
            if not isinstance(value, datetime | None):
                raise ArgumentError(name, f"must be a datetime, got {type(value).__name__}")
        elif value is not None:
            check_text(name, value, minimum=0)
    return {camel(name): value for name, value in changed.items()}


def _shows(content: Content, changes: Changes) -> bool:
    return all(_comparable(_stored(content, name)) == _comparable(value) for name, value in changes.items())


def _stored(content: Content, name: str) -> Any:
    if not name.endswith("_id"):
        return getattr(content, name)
    reference = getattr(content, name.removesuffix("_id"))
    return None if reference is None else reference.id


def _comparable(value: Any) -> Any:
    # Cleared text may come back as "" or as null, and a time without microseconds.
    if isinstance(value, datetime):
        return timestamp(value.replace(microsecond=value.microsecond // 1000 * 1000))
    return value or None
