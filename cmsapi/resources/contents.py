"""Contents: drafts and articles (specification 2.4, 4.3, 4.4 and 9)."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias, Unpack

from cmsapi.api.arguments import function, in_order, optional_text, text, texts, within, wrong
from cmsapi.api.models.content import Content, ContentSummary
from cmsapi.api.models.generation import Generation, GenerationSettings
from cmsapi.api.page import Page
from cmsapi.api.pagination import Paginator
from cmsapi.api.wire.converter import to_dict
from cmsapi.api.wire.jsontext import dumps
from cmsapi.api.wire.mismatch import excerpt
from cmsapi.errors import ArgumentError, CMSError, ConflictError, EditConflictError, OutcomeUnknownError
from cmsapi.jobs import GenerationReview, Job, JobKind, ReviewHook
from cmsapi.jobs.kinds.registry import KINDS
from cmsapi.jobs.launching.request import LaunchRequest
from cmsapi.resources.drafts import LONGEST_TITLE, ContentChanges, NewContent, holds, wire_fields
from cmsapi.resources.resource import Resource
from cmsapi.transport.caller import LARGEST_PAGE

Change: TypeAlias = Callable[[Content], ContentChanges | Awaitable[ContentChanges]]


class Contents(Resource):
    """Read, create, change, publish, delete and generate contents."""

    def list(
        self,
        workspace_id: str,
        *,
        assigned_to_id: str | None = None,
        content_status_id: str | Sequence[str] | None = None,
        content_score: int | None = None,
        content_score_min: int | None = None,
        content_score_max: int | None = None,
        page: int = 1,
        limit: int = LARGEST_PAGE,
    ) -> Paginator[ContentSummary, Page[ContentSummary]]:
        """List the contents of a workspace in their short form; one request a page, no credit.

        A filter that is None or left out does not filter.

        Args:
            workspace_id: The workspace.
            assigned_to_id: Only those assigned to this user.
            content_status_id: Only those with this workflow status, or with one of these.
            content_score: Only those with exactly this score, 0 to 100.
            content_score_min: Only those with at least this score.
            content_score_max: Only those with at most this score.
            page: Number of the page to begin with.
            limit: Contents a page, 1 to 100.
        """
        query = {
            "assignedToId": optional_text("assigned_to_id", assigned_to_id),
            "contentStatusId": _one_or_several("content_status_id", content_status_id),
            "contentScore": _score("content_score", content_score),
            "contentScore[gte]": _score("content_score_min", content_score_min),
            "contentScore[lte]": _score("content_score_max", content_score_max),
        }
        in_order("content_score_min", content_score_min, content_score_max)
        path = {"workspaceId": workspace_id}
        return self._caller.paginate(ContentSummary, "list_contents", path, page=page, limit=limit, query=query)

    async def create(self, workspace_id: str, title: str, **fields: Unpack[NewContent]) -> Content:
        """Create a draft; one request, no credit.

        Args:
            workspace_id: The workspace.
            title: Title, 1 to 255 characters.
            **fields: What else it has, by the names of `NewContent`: `html`, `meta_description`, `page_id`,
                `folder_id`, `assigned_to_id`, `content_status_id`, `due_date`.

        Raises:
            ArgumentError: There is no such field, or a value breaks a rule.
            ValidationError: An identifier does not exist.
            OutcomeUnknownError: No answer came. It may have been created; list the contents before you repeat the call.
            ServerError: The service failed; the same holds.
        """
        given = wire_fields(fields, NewContent.__annotations__)
        body = {"title": text("title", title, 1, LONGEST_TITLE)}
        body |= {name: value for name, value in given.items() if value is not None}
        return await self._caller.call(Content, "create_content", {"workspaceId": workspace_id}, body=body)

    async def get(self, content_id: str) -> Content:
        """Read a content; one request, no credit."""
        return await self._caller.call(Content, "get_content", {"contentId": content_id})

    async def update(self, content_id: str, version: int | None, **changes: Unpack[ContentChanges]) -> Content:
        """Change a content whose version is known; one request, no credit. `edit` reads the version by itself.

        Args:
            content_id: The content.
            version: Its `version`; a stale one is refused (specification 9, rule 4), and None before anything is sent.
            **changes: New values by the names of `ContentChanges`: `title` and what `create` takes, but for `page_id`.
                What is left out stays untouched, and None clears it.

        Raises:
            ArgumentError: There is no such field, nothing to change, or no version.
            ConflictError: The content was changed in between; nothing was saved, unless the message says that an
                earlier attempt may have been.
            OutcomeUnknownError: An answer was lost, and reading the content did not tell whether the change was saved.
        """
        if version is None:
            raise ArgumentError(
                "`version` must be the version that the change is based on, got None. The service showed none with "
                "this content: read it again with `contents.get`, or use `contents.edit`. Nothing was sent.",
                parameter="version",
            )
        within("version", version, 0)
        if not changes:
            raise wrong("changes", "name at least one field", "none")
        try:
            return await self._save(content_id, version, changes)
        except ConflictError as error:
            error.hint = error.hint or "`contents.edit` reads the content, changes it, and starts again on a conflict."
            raise

    async def _save(self, content_id: str, version: int, changes: ContentChanges) -> Content:
        body = {"version": version, **wire_fields(changes, ContentChanges.__annotations__)}
        try:
            return await self._caller.call(Content, "update_content", {"contentId": content_id}, body=body)
        except ConflictError as error:
            # After a lost answer the conflict may be with this very change.
            if error.in_doubt:
                current = await self._settling(content_id)
                if holds(current, changes, version):
                    return current
            raise

    async def _settling(self, content_id: str) -> Content:
        """Read a content to find out whether a change was saved."""
        try:
            return await self.get(content_id)
        except CMSError as error:
            raise OutcomeUnknownError(
                f"The change of content {content_id} may have been saved: its answer was lost, and reading the content "
                f"failed too ({type(error).__name__}). Read the content before you repeat the change.",
                operation="update_content",
            ) from error

    async def edit(self, content_id: str, change: Change, *, attempts: int = 5) -> Content:
        """Change a content: read it, compute the change, send it with the version; on a conflict start again.

        It takes two requests, no credit, and two requests more for each conflict (specification 7, retry rule 3). Each
        change is checked like the arguments of `update` before it is sent.

        Args:
            content_id: The content.
            change: Takes the content and returns the new values as `ContentChanges`, where None clears a field; sync
                or async. After a conflict it is called again with the new content. An empty mapping saves nothing.
            attempts: Largest number of attempts.

        Returns:
            The content as saved.

        Raises:
            ArgumentError: `change` is not a function, or did not return a mapping of new values.
            EditConflictError: Each attempt met a newer version; nothing was saved, unless the message says that an
                attempt with a lost answer may have been saved and then overwritten.
            OutcomeUnknownError: An answer was lost, and reading the content did not tell whether the change was saved.
        """
        function("change", change, "a function of the content, such as lambda content: {'title': 'New'}")
        within("attempts", attempts, 1)
        attempt, doubt = 0, False
        while True:
            attempt += 1
            base = await (self._settling(content_id) if doubt else self.get(content_id))
            wanted = change(base)
            changes = await wanted if inspect.isawaitable(wanted) else wanted
            if not isinstance(changes, Mapping):
                forgotten = " Did you forget to return? {} changes nothing." if changes is None else ""
                raise ArgumentError(
                    f"`change` must return a mapping of new values, got {type(changes).__name__}.{forgotten} Nothing "
                    "was changed.",
                    parameter="change",
                )
            if not changes:
                return base
            if base.version is None:
                raise EditConflictError(
                    f"Content {content_id} shows no version, so that this change could overwrite another one. Nothing "
                    "was saved.",
                    base=base,
                )
            try:
                return await self._save(content_id, base.version, changes)
            except ConflictError as error:
                doubt = doubt or error.in_doubt
                if attempt == attempts:
                    current = None
                    # The conflict is the news, and the second version only its illustration.
                    with contextlib.suppress(CMSError):
                        current = await self.get(content_id)
                    fate = (
                        "An earlier attempt may have been saved and then overwritten; compare .current."
                        if doubt
                        else "Nothing was saved; edit again, or allow more attempts."
                    )
                    raise EditConflictError(
                        f"Content {content_id} was changed by another client during each of {attempts} attempts. "
                        f"{fate}",
                        base=base,
                        current=current,
                    ) from error

    async def publish(self, content_id: str, *, url: str | None = None) -> Content:
        """Mark a content as published; one request, no credit. Nothing is sent to a CMS.

        Args:
            content_id: The content.
            url: Where it was published.

        Raises:
            OutcomeUnknownError: No answer came. It may have been marked; read it before you repeat the call.
            ServerError: The service failed; the same holds.
        """
        return await self._caller.call(Content, "publish_content", {"contentId": content_id}, body=texts(url=url))

    async def delete(self, content_id: str) -> None:
        """Delete a content; one request, no credit; it cannot be undone."""
        await self._caller.exchange("delete_content", {"contentId": content_id})

    async def generate(
        self,
        content_id: str,
        settings: GenerationSettings | None = None,
        *,
        on_review: ReviewHook | None = None,
    ) -> Job[GenerationReview]:
        """Launch the generation of an article (Atomic Content); two requests and **AI-writing credits**.

        A generation of the same content with the same settings is joined and not paid again while it runs or its
        article waits for a decision. If it has an `on_review` hook already, that hook decides.

        The first request reads the current generation, so that a lost answer can be reconciled. The first launch of a
        client takes one request more, which reads the balances; so does one that comes after 100 launches or 10
        minutes. `LaunchPolicy(baseline="none")` saves them.

        Args:
            content_id: A draft whose keyword has a completed analysis.
            settings: Brand voice, instructions and sources.
            on_review: Decides when the article waits in review: takes the `GenerationReview` and returns `"confirm"`,
                `"cancel"` or `"leave"`, sync or async. If it raises, the generation stays in review, and the waiters
                of the job get the error.

        Returns:
            The job; `await` it for the review, on which `confirm()` applies the article and `cancel()` discards it.

        Raises:
            ArgumentError: `settings` or `on_review` is of the wrong type.
            JobError: A generation with other settings is under way.
            LaunchUnknownError: The launch may have happened, and no evidence tells whether it did.
            ConflictError: The service refuses, for example because the keyword is not analysed.
        """
        target = text("content_id", content_id)
        launch = LaunchRequest(
            kind=KINDS[JobKind.GENERATION],
            target=target,
            path={"contentId": target},
            body={"settings": _settings(settings)},
        )
        return await self._open_launcher().launch(launch, on_review)

    async def generation(self, content_id: str) -> Generation:
        """Read the current generation of a content; one request, no credit.

        Raises:
            NotFoundError: It has none.
        """
        return await self._caller.call(Generation, "get_generation", {"contentId": content_id})

    async def review(self, content_id: str) -> GenerationReview:
        """Return the review of a generation, whichever client launched it; one request, no credit.

        Raises:
            NotFoundError: The content has no generation.
        """
        return GenerationReview(self._caller, content_id, await self.generation(content_id))


def _score(parameter: str, score: int | None) -> int | None:
    return None if score is None else within(parameter, score, 0, 100)


def _one_or_several(parameter: str, value: str | Sequence[str] | None) -> str | Sequence[str] | None:
    if value is None or isinstance(value, str):
        return optional_text(parameter, value)
    if not isinstance(value, Sequence) or not value:
        # An empty list would not filter.
        raise wrong(parameter, "be one identifier, or a list of at least one", excerpt(value))
    return [text(parameter, each) for each in value]


def _settings(settings: GenerationSettings | None) -> Any:
    if settings is not None and not isinstance(settings, GenerationSettings):
        raise wrong("settings", "be GenerationSettings", type(settings).__name__)
    try:
        document = to_dict(settings or GenerationSettings())
        dumps(document)
    except ValueError as error:
        raise wrong("settings", "be a JSON document", error) from error
    return document
