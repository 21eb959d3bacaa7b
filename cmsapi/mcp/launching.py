"""Tools that plan and launch. Their docstrings are what an assistant reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

import attrs

import cmsapi
from cmsapi.extras import needs
from cmsapi.mcp.answers import LaunchLine, LaunchReport, Plan
from cmsapi.mcp.launches import Launch, Launches, LaunchRun
from cmsapi.mcp.reading import ContentId, Id, WorkspaceId
from cmsapi.mcp.wording import money, told

with needs("mcp"):
    from mcp.server.mcpserver import Context
    from mcp.server.mcpserver.exceptions import ToolError
    from pydantic import Field

Run: TypeAlias = Annotated[
    int,
    Field(
        ge=1,
        le=100,
        description="Leave it at 1. The same item with the same `run` is never paid twice on one day. A higher number "
        "pays once more, for work that has ended; only if the person asks for it.",
    ),
]
_MOST_ITEMS = 100


@attrs.frozen(eq=False)
class LaunchingTools:
    """Hold the tools that plan and launch.

    Args:
        client: Plans and launches.
        launches: Hold the spending bound.
    """

    client: cmsapi.Client
    launches: Launches
    # The settings of the generations of this server, by the keys of their items.
    _settings: dict[str, cmsapi.GenerationSettings] = attrs.field(factory=dict, init=False)

    async def plan_jobs(
        self,
        kind: Annotated[Literal["keyword_analysis", "idea_search", "generation"], Field(description="Kind of job.")],
        count: Annotated[int, Field(ge=1, le=100_000, description="How many jobs.")],
    ) -> Plan:
        """Say what jobs would cost in credits, requests and time, before anything is launched.

        One request, no credit. Show the plan to the person before you launch.
        """
        forecast, bound = await self.client.jobs.plan(kind, count), self.launches.bound
        within = forecast.credits <= bound.left
        if not bound.max_credits:
            then = "This server only reads. To launch, the person starts it with --max-credits."
        elif not within:
            then = f"The spending bound has {bound.left} credits left. Launch fewer, or the person starts anew."
        elif forecast.affordable is False:
            then = f"The balance pays for {forecast.balance} of {count}. Launch fewer."
        else:
            then = "Show the person the plan; then launch."
        return Plan(
            kind=kind,
            count=count,
            summary=forecast.headline,
            credits=forecast.credits,
            balance=forecast.balance,
            within_bound=within,
            requests=forecast.requests,
            requests_left=forecast.requests_left,
            fits_this_hour=forecast.fits,
            seconds=round(forecast.seconds),
            seconds_range=(round(forecast.seconds_range[0]), round(forecast.seconds_range[1])),
            basis=forecast.basis,
            guesses=list(forecast.guesses),
            next=then,
        )

    async def analyze_keywords(
        self,
        keyword_ids: Annotated[
            list[Id], Field(min_length=1, max_length=_MOST_ITEMS, description="Keywords, from list_keywords.")
        ],
        context: Context[Any, Any],
        run: Run = 1,
    ) -> LaunchReport:
        """Launch analyses of keywords. COSTS ONE CREDIT for each keyword, inside the spending bound.

        Plan first with plan_jobs. The answer comes when the jobs are launched; wait_for_jobs waits for the results,
        which take a minute or two. The same call again joins the jobs and pays nothing, so it is safe after an error.
        """
        return await self._launch(
            cmsapi.JobKind.KEYWORD_ANALYSIS, keyword_ids, self.client.keywords.analyze, run, context
        )

    async def search_ideas(
        self,
        workspace_id: WorkspaceId,
        keywords: Annotated[
            list[Annotated[str, Field(min_length=1, max_length=200)]],
            Field(min_length=1, max_length=_MOST_ITEMS, description="Seed keywords or topics."),
        ],
        context: Context[Any, Any],
        run: Run = 1,
    ) -> LaunchReport:
        """Search content ideas for seed keywords. COSTS ONE CREDIT for each, inside the spending bound.

        Plan first with plan_jobs. The answer comes when the searches are launched; wait_for_jobs waits for the ideas.
        The same call again joins the searches and pays nothing, so it is safe after an error.
        """

        async def search(keyword: str) -> cmsapi.Job[cmsapi.ContentIdeas]:
            return await self.client.content_ideas.search(workspace_id, keyword)

        return await self._launch(cmsapi.JobKind.IDEA_SEARCH, keywords, search, run, context, f"{workspace_id} ")

    async def generate_article(
        self,
        content_id: ContentId,
        context: Context[Any, Any],
        custom_instructions: Annotated[str | None, Field(description="What the article must heed.")] = None,
        brand_voice_id: Annotated[Id | None, Field(description="Brand voice to apply.")] = None,
        fact_checking: Annotated[bool | None, Field(description="Whether to check facts.")] = None,
        knowledge_base: Annotated[bool | None, Field(description="Whether to use the knowledge documents.")] = None,
        web_search: Annotated[bool | None, Field(description="Whether to search the web.")] = None,
        run: Run = 1,
    ) -> LaunchReport:
        """Generate an article for a draft. COSTS ONE AI-WRITING CREDIT, inside the spending bound.

        The keyword of the draft's page must be analysed. The draft stays as it is: the article waits in review until
        confirm_article or cancel_article decides. The same call again joins the generation and pays nothing.
        """
        settings = cmsapi.GenerationSettings(
            custom_instructions=custom_instructions,
            brand_voice_id=brand_voice_id,
            fact_checking_enabled=fact_checking,
            knowledge_base_enabled=knowledge_base,
            knowledge_web_search_enabled=web_search,
        )
        key = _key(cmsapi.JobKind.GENERATION, content_id, run)
        if self._settings.get(key, settings) != settings and key in await self.launches.known():
            raise ToolError(
                f"Run {run} of this draft was asked for with other settings. Nothing was launched or charged. To pay "
                f"for another article with these settings, decide on that one, and pass run={run + 1}."
            )
        self._settings[key] = settings

        async def generate(content_id: str) -> cmsapi.Job[cmsapi.GenerationReview]:
            return await self.client.contents.generate(content_id, settings)

        return await self._launch(cmsapi.JobKind.GENERATION, [content_id], generate, run, context)

    async def _launch(
        self,
        kind: cmsapi.JobKind,
        given: list[str],
        launch: Launch,
        run: int,
        context: Context[Any, Any],
        prefix: str = "",
    ) -> LaunchReport:
        items = {_key(kind, prefix + item, run): item for item in given}
        running = await self.launches.launch(kind, items, launch, context.report_progress)
        lines = [_line(running, key, item) for key, item in items.items()]
        _check_any(running, lines)
        return LaunchReport(items=lines, credits_spent=running.credits, bound=self.launches.bound, next=_next(lines))


def _key(kind: cmsapi.JobKind, item: str, run: int) -> str:
    """Return the key of an item in the batch."""
    return f"{kind.value} {item}" if run == 1 else f"{kind.value} {item} (run {run})"


def _line(run: LaunchRun, key: str, item: str) -> LaunchLine:
    outcome, job = run.outcomes.get(key), run.jobs.get(key)
    error = outcome.error if outcome is not None else None
    if outcome is None and job is None and run.done:
        error = run.failure or _stop(run.outcomes)
    state: Literal["launched", "ended earlier", "launching", "not launched", "unknown"]
    if isinstance(error, cmsapi.CMSError) and error.in_doubt:
        state = "unknown"
    elif outcome is not None and outcome.earlier:
        state = "ended earlier"
    elif job is not None:
        state = "launched"
    else:
        state = "not launched" if run.done or outcome is not None else "launching"
    problem = None if error is None else f"{told(error)} {money(error, 'launches')}"
    if state == "not launched":
        problem = problem or "Launching stopped before it was sent. Nothing was charged for it."
    return LaunchLine(item=item, state=state, token=job.token if job is not None else None, problem=problem)


def _stop(outcomes: Mapping[str, cmsapi.Outcome[str, Any]]) -> Exception | None:
    """Return why a run stopped before its last item."""
    errors = (outcome.error for outcome in outcomes.values())
    return next((error for error in errors if isinstance(error, cmsapi.OutOfCreditsError)), None)


def _check_any(run: LaunchRun, lines: list[LaunchLine]) -> None:
    """Raise when no item has a job, so that the client shows it as an error."""
    problems = [line for line in lines if line.state in ("not launched", "unknown")]
    if len(problems) == len(lines):
        spent = f" Credits that this call has cost or may have cost: {run.credits}."
        raise ToolError("\n".join(f"{line.item}: {line.problem}" for line in problems) + spent)


def _next(lines: list[LaunchLine]) -> str:
    states = {line.state for line in lines}
    advice = []
    if "launching" in states:
        advice.append("Some launches are not finished: call this tool again with the same arguments, which joins them.")
    if any(line.token is not None for line in lines):
        advice.append("wait_for_jobs gives the results.")
    if "unknown" in states:
        advice.append("Ask the person what to do about unknown ones; do not launch them again by yourself.")
    return " ".join(advice)
