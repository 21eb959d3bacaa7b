"""What the tools answer: documents whose fields say their units, from which the output schemas are made.

The models of the SDK hold everything that the service sends. These hold what an assistant needs to go on, because each
field takes room in its context. A field reads the attribute of the model that has its name, or that its alias names.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias

import cmsapi
from cmsapi.extras import needs
from cmsapi.mcp.wording import money, told

with needs("mcp"):
    from pydantic import AfterValidator, AliasChoices, AliasPath, BaseModel, BeforeValidator, ConfigDict, Field

# More ideas than this take much room in the context of an assistant.
_FIRST_IDEAS = 20


def _inside(field: str, part: str) -> AliasChoices:
    """Read a part of a field; without the field it is None."""
    return AliasChoices(AliasPath(field, part), field)


# A word of the service is an enumerated one in the models.
_Word: TypeAlias = Annotated[str, AfterValidator(str.__str__)]
_Person: TypeAlias = Annotated[
    str | None, BeforeValidator(lambda person: person and f"{person.first_name} {person.last_name}")
]


class Answer(BaseModel):
    """Be the base of all answers."""

    # The schema has the names of the fields, and not those of the models.
    model_config: ClassVar[ConfigDict] = ConfigDict(
        from_attributes=True, validate_by_name=True, json_schema_mode_override="serialization"
    )


class Next(Answer):
    """Be the base of answers after which there is something to do."""

    next: str = Field(description="What to do next.")


class Credits(Answer):
    """Count credits by what they pay for; each launch costs one."""

    analysis: int = Field(description="Credits for analyses of keywords.")
    ai_writing: int = Field(description="Credits for generated articles.")
    content_ideas_searches: int = Field(description="Credits for idea searches.")


class SpendingBound(Answer):
    """Show the spending bound, which the person set when the server started; no tool can raise it."""

    max_credits: int = Field(description="Most credits that this server may spend; 0 means that it only reads.")
    spent: int = Field(description="Credits that its launches have cost or may have cost.")
    left: int = Field(description="Credits that it may still spend, if the balance pays for them.")


class Account(Answer):
    """Describe the account of the key."""

    user: str
    organisation: str
    workspaces: int = Field(description="Number of workspaces.")
    balance: Credits = Field(description="Credits that the organisation has left.")
    bound: SpendingBound
    requests_left: int | None = Field(description="Requests that the hour admits now; null without a limit.")
    requests_limit: int | None = Field(description="Requests per hour; null without a limit.")


class WorkspaceLine(Answer):
    """Describe a workspace."""

    id: str
    name: str | None
    website: str | None = Field(validation_alias="website_url")
    country: str | None = Field(validation_alias="country_code")
    language: str | None = Field(validation_alias="language_code")


class Workspaces(Answer):
    """List workspaces."""

    workspaces: list[WorkspaceLine]


class FolderLine(Answer):
    """Describe a folder."""

    id: str
    path: str = Field(description="Names from the top folder to this one, with slashes between them.")
    contents: int = Field(description="Number of contents in it.")
    parent_id: str | None


class Folders(Answer):
    """List the folders of a workspace."""

    folders: list[FolderLine]


class PageOfList(Answer):
    """Be the base of one page of a long list."""

    total: int | None = Field(description="Number of items in the whole list; null if the service does not tell.")
    page: int = Field(description="Number of this page, from 1.")
    has_more: bool = Field(description="Whether another page follows: call again with page + 1.")


class WebPageLine(Answer):
    """Describe a page of the tracked website."""

    id: str
    url: str | None
    title: str | None


class WebPages(PageOfList):
    """List pages of the tracked website."""

    pages: list[WebPageLine]


class ContentLine(Answer):
    """Describe a content without its body."""

    id: str
    title: str | None
    type: _Word | None = Field(description="DRAFT, PUBLISHED or ORIGINAL.")
    score: int | None = Field(validation_alias="content_score", description="Quality for search engines, 0 to 100.")
    words: int | None = Field(validation_alias="words_count")
    status: str | None = Field(validation_alias=_inside("content_status", "label"), description="Step of the workflow.")
    folder: str | None = Field(validation_alias=_inside("folder", "name"))
    page_url: str | None = Field(validation_alias=_inside("page", "url"))
    assigned_to: _Person
    due: datetime | None = Field(validation_alias="due_date")
    updated: datetime | None = Field(validation_alias="updated_at")


class Contents(PageOfList):
    """List contents."""

    contents: list[ContentLine]


class ContentDocument(ContentLine):
    """Describe a content with its body."""

    meta_description: str | None
    page_id: str | None = Field(validation_alias=_inside("page", "id"))
    generation: _Word | None = Field(
        validation_alias=_inside("last_generation", "status"),
        description="State of the last generated article; 'review' waits for a decision.",
    )
    html: str | None = Field(description="Body as HTML without the markers of the editor; null if it was left out.")

    @classmethod
    def of(cls, content: cmsapi.Content, *, with_html: bool) -> Self:
        """Describe a content of the SDK."""
        html = (content.html_sanitized or content.html) if with_html else None
        return cls.model_validate(content).model_copy(update={"html": html})


class KeywordLine(Answer):
    """Describe a keyword."""

    id: str
    keyword: str | None
    analysis: _Word | None = Field(
        validation_alias="analysis_status", description="State of the last analysis; null before the first one."
    )
    analysed: datetime | None = Field(validation_alias="last_analyzed_at")
    search_volume: int | None = Field(description="Searches per month.")
    country: str | None = Field(validation_alias="country_code")
    language: str | None = Field(validation_alias="language_code")
    page_id: str | None


class Keywords(PageOfList):
    """List the keywords of some pages of the website; `total` counts these pages."""

    keywords: list[KeywordLine]


class IdeaLine(Answer):
    """Describe a content idea."""

    id: str | None
    keyword: str | None
    search_volume: int | None = Field(description="Searches per month.")


class Ideas(Answer):
    """List the ideas of a search."""

    search_id: str
    seed: str | None = Field(description="Seed keyword of the search.")
    status: _Word | None = Field(description="pending, success or failed.")
    total: int = Field(description="Number of ideas that were found.")
    ideas: list[IdeaLine] = Field(description="The first of them; list_ideas gives the others.")

    @classmethod
    def of(cls, ideas: cmsapi.ContentIdeas, first: int = 0, count: int = _FIRST_IDEAS) -> Self:
        """List some of the ideas that the SDK has."""
        return cls(
            search_id=ideas.search.id,
            seed=ideas.search.keyword,
            status=ideas.search.status,
            total=len(ideas),
            ideas=[IdeaLine.model_validate(idea) for idea in ideas.ideas[first : first + count]],
        )


class CreditUse(Answer):
    """Report what credits were spent on."""

    since: datetime
    total: int = Field(description="Credits spent since then.")
    by_type: dict[str, int]
    by_day: dict[str, int] = Field(description="Credits by day of UTC; days without any are left out.")
    by_workspace: dict[str, int]


class OpenJob(Answer):
    """Describe a launch whose job has not ended, or whose article waits for a decision."""

    kind: _Word
    target: str = Field(description="What it works on; the seed keyword of an idea search.")
    state: str = Field(description="intent, sending, running or review.")
    launched: datetime = Field(validation_alias="asked_at")
    token: str | None = Field(description="Token for wait_for_jobs; null before the service has named the job.")


class OpenJobs(Next):
    """List open launches."""

    jobs: list[OpenJob]


class Article(Answer):
    """Describe a generated article; the service does not show its text before it is applied."""

    content_id: str
    generation_id: Annotated[str, BeforeValidator(lambda shown: shown or "not shown")] = Field(
        validation_alias=_inside("generation", "id")
    )
    status: _Word = Field(
        validation_alias=_inside("generation", "status"), description="queued, review, applied, discarded or failed."
    )
    decision: Annotated[str | None, BeforeValidator(lambda decided: None if decided == "leave" else decided)] = Field(
        description="How it was decided; null while it waits for a decision."
    )


class Reviews(Next):
    """List generated articles that wait for a decision."""

    articles: list[Article]


class Score(Answer):
    """Score a text against the recommendations of a keyword."""

    score: float | None = Field(description="0.0 to 1.0.")
    report: dict[str, Any] = Field(description="The whole report of the service, as it came.")


class Plan(Next):
    """Say what jobs would cost if they were launched now. Nothing was launched."""

    kind: str
    count: int
    summary: str = Field(description="The plan in one line, for people.")
    credits: int = Field(description="Credits that the launches cost.")
    balance: int | None = Field(description="Credits of that kind that the organisation has; null if not known.")
    within_bound: bool = Field(description="Whether the spending bound of this server allows all of them.")
    requests: int = Field(description="Requests that launches, polls and results take.")
    requests_left: int | None = Field(description="Requests that the hour admits for them; null without a limit.")
    fits_this_hour: bool = Field(description="Whether they fit; if not, the rest waits for later hours.")
    seconds: int = Field(description="Seconds until about the last result.")
    seconds_range: tuple[int, int] = Field(description="Fewest and most seconds, in nine of ten cases.")
    basis: str = Field(description="What the durations rest on.")
    guesses: list[str] = Field(description="What rests on a guess, each with the reason.")


class JobLine(Answer):
    """Describe a job, with its result once it has one."""

    kind: str
    target: str = Field(description="Identifier of the keyword or the content, or the search's own.")
    name: str | None
    token: str = Field(description="Names the job for wait_for_jobs, also after a restart; it is no secret.")
    state: str = Field(description="running, review, succeeded, failed, superseded, vanished or unknown.")
    done: bool
    elapsed: int = Field(description="Seconds since the launch.")
    expected_end: datetime | None
    keyword: KeywordLine | None = Field(None, description="Result of a keyword analysis.")
    ideas: Ideas | None = Field(None, description="Result of an idea search.")
    article: Article | None = Field(None, description="Result of a generation.")
    problem: str | None = Field(None, description="Why there is no result, and what it means for credits.")

    @classmethod
    def of(cls, job: cmsapi.Job[object], problem: BaseException | None = None) -> Self:
        """Describe a job of the SDK.

        Args:
            job: The job.
            problem: Why it could not be waited for.
        """
        status = job.status
        if job.done() and problem is None:
            problem = job.exception()
        result = job.result() if job.done() and problem is None else None
        return cls(
            kind=job.kind.value,
            target=job.target,
            name=job.name,
            token=job.token,
            state=status.phase.value,
            done=status.done,
            elapsed=round(status.elapsed),
            expected_end=status.eta,
            keyword=KeywordLine.model_validate(result) if isinstance(result, cmsapi.Keyword) else None,
            ideas=Ideas.of(result) if isinstance(result, cmsapi.ContentIdeas) else None,
            article=Article.model_validate(result) if isinstance(result, cmsapi.GenerationReview) else None,
            problem=None if problem is None else f"{told(problem)} {money(problem, 'launches')}",
        )


class LaunchLine(Answer):
    """Describe what became of one item of a launch."""

    item: str = Field(description="The item as it was given.")
    state: Literal["launched", "ended earlier", "launching", "not launched", "unknown"] = Field(
        description="launched: its job runs, whether it was launched now or before. ended earlier: it was paid for and "
        "ended before this call. launching: not sent yet, or its answer is still awaited. not launched: it costs "
        "nothing. unknown: a credit may have been spent and no job is known."
    )
    token: str | None = Field(description="Token for wait_for_jobs; null without a job.")
    problem: str | None


class LaunchReport(Next):
    """Report a launch of several items."""

    items: list[LaunchLine]
    credits_spent: int = Field(description="Credits that this call has cost so far; what was joined costs nothing.")
    bound: SpendingBound


class Waited(Next):
    """Report jobs after a wait."""

    jobs: list[JobLine]
    unfinished_tokens: list[str] = Field(description="Tokens of the jobs that still run.")


class Decided(Answer):
    """Report a decision on an article."""

    article: Article
    content: ContentLine | None = Field(description="The content after an article was applied.")
    previous_title: str | None = Field(description="The title before, so that it can be restored.")
    previous_html: str | None = Field(description="The body before, so that it can be restored.")
