"""Contents: drafts and articles (specification 2.4, 4.3).

A stale ``version`` in an update is refused with 409 (specification 9, rule 4). `Contents.update` sends one update.
`Contents.edit` follows specification 7, retry rule 3: it reads the content, applies the change, sends the
update, and starts again after a conflict. If the response to an update is lost, the
update may have been accepted: `Contents.edit` then returns the content if it contains the change.
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
    """Read, create, change and delete contents, mark them as published, and generate articles."""

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

        The specification does not show this call; its filters come from a public reference for the API.

        Args:
            workspace_id: Identifier of the workspace.
            assigned_to_id: Only contents assigned to the user with this identifier.
            content_score: Only contents with this score, 0 to 100.
            content_score_min: Only contents with at least this score.
            content_score_max: Only contents with at most this score.
            content_status_id: Only contents whose workflow status has this identifier, or one of several.
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
        """Return a content item with its text; one request, no credit. The specification does not show this call.

        Raises:
            NotFoundError: The content does not exist, or is not visible to this key.
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
            workspace_id: Identifier of the workspace.
            title: Title, 1 to 255 characters.
            html: Body.
            meta_description: Description for search engines.
            page_id: Identifier of the page to attach the draft to. None creates an empty page for the draft.
            folder_id: Identifier of the folder to put the draft in.
            assigned_to_id: Identifier of the user to assign the draft to.
            content_status_id: Identifier of the workflow status.
            due_date: When the draft is due; a time without a zone is taken as UTC.

        Raises:
            OutcomeUnknownError: The response was lost, and the draft may exist: list contents before you call again.
            ValidationError: The service refuses a field, for example an identifier that does not exist.
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
        """Change a content item whose version is known; one request, no credit. `edit` reads the version itself.

        Omitted fields stay unchanged. None clears any field but the title: ``folder_id=None`` means no folder.

        Args:
            content_id: Identifier of the content.
            version: The ``version`` of the content that the change is based on.
            title: Title, 1 to 255 characters.
            html: Body.
            meta_description: Description for search engines.
            folder_id: Identifier of the folder to put the content in.
            assigned_to_id: Identifier of the user to assign the content to.
            content_status_id: Identifier of the workflow status.
            due_date: When the content is due; a time without a zone is taken as UTC.

        Raises:
            ConflictError: The version is stale (specification 9, rule 4); read the content again, or use `edit`.
            OutcomeUnknownError: The response was lost, and the content may have changed: read it before you call again.
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
        """Change the current version of a content item, and try again after each conflict; no credit.

        Costs two requests, two more for each conflict, and one after a lost response (specification 7, retry rule 3)::

            await client.contents.edit(id, lambda content: {"title": f"{content.title} in 2026"})

        Args:
            content_id: Identifier of the content.
            change: Function or coroutine function that takes the content and returns the fields to change: a mapping
                from parameters of `update` to values. An empty mapping changes nothing. Called again after a conflict.
            attempts: Maximum number of updates to send.

        Returns:
            The changed content; the content as it was read if there is nothing to change.

        Raises:
            EditConflictError: Every update was refused with 409. Nothing was changed.
            OutcomeUnknownError: The response was lost, and the content does not show the change or cannot be read.
            ServerError: The service failed, and the content does not show the change or cannot be read.
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
        """Mark a content item as published; one request, no credit. Nothing is sent to a CMS.

        The specification does not show this call.

        Args:
            content_id: Identifier of the content.
            url: Address at which the content was published.

        Raises:
            OutcomeUnknownError: The response was lost, and the content may be marked: read it before you call again.
        """
        return await self._pipeline.call("publish_content", Content, content_id, json=texts(url=url))

    async def delete(self, content_id: str) -> None:
        """Delete a content item and its text for good; one request, no credit (specification 4.3).

        After a lost response, the request is repeated; a content item that no longer exists then counts as deleted.

        Raises:
            NotFoundError: The content does not exist, or is not visible to this key.
        """
        await self._pipeline.call("delete_content", NoneType, content_id)

    async def generate(
        self, content_id: str, settings: GenerationSettings | None = None, *, on_review: OnReview | None = None
    ) -> Job[GenerationReview]:
        """Launch the generation of an article; two requests and an AI-writing credit (specification 4.4).

        If the state has a job for the same content and settings that is running or in review, that job is returned and
        nothing is charged. If `LaunchPolicy.dedupe` is ``"off"``, this check is skipped.

        Args:
            content_id: Identifier of a draft whose keyword has a completed analysis.
            settings: Brand voice, instructions and sources.
            on_review: ``"confirm"``, ``"cancel"``, or None to leave the article in review. Alternatively, a
                function or coroutine function that takes the `GenerationReview` and returns one of these three values.

        Returns:
            The job; ``await job`` returns the `GenerationReview`, whose ``confirm`` and ``cancel`` end the review.

        Raises:
            JobError: A generation of the content with other settings is under way.
            OutOfCreditsError: No credit is left, or ``max_credits`` is reached.
            LaunchUnknownError: It is unknown whether the launch was accepted. A credit may have been charged.
            ConflictError: The service refused the launch, for example because the keyword has not been analyzed.
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
        """Return the current generation of a content item; one request, no credit (specification 4.4).

        Raises:
            NotFoundError: The content has no generation, does not exist, or is not visible to this key.
        """
        return await self._pipeline.call("get_generation", Generation, content_id)


def _fields(**fields: Any) -> dict[str, Any]:
    """Return the fields that are not `UNSET`, with camelCase keys; raise `ArgumentError` if one is invalid."""
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
