"""The operations of the service, resource by resource, for code without an event loop."""
# Written by `make blocking` from the async classes; do not edit.
# mypy: disable-error-code=no-any-return

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime
from typing import TypeAlias, Unpack, overload

from cmsapi.api.models.brand_voice import BrandVoice
from cmsapi.api.models.content import Content, ContentStatus, ContentSummary
from cmsapi.api.models.credit_usage import CreditType, CreditUsage
from cmsapi.api.models.folder import Folder, FolderTree
from cmsapi.api.models.generation import Generation, GenerationSettings
from cmsapi.api.models.idea_search import ContentIdea, ContentIdeaSearch
from cmsapi.api.models.keyword import Acknowledgement, Keyword, Prompt
from cmsapi.api.models.knowledge_document import KnowledgeDocument
from cmsapi.api.models.report import Report, ScoreReport
from cmsapi.api.models.user import Member
from cmsapi.api.models.web_page import WebPage
from cmsapi.api.models.workspace import Workspace
from cmsapi.api.page import Page
from cmsapi.blocking.jobs import GenerationReview, Job, ReviewHook
from cmsapi.blocking.lists import Paginator
from cmsapi.blocking.mirror import Mirror, in_worker
from cmsapi.jobs import ContentIdeas
from cmsapi.resources.brand_voices import BrandVoices as AsyncBrandVoices
from cmsapi.resources.content_ideas import ContentIdeaSearches as AsyncContentIdeaSearches
from cmsapi.resources.contents import Contents as AsyncContents
from cmsapi.resources.credit_report import CreditReport
from cmsapi.resources.credit_usages import CreditUsages as AsyncCreditUsages, TypeWord
from cmsapi.resources.drafts import ContentChanges, NewContent
from cmsapi.resources.folders import Folders as AsyncFolders
from cmsapi.resources.keywords import Keywords as AsyncKeywords
from cmsapi.resources.knowledge_documents import KnowledgeDocuments as AsyncKnowledgeDocuments
from cmsapi.resources.pages import Pages as AsyncPages
from cmsapi.resources.prompts import Prompts as AsyncPrompts
from cmsapi.resources.users import Users as AsyncUsers
from cmsapi.resources.workspaces import Workspaces as AsyncWorkspaces
from cmsapi.transport.caller import LARGEST_PAGE

Change: TypeAlias = Callable[[Content], ContentChanges]


class Users(Mirror, of=AsyncUsers):
    """Read the members of the organisation."""

    __slots__ = ()

    def list(self, *, page: int = 1, limit: int = LARGEST_PAGE) -> Paginator[Member, Page[Member]]:
        """List the members of the organisation; one request a page, no credit. Needs the role Admin.

        Args:
            page: Number of the page to begin with.
            limit: Members a page, 1 to 100.

        Raises:
            ForbiddenError: The key's user is not an admin.
        """
        return self._call("list", page=page, limit=limit)


class Workspaces(Mirror, of=AsyncWorkspaces):
    """Read workspaces, their members and their workflow statuses."""

    __slots__ = ()

    def list(self, *, page: int = 1, limit: int = LARGEST_PAGE) -> Paginator[Workspace, Page[Workspace]]:
        """List the workspaces that the key's user belongs to; one request a page, no credit.

        Args:
            page: Number of the page to begin with.
            limit: Workspaces a page, 1 to 100.
        """
        return self._call("list", page=page, limit=limit)

    def get(self, workspace_id: str) -> Workspace:
        """Read a workspace; one request, no credit.

        Raises:
            NotFoundError: There is none, or the key's user does not belong to it.
        """
        return self._call("get", workspace_id)

    def members(
        self, workspace_id: str, *, page: int = 1, limit: int = LARGEST_PAGE
    ) -> Paginator[Member, Page[Member]]:
        """List the members of a workspace; one request a page, no credit.

        The role words here are others than those of `users.list`.
        """
        return self._call("members", workspace_id, page=page, limit=limit)

    def content_statuses(self, workspace_id: str) -> Paginator[ContentStatus, Page[ContentStatus]]:
        """List the workflow statuses that contents of a workspace can have; one request, no credit, one page."""
        return self._call("content_statuses", workspace_id)


class Folders(Mirror, of=AsyncFolders):
    """Read, create and delete folders."""

    __slots__ = ()

    def list(self, workspace_id: str) -> Paginator[Folder, FolderTree]:
        """List the folders of a workspace; one request, no credit. The service does not page them.

        Returns:
            The list; `first_page()` gives all folders in the service's order, with `.roots`, `.children(id)` and
            `.path(id)`.
        """
        return self._call("list", workspace_id)

    def create(self, workspace_id: str, name: str, *, parent_folder_id: str | None = None) -> Folder:
        """Create a folder; one request, no credit.

        Args:
            workspace_id: The workspace.
            name: Its name, at least one character.
            parent_folder_id: The folder to put it into; None for the top level.

        Raises:
            OutcomeUnknownError: No answer came. It may have been created; list the folders before you repeat the call.
            ServerError: The service failed; the same holds.
        """
        return self._call("create", workspace_id, name, parent_folder_id=parent_folder_id)

    def delete(self, folder_id: str) -> None:
        """Delete a folder; one request, no credit. Needs the role Admin.

        Its contents are kept and become unorganised.
        """
        self._call("delete", folder_id)


class Contents(Mirror, of=AsyncContents):
    """Read, create, change, publish, delete and generate contents."""

    __slots__ = ()

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
        return self._call(
            "list",
            workspace_id,
            assigned_to_id=assigned_to_id,
            content_status_id=content_status_id,
            content_score=content_score,
            content_score_min=content_score_min,
            content_score_max=content_score_max,
            page=page,
            limit=limit,
        )

    def create(self, workspace_id: str, title: str, **fields: Unpack[NewContent]) -> Content:
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
        return self._call("create", workspace_id, title, **fields)

    def get(self, content_id: str) -> Content:
        """Read a content; one request, no credit."""
        return self._call("get", content_id)

    def update(self, content_id: str, version: int | None, **changes: Unpack[ContentChanges]) -> Content:
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
        return self._call("update", content_id, version, **changes)

    def edit(self, content_id: str, change: Change, *, attempts: int = 5) -> Content:
        """Change a content: read it, compute the change, send it with the version; on a conflict start again.

        It takes two requests, no credit, and two requests more for each conflict (specification 7, retry rule 3). Each
        change is checked like the arguments of `update` before it is sent.

        Args:
            content_id: The content.
            change: Takes the content and returns the new values as `ContentChanges`, where None clears a field; it runs
                in a worker thread. After a conflict it is called again with the new content. An empty mapping saves
                nothing.
            attempts: Largest number of attempts.

        Returns:
            The content as saved.

        Raises:
            ArgumentError: `change` is not a function, or did not return a mapping of new values.
            EditConflictError: Each attempt met a newer version; nothing was saved, unless the message says that an
                attempt with a lost answer may have been saved and then overwritten.
            OutcomeUnknownError: An answer was lost, and reading the content did not tell whether the change was saved.
        """
        return self._call("edit", content_id, in_worker("change", change, self.thread), attempts=attempts)

    def publish(self, content_id: str, *, url: str | None = None) -> Content:
        """Mark a content as published; one request, no credit. Nothing is sent to a CMS.

        Args:
            content_id: The content.
            url: Where it was published.

        Raises:
            OutcomeUnknownError: No answer came. It may have been marked; read it before you repeat the call.
            ServerError: The service failed; the same holds.
        """
        return self._call("publish", content_id, url=url)

    def delete(self, content_id: str) -> None:
        """Delete a content; one request, no credit; it cannot be undone."""
        self._call("delete", content_id)

    def generate(
        self, content_id: str, settings: GenerationSettings | None = None, *, on_review: ReviewHook | None = None
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
                `"cancel"` or `"leave"`, in a worker thread. If it raises, the generation stays in review, and the
                waiters
                of the job get the error.

        Returns:
            The job; `wait()` gives the review, on which `confirm()` applies the article and `cancel()` discards it.

        Raises:
            ArgumentError: `settings` or `on_review` is of the wrong type.
            JobError: A generation with other settings is under way.
            LaunchUnknownError: The launch may have happened, and no evidence tells whether it did.
            ConflictError: The service refuses, for example because the keyword is not analysed.
        """
        return self._call("generate", content_id, settings, on_review=in_worker("on_review", on_review, self.thread))

    def generation(self, content_id: str) -> Generation:
        """Read the current generation of a content; one request, no credit.

        Raises:
            NotFoundError: It has none.
        """
        return self._call("generation", content_id)

    def review(self, content_id: str) -> GenerationReview:
        """Return the review of a generation, whichever client launched it; one request, no credit.

        Raises:
            NotFoundError: The content has no generation.
        """
        return self._call("review", content_id)


class Pages(Mirror, of=AsyncPages):
    """Read, import, crawl and delete pages."""

    __slots__ = ()

    def list(self, workspace_id: str, *, page: int = 1, limit: int = LARGEST_PAGE) -> Paginator[WebPage, Page[WebPage]]:
        """List the pages of a workspace; one request a page of the list, no credit."""
        return self._call("list", workspace_id, page=page, limit=limit)

    def create(self, workspace_id: str, url: str) -> WebPage:
        """Import a page by its URL; one request, no credit.

        Raises:
            OutcomeUnknownError: No answer came. It may have been imported; list the pages before you repeat the call.
            ServerError: The service failed; the same holds.
        """
        return self._call("create", workspace_id, url)

    def get(self, page_id: str) -> WebPage:
        """Read a page; one request, no credit."""
        return self._call("get", page_id)

    def crawl(self, page_id: str) -> Acknowledgement:
        """Have a page crawled again; one request, no credit.

        Raises:
            OutcomeUnknownError: No answer came. The crawl may have been started.
            ServerError: The service failed; the same holds.
        """
        return self._call("crawl", page_id)

    def delete(self, page_id: str) -> None:
        """Delete a page **and its contents**; one request, no credit. It cannot be undone. Needs the role Admin."""
        self._call("delete", page_id)


class Keywords(Mirror, of=AsyncKeywords):
    """Read, add, analyse and score keywords."""

    __slots__ = ()

    @overload
    def list(self, page_id: str, *, page: int = 1, limit: int = LARGEST_PAGE) -> Paginator[Keyword, Page[Keyword]]: ...

    @overload
    def list(
        self, *, workspace_id: str, page: int = 1, limit: int = LARGEST_PAGE
    ) -> Paginator[Keyword, Page[Keyword]]: ...

    def list(
        self, page_id: str | None = None, *, workspace_id: str | None = None, page: int = 1, limit: int = LARGEST_PAGE
    ) -> Paginator[Keyword, Page[Keyword]]:
        """List the keywords of a page, or of all pages of a workspace; one request a page of the list, no credit.

        The service has no list of a workspace's keywords, so the lists of its pages are read one after the other: one
        request for each hundred pages, and at least one for each of them. Beginning with a later page of the list
        costs the requests of those before it as well.

        Args:
            page_id: The page, with its identifier; or
            workspace_id: the workspace.
            page: Number of the page of the list to begin with.
            limit: Keywords a page of the list, 1 to 100.

        Raises:
            ArgumentError: Neither or both were given.
        """
        return self._call("list", page_id, workspace_id=workspace_id, page=page, limit=limit)

    def create(self, page_id: str, keyword: str) -> Keyword:
        """Track another keyword for a page; one request, no credit.

        Raises:
            OutcomeUnknownError: No answer came. It may have been added; list the keywords before you repeat the call.
            ServerError: The service failed; the same holds.
        """
        return self._call("create", page_id, keyword)

    def get(self, keyword_id: str) -> Keyword:
        """Read a keyword; one request, no credit."""
        return self._call("get", keyword_id)

    def analyze(self, keyword_id: str) -> Job[Keyword]:
        """Launch the analysis of a keyword; one request and **one analysis credit**.

        An analysis of the same keyword is joined while it runs, and not paid again. The first launch of a
        client takes one request more, which reads the balances; so does one that comes after 100 launches or 10 minutes
        (`LaunchPolicy(baseline=)`).

        Returns:
            The job; `wait()` gives the keyword as it is after the analysis.

        Raises:
            LaunchUnknownError: The launch may have happened, and no evidence tells whether it did.
            OutOfCreditsError: The service says that no credits are left.
            ConflictError: The service refuses for another reason.
        """
        return self._call("analyze", keyword_id)

    @overload
    def score(self, keyword_id: str, *, content_id: str, meta_description: str | None = None) -> Report: ...

    @overload
    def score(self, keyword_id: str, *, title: str, html: str, meta_description: str | None = None) -> Report: ...

    def score(
        self,
        keyword_id: str,
        *,
        content_id: str | None = None,
        title: str | None = None,
        html: str | None = None,
        meta_description: str | None = None,
    ) -> Report:
        """Score a content, or a text, against the keyword's recommendations; one request, no credit.

        Args:
            keyword_id: An analysed keyword.
            content_id: The content to score; or
            title: a title and
            html: a body.
            meta_description: With either.

        Returns:
            The report.

        Raises:
            ArgumentError: Neither or both were given.
        """
        return self._call(
            "score", keyword_id, content_id=content_id, title=title, html=html, meta_description=meta_description
        )


class Prompts(Mirror, of=AsyncPrompts):
    """Read, add, analyse and score prompts."""

    __slots__ = ()

    def list(self, keyword_id: str, *, page: int = 1, limit: int = LARGEST_PAGE) -> Paginator[Prompt, Page[Prompt]]:
        """List the prompts of a keyword; one request a page, no credit."""
        return self._call("list", keyword_id, page=page, limit=limit)

    def create(self, keyword_id: str, prompt: str) -> Prompt:
        """Track another prompt for a keyword; one request, no credit.

        Raises:
            OutcomeUnknownError: No answer came. It may have been added; list the prompts before you repeat the call.
            ServerError: The service failed; the same holds.
        """
        return self._call("create", keyword_id, prompt)

    def get(self, prompt_id: str) -> Prompt:
        """Read a prompt; one request, no credit."""
        return self._call("get", prompt_id)

    def analyze(self, prompt_id: str) -> Job[Prompt]:
        """Launch the analysis of a prompt; one request and, as is assumed, **one analysis credit**.

        An analysis of the same prompt is joined while it runs, and not paid again. With a shared state the first launch
        of a client takes one request more, which reads whose launches they are.

        Returns:
            The job; `wait()` gives the prompt as it is after the analysis.

        Raises:
            LaunchUnknownError: The launch may have happened, and no evidence tells whether it did.
            OutOfCreditsError: The service says that no credits are left.
            ConflictError: The service refuses for another reason.
        """
        return self._call("analyze", prompt_id)

    @overload
    def score(self, prompt_id: str, *, content_id: str, meta_description: str | None = None) -> ScoreReport: ...

    @overload
    def score(self, prompt_id: str, *, title: str, html: str, meta_description: str | None = None) -> ScoreReport: ...

    def score(
        self,
        prompt_id: str,
        *,
        content_id: str | None = None,
        title: str | None = None,
        html: str | None = None,
        meta_description: str | None = None,
    ) -> ScoreReport:
        """Score how well a content, or a text, answers the prompt; one request, no credit.

        Args:
            prompt_id: An analysed prompt.
            content_id: The content to score; or
            title: a title and
            html: a body.
            meta_description: With either.

        Returns:
            The report; its `chatgpt` is None while there is none.

        Raises:
            ArgumentError: Neither or both were given.
        """
        return self._call(
            "score", prompt_id, content_id=content_id, title=title, html=html, meta_description=meta_description
        )


class BrandVoices(Mirror, of=AsyncBrandVoices):
    """Read brand voices."""

    __slots__ = ()

    def list(
        self, workspace_id: str, *, page: int = 1, limit: int = LARGEST_PAGE
    ) -> Paginator[BrandVoice, Page[BrandVoice]]:
        """List the brand voices of a workspace; one request a page, no credit."""
        return self._call("list", workspace_id, page=page, limit=limit)

    def get(self, brand_voice_id: str) -> BrandVoice:
        """Read a brand voice; one request, no credit."""
        return self._call("get", brand_voice_id)


class KnowledgeDocuments(Mirror, of=AsyncKnowledgeDocuments):
    """Read and create knowledge documents.

    `client.jobs.watch("knowledge_document", id)` waits for the processing of one that another program created.
    """

    __slots__ = ()

    def list(
        self, workspace_id: str, *, page: int = 1, limit: int = LARGEST_PAGE
    ) -> Paginator[KnowledgeDocument, Page[KnowledgeDocument]]:
        """List the knowledge documents of a workspace; one request a page, no credit."""
        return self._call("list", workspace_id, page=page, limit=limit)

    @overload
    def create(self, workspace_id: str, name: str, *, text: str) -> Job[KnowledgeDocument]: ...

    @overload
    def create(self, workspace_id: str, name: str, *, url: str) -> Job[KnowledgeDocument]: ...

    def create(
        self, workspace_id: str, name: str, *, text: str | None = None, url: str | None = None
    ) -> Job[KnowledgeDocument]:
        """Create a knowledge document from a text or a URL, which the service then processes; one request, no credit.

        Args:
            workspace_id: The workspace.
            name: Its name, at least one character.
            text: The text, of a file for example `Path("brief.md").read_text()`; or
            url: an address to read it from.

        Returns:
            The job of its processing: `job.id` is the document's identifier, and `job.wait()` gives the document.

        Raises:
            ArgumentError: Neither or both of `text` and `url` were given.
            OutcomeUnknownError: No answer came. It may have been created; list the documents before another try.
            ServerError: The service failed; the same holds.
        """
        return self._call("create", workspace_id, name, text=text, url=url)

    def get(self, knowledge_document_id: str) -> KnowledgeDocument:
        """Read a knowledge document and its processing status; one request, no credit."""
        return self._call("get", knowledge_document_id)


class ContentIdeaSearches(Mirror, of=AsyncContentIdeaSearches):
    """Search for content ideas, and read searches again."""

    __slots__ = ()

    def search(self, workspace_id: str, keyword: str) -> Job[ContentIdeas]:
        """Launch a search; one request and **one content-ideas-searches credit**.

        Two searches for one keyword are separate requests and are never merged. The first launch of a client takes one
        request more, which reads the balances; so does one that comes after 100 launches or 10 minutes
        (`LaunchPolicy(baseline=)`).

        Args:
            workspace_id: The workspace.
            keyword: Seed keyword or topic, at least one character.

        Returns:
            The job; `wait()` gives the search record and its ideas.

        Raises:
            LaunchUnknownError: The launch may have happened, and no evidence tells whether it did.
            OutOfCreditsError: The service says that no credits are left.
            ConflictError: The service refuses for another reason.
        """
        return self._call("search", workspace_id, keyword)

    def get(self, content_idea_search_id: str) -> ContentIdeaSearch:
        """Read a search record; one request, no credit."""
        return self._call("get", content_idea_search_id)

    def list(
        self, content_idea_search_id: str, *, page: int = 1, limit: int = LARGEST_PAGE
    ) -> Paginator[ContentIdea, Page[ContentIdea]]:
        """Read the ideas of a search that succeeded; one request a page, no credit."""
        return self._call("list", content_idea_search_id, page=page, limit=limit)


class CreditUsages(Mirror, of=AsyncCreditUsages):
    """Read credit usage entries of the organisation."""

    __slots__ = ()

    def list(
        self,
        type: CreditType | TypeWord | None = None,
        *,
        q: str | None = None,
        page: int = 1,
        limit: int = LARGEST_PAGE,
    ) -> Paginator[CreditUsage, Page[CreditUsage]]:
        """List the entries of one credit type, or of all three, newest first; one request a page and type, no credit.

        The service takes one type a request. Without a type its three lists are read and merged, at least three
        requests, and a later page costs the requests of the pages before it as well. The service's lists are expected
        newest first. One that turns out to come oldest first is read whole before its first entry is given.

        Args:
            type: `"analysis"`, `"ai_writing"` or `"content_idea_search"`; None for all of them.
            q: Text to search for.
            page: Number of the page to begin with.
            limit: Entries a page, 1 to 100.

        Raises:
            ArgumentError: `type` is not one of the three.
        """
        return self._call("list", type, q=q, page=page, limit=limit)

    def report(
        self,
        *,
        since: date | datetime | str | None = None,
        until: date | datetime | str | None = None,
        q: str | None = None,
    ) -> CreditReport:
        """Add up what was spent, per type, day and workspace; at least three requests, no credit.

        Each further 100 entries of a type take one more request.

        Args:
            since: Only entries from this moment on; the lists are read no further than that. An aware datetime, a date,
                which means its first moment in UTC, or either as a text in ISO 8601.
            until: Only entries before this moment.
            q: Text to search for.

        Returns:
            The report, with `.by_type`, `.by_day`, `.by_workspace`, `.total`, `.plot()` and `.to_pandas()`.

        Raises:
            ArgumentError: `since` or `until` is no time, has no offset, or they are in the wrong order.
        """
        return self._call("report", since=since, until=until, q=q)
