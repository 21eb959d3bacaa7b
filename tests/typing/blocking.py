"""Calls without an event loop: each has the type of what the async client's call has to be awaited for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, assert_never, assert_type

import cmsapi
from cmsapi import blocking


def call(client: blocking.Client) -> None:
    """Call methods of each kind."""
    assert_type(client.me(), cmsapi.User)
    assert_type(client.doctor(), cmsapi.Diagnosis)
    assert_type(client.rate_limit, cmsapi.RateLimit)
    assert_type(client.with_options(retry=cmsapi.RetryPolicy()), blocking.Client)
    content = client.contents.create("wsp_1", "Title", html="<p></p>")
    assert_type(content, cmsapi.Content)
    assert_type(client.contents.edit("cnt_1", lambda old: {"title": f"{old.title}!"}), cmsapi.Content)
    assert_type(client.keywords.score("kwd_1", content_id="cnt_1"), cmsapi.Report)
    assert_type(client.jobs.plan("keyword_analysis", 5), cmsapi.Forecast)
    client.contents.update("cnt_1", 1, title=None)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    client.keywords.score("kwd_1")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    blocking.Client(session=None)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]

    async def change(_: cmsapi.Content) -> cmsapi.ContentChanges:
        return {}

    client.contents.edit("cnt_1", change)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def read_lists(client: blocking.Client) -> None:
    """Read lists in each way."""
    assert_type(client.keywords.list("pag_1").first_page(), cmsapi.Page[cmsapi.Keyword])
    assert_type(client.folders.list("wsp_1").first_page(), cmsapi.FolderTree)
    assert_type(client.keywords.list("pag_1").pages(), Iterator[cmsapi.Page[cmsapi.Keyword]])
    for keyword in client.keywords.list("pag_1"):
        assert_type(keyword, cmsapi.Keyword)
    assert_type(list(client.credit_usages.list()), list[cmsapi.CreditUsage])


def wait_for_jobs(client: blocking.Client) -> None:
    """Wait for jobs of each kind."""
    job = client.keywords.analyze("kwd_1")
    assert_type(job, blocking.Job[cmsapi.Keyword])
    assert_type(job.wait(), cmsapi.Keyword)
    assert_type(job.result(), cmsapi.Keyword)
    assert_type(job.status, cmsapi.JobStatus)
    for event in job.events():
        assert_type(event, cmsapi.JobEvent)
    assert_type(client.content_ideas.search("wsp_1", "tents").wait(), cmsapi.ContentIdeas)
    assert_type(client.jobs.watch("prompt_analysis", "pro_1").wait(), cmsapi.Prompt)
    assert_type(client.jobs.gather(job, job), list[cmsapi.Keyword])
    assert_type(client.jobs.attach("cmsjob1.…", "idea_search").wait(), cmsapi.ContentIdeas)
    assert_type(client.jobs.attach(job.token, job.kind), blocking.Job[Any])
    assert_type(client.jobs.attach(job.token, cmsapi.JobKind("generation")), blocking.Job[Any])
    assert_type(client.jobs.watch(job.kind, "kwd_1"), blocking.Job[Any])
    assert_type(client.jobs.watch("generation", "cnt_1").wait(), blocking.GenerationReview)
    assert_type(client.contents.generate("cnt_1").wait().confirm(), cmsapi.Content)
    assert_type(client.jobs.reviews(), list[blocking.GenerationReview])
    client.contents.generate("cnt_1", on_review=lambda review: "confirm" if review.content_id else "leave")


def take_outcomes(client: blocking.Client) -> None:
    """Run fan-outs, and tell the two outcomes apart."""
    with client.jobs.map(client.keywords.analyze, ["kwd_1"]) as outcomes:
        for outcome in outcomes:
            assert_type(outcome, blocking.Outcome[str, cmsapi.Keyword])
            if outcome.ok is True:
                assert_type(outcome.value, cmsapi.Keyword)
                assert_type(outcome.job, blocking.Job[cmsapi.Keyword])
            else:
                assert_type(outcome.error, Exception)
        assert_type(outcomes.progress, cmsapi.Progress)
    with client.jobs.batch("nightly") as batch:
        assert_type(batch, blocking.Batch)
        for each in batch.map(lambda item: client.content_ideas.search("wsp_1", item), ["tents"], key=str.lower):
            match each:
                case blocking.Succeeded(value=ideas):
                    assert_type(ideas, cmsapi.ContentIdeas)
                case blocking.Failed(error=error):
                    assert_type(error, Exception)
                case _:
                    assert_never(each)
        assert_type(batch.unknown, tuple[str, ...])
    for done in client.jobs.as_completed([client.keywords.analyze("kwd_1")]):
        assert_type(done, blocking.Outcome[str, cmsapi.Keyword])
    client.jobs.map(client.keywords.get, ["kwd_1"])  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


async def mistake_it_for_the_async_client(client: blocking.Client) -> None:
    """Await what is there already."""
    await client.me()  # type: ignore[misc]  # pyright: ignore[reportGeneralTypeIssues]
    _ = [each async for each in client.keywords.list("pag_1")]  # type: ignore[attr-defined]  # pyright: ignore[reportGeneralTypeIssues, reportUnknownVariableType]
