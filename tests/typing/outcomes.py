"""Outcomes of fan-outs: the value of one that succeeded, the error of one that failed, and neither without a check.

pyright does not narrow by `if outcome.ok:` (it compares literals only), so that programs write `outcome.error is None`.
"""

from __future__ import annotations

from typing import assert_never, assert_type

import cmsapi


async def take_outcomes(client: cmsapi.Client, keyword_ids: list[str]) -> None:
    """Check each outcome in each way."""
    async with client.jobs.map(client.keywords.analyze, keyword_ids) as outcomes:
        async for outcome in outcomes:
            assert_type(outcome, cmsapi.Outcome[str, cmsapi.Keyword])
            assert_type(outcome.item, str)
            assert_type(outcome.result(), cmsapi.Keyword)
            if outcome.ok is True:
                assert_type(outcome, cmsapi.Succeeded[str, cmsapi.Keyword])
                assert_type(outcome.value, cmsapi.Keyword)
                assert_type(outcome.job, cmsapi.Job[cmsapi.Keyword])
            else:
                assert_type(outcome, cmsapi.Failed[str, cmsapi.Keyword])
                assert_type(outcome.error, Exception)
            if outcome.error is None:
                assert_type(outcome.value, cmsapi.Keyword)
            else:
                assert_type(outcome.error, Exception)
        assert_type(outcomes.progress, cmsapi.Progress)
        async for progress in outcomes.follow():
            assert_type(progress.total, int | None)


async def forget_the_check(client: cmsapi.Client, keyword_ids: list[str]) -> None:
    """Take a value or an error that may not be there."""
    async for outcome in client.jobs.map(client.keywords.analyze, keyword_ids):
        outcome.value.lacks("")  # type: ignore[union-attr]  # pyright: ignore[reportOptionalMemberAccess]
        outcome.error.add_note("")  # type: ignore[union-attr]  # pyright: ignore[reportOptionalMemberAccess]
        outcome.job.detach()  # type: ignore[union-attr]  # pyright: ignore[reportOptionalMemberAccess]


def match_outcome(outcome: cmsapi.Outcome[str, cmsapi.Keyword]) -> str:
    """Match each of the two; a third case cannot be."""
    match outcome:
        case cmsapi.Succeeded(item=item, value=keyword):
            assert_type(keyword, cmsapi.Keyword)
            return f"{item}: {keyword.analysis_status}"
        case cmsapi.Failed(item=item, error=error):
            assert_type(error, Exception)
            return f"{item}: {error}"
        case _:
            assert_never(outcome)


async def follow_batch(client: cmsapi.Client, keyword_ids: list[str]) -> None:
    """Name a fan-out, and see how far it is."""
    async with client.jobs.batch("nightly") as batch:
        async for outcome in batch.map(client.keywords.analyze, keyword_ids):
            assert_type(outcome, cmsapi.Outcome[str, cmsapi.Keyword])
            assert_type(batch.progress, cmsapi.Progress)
            assert_type(outcome.value.keyword if outcome.ok is True else outcome.error, str | Exception | None)
    async for ended in client.jobs.as_completed([await client.keywords.analyze("kwd_1")]):
        if ended.ok is True:
            assert_type(ended.value, cmsapi.Keyword)
