"""Tools that read; none costs a credit. Their docstrings are what an assistant reads."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, TypeAlias

import attrs

import cmsapi
from cmsapi.extras import needs
from cmsapi.mcp.answers import (
    Account,
    Article,
    ContentDocument,
    ContentLine,
    Contents,
    Credits,
    CreditUse,
    FolderLine,
    Folders,
    Ideas,
    KeywordLine,
    Keywords,
    OpenJob,
    OpenJobs,
    Reviews,
    Score,
    WebPageLine,
    WebPages,
    WorkspaceLine,
    Workspaces,
)
from cmsapi.mcp.launches import Launches

with needs("mcp"):
    from pydantic import Field

# Pages of the website whose keywords one call reads: a large website would take the requests of the hour.
_PAGES = 20

Id: TypeAlias = Annotated[str, Field(min_length=1, max_length=200)]
WorkspaceId: TypeAlias = Annotated[Id, Field(description="From list_workspaces.")]
ContentId: TypeAlias = Annotated[Id, Field(description="From list_contents.")]
KeywordId: TypeAlias = Annotated[Id, Field(description="From list_keywords.")]
PageNumber: TypeAlias = Annotated[int, Field(ge=1, description="Number of the page of the list.")]
Percent: TypeAlias = Annotated[int | None, Field(ge=0, le=100)]


@attrs.frozen(eq=False)
class ReadingTools:
    """Hold the tools that read.

    Args:
        client: Reads.
        launches: Knows the spending bound.
    """

    client: cmsapi.Client
    launches: Launches

    async def show_account(self) -> Account:
        """Show the user, the credits that are left, the spending bound of this server, and the request limit.

        One request, no credit.
        """
        user, limit = await self.client.me(), self.client.rate_limit
        return Account(
            user=f"{user.first_name} {user.last_name}",
            organisation=user.organization.name,
            workspaces=user.organization.workspaces_count,
            balance=Credits.model_validate(user.organization.credits),
            bound=self.launches.bound,
            requests_left=limit.remaining,
            requests_limit=limit.limit,
        )

    async def list_workspaces(self) -> Workspaces:
        """List the workspaces, which are tracked websites; begin here to find identifiers. One request, no credit."""
        found = [WorkspaceLine.model_validate(each) async for each in self.client.workspaces.list()]
        return Workspaces(workspaces=found)

    async def list_folders(self, workspace_id: WorkspaceId) -> Folders:
        """List the folders of a workspace. One request, no credit."""
        tree = await self.client.folders.list(workspace_id)
        return Folders(
            folders=[
                FolderLine(
                    id=folder.id,
                    path="/".join(each.name or each.id for each in tree.path(folder.id)),
                    contents=folder.nb_associated_contents,
                    parent_id=folder.parent_folder_id,
                )
                for folder in tree
            ]
        )

    async def list_pages(
        self,
        workspace_id: WorkspaceId,
        page: PageNumber = 1,
        limit: Annotated[int, Field(ge=1, le=100, description="Most pages to list.")] = 50,
    ) -> WebPages:
        """List the pages of the tracked website, to which keywords and contents belong. One request, no credit."""
        found = await self.client.pages.list(workspace_id, page=page, limit=limit)
        pages = [WebPageLine.model_validate(each) for each in found]
        return WebPages(pages=pages, total=found.total, page=found.number, has_more=found.has_more)

    async def list_contents(
        self,
        workspace_id: WorkspaceId,
        min_score: Annotated[Percent, Field(description="Only contents with at least this score.")] = None,
        max_score: Annotated[Percent, Field(description="Only contents with at most this score.")] = None,
        page: PageNumber = 1,
        limit: Annotated[int, Field(ge=1, le=100, description="Most contents to list.")] = 25,
    ) -> Contents:
        """List drafts and articles without their bodies; get_content reads a body. One request, no credit."""
        found = await self.client.contents.list(
            workspace_id, content_score_min=min_score, content_score_max=max_score, page=page, limit=limit
        )
        contents = [ContentLine.model_validate(each) for each in found]
        return Contents(contents=contents, total=found.total, page=found.number, has_more=found.has_more)

    async def get_content(
        self,
        content_id: ContentId,
        with_html: Annotated[bool, Field(description="Whether to include the body, which may be long.")] = True,
    ) -> ContentDocument:
        """Read a draft or an article. One request, no credit.

        `generation` tells whether a generated article waits for a decision; its text shows only after it is applied.
        """
        return ContentDocument.of(await self.client.contents.get(content_id), with_html=with_html)

    async def list_keywords(
        self,
        workspace_id: WorkspaceId,
        page_id: Annotated[Id | None, Field(description="Only the keywords of this page, from list_pages.")] = None,
        unanalysed: Annotated[bool, Field(description="Only keywords that were never analysed.")] = False,
        page: PageNumber = 1,
    ) -> Keywords:
        """List the tracked keywords with the state of their analyses, for twenty pages of the website at a time.

        One request for each of these pages and one for their list; no credit. With `page_id` it is one request.
        """
        if page_id is not None:
            found, page_ids = None, [page_id]
        else:
            found = await self.client.pages.list(workspace_id, page=page, limit=_PAGES)
            page_ids = [each.id for each in found]
        keywords = [keyword for each in page_ids async for keyword in self.client.keywords.list(each)]
        lines = [KeywordLine.model_validate(each) for each in keywords]
        return Keywords(
            keywords=[line for line in lines if not unanalysed or line.analysis is None],
            total=None if found is None else found.total,
            page=page,
            has_more=found is not None and found.has_more,
        )

    async def get_keyword(self, keyword_id: KeywordId) -> KeywordLine:
        """Read a keyword with the state of its analysis. One request, no credit."""
        return KeywordLine.model_validate(await self.client.keywords.get(keyword_id))

    async def list_ideas(
        self,
        search_id: Annotated[Id, Field(description="`search_id` of a search that succeeded.")],
        first: Annotated[int, Field(ge=0, description="How many ideas to leave out at the beginning.")] = 0,
        limit: Annotated[int, Field(ge=1, le=200, description="Most ideas to list.")] = 50,
    ) -> Ideas:
        """List the ideas of a search. Two requests, one more per hundred ideas, no credit."""
        search = await self.client.content_ideas.get(search_id)
        ideas = [idea async for idea in self.client.content_ideas.list(search_id)]
        return Ideas.of(cmsapi.ContentIdeas(search, tuple(ideas)), first, limit)

    async def report_credits(
        self, days: Annotated[int, Field(ge=1, le=366, description="Number of days to report.")] = 30
    ) -> CreditUse:
        """Report what credits were spent on, by type, day and workspace.

        At least three requests, one more per hundred usages, no credit. show_account has the balances.
        """
        since = datetime.now(UTC) - timedelta(days=days)
        report = await self.client.credit_usages.report(since=since)
        return CreditUse(
            since=since,
            total=report.total,
            by_type=dict(report.by_type),
            by_day={day.isoformat(): count for day, count in report.by_day.items() if count},
            by_workspace=dict(report.by_workspace),
        )

    async def list_jobs(self) -> OpenJobs:
        """List launches that have not ended, of this server and of other programs with the same state. No credit.

        Use it after a restart, or when tokens were lost.
        """
        jobs = [OpenJob.model_validate(entry) for entry in await self.client.jobs.journal()]
        then = "Nothing runs." if not jobs else "wait_for_jobs waits for jobs by their tokens."
        return OpenJobs(jobs=jobs, next=then)

    async def list_reviews(self) -> Reviews:
        """List generated articles that wait for a decision. One request for each, no credit.

        It knows articles that were launched with the state of this server; get_content shows the others.
        """
        articles = [Article.model_validate(review) for review in await self.client.jobs.reviews()]
        if not articles:
            then = "No article waits for a decision."
        elif self.launches.bound.max_credits:
            then = "Ask the person, then call confirm_article or cancel_article for each."
        else:
            then = "This server only reads: the person decides, for example with `cmsapi jobs reviews`."
        return Reviews(articles=articles, next=then)

    async def score_text(
        self,
        keyword_id: KeywordId,
        content_id: Annotated[Id | None, Field(description="The content to score; or a title and a body.")] = None,
        title: Annotated[str | None, Field(description="Title of a text that is not saved.")] = None,
        html: Annotated[str | None, Field(description="Body of that text, as HTML.")] = None,
    ) -> Score:
        """Score a content, or a text that is not saved, against the recommendations of an analysed keyword.

        One request, no credit; nothing is changed. Use it to improve a text step by step.
        """
        options: dict[str, str] = {
            name: value
            for name, value in (("content_id", content_id), ("title", title), ("html", html))
            if value is not None
        }
        score: object = self.client.keywords.score
        report = await score(keyword_id, **options)  # type: ignore[operator]  # its overloads take these together only
        return Score(score=report.score, report=cmsapi.to_dict(report))
