"""`cmsapi ideas`."""

from __future__ import annotations

from typing import TypeAlias

import cmsapi
from cmsapi.cli.fanouts.batch import BatchName, Retry, open_batch
from cmsapi.cli.fanouts.fan_out import DryRun, FanOutResult, MaxCredits, NextCommand, Timeout, fan_out
from cmsapi.cli.fanouts.plan import print_plan
from cmsapi.cli.support.arguments import AllowEmpty, SeedKeywords
from cmsapi.cli.support.completing import WorkspaceId
from cmsapi.cli.support.connecting import State, connect_with_journal
from cmsapi.cli.terminal.output import TABLE, Columns, Output, print_list

Found: TypeAlias = tuple[str, cmsapi.ContentIdea]

_COLUMNS: Columns[Found] = {
    "id": lambda found: found[1].id,
    "seed": lambda found: found[0],
    "idea": lambda found: found[1].keyword,
    "search volume": lambda found: found[1].search_volume,
}


async def ideas(
    workspace_id: WorkspaceId,
    keywords: SeedKeywords,
    /,
    *,
    batch: BatchName = None,
    retry: Retry = (),
    max_credits: MaxCredits = None,
    job_timeout: Timeout = None,
    dry_run: DryRun = False,
    allow_empty: AllowEmpty = False,
    state: State = None,
    output: Output = TABLE,
) -> int:
    """Search content ideas for seed keywords, one credit each.

    Two searches for the same keyword cost two credits, except within one batch.

    Args:
        workspace_id: The workspace.
        keywords: Seed keywords; - reads one per line, or CSV, from standard input, @FILE from a file.
    """
    keywords.require_nonempty(allow_empty)

    # The same keyword in another workspace is a separate search.
    def key(keyword: str) -> str:
        return f"{workspace_id} {keyword}"

    async with (
        connect_with_journal(state) as client,
        open_batch(client, batch, retry, key, dry_run=dry_run) as batch_run,
    ):
        planned = await print_plan(client, "idea_search", keywords, max_credits, batch_run, output if dry_run else None)
        if dry_run:
            return planned

        async def search(keyword: str) -> cmsapi.Job[cmsapi.ContentIdeas]:
            return await client.content_ideas.search(workspace_id, keyword)

        result = await fan_out(
            client,
            search,
            keywords,
            max_credits=max_credits,
            job_timeout=job_timeout,
            batch_run=batch_run,
            planned=planned,
        )
    if result.outcomes or output:
        print_list(_found(result), _COLUMNS, output, _document)
    await result.report(NextCommand(["ideas", workspace_id], batch, state, max_credits=max_credits))
    return result.code


def _found(result: FanOutResult[cmsapi.ContentIdeas]) -> list[Found]:
    return [(outcome.item, idea) for outcome in result.outcomes if outcome.value for idea in outcome.value]


def _document(found: Found) -> dict[str, object]:
    seed, idea = found
    return {"seed": seed, **cmsapi.to_dict(idea)}
