"""`cmsapi ideas`."""

from __future__ import annotations

from typing import TypeAlias

import cmsapi
from cmsapi.cli.fanouts.batch import open_batch
from cmsapi.cli.fanouts.fan_out import FanOutResult, NextCommand, fan_out
from cmsapi.cli.fanouts.options import NO_OPTIONS, RunOptions
from cmsapi.cli.fanouts.plan import print_plan
from cmsapi.cli.support.arguments import SeedKeywords
from cmsapi.cli.support.completing import WorkspaceId
from cmsapi.cli.support.connecting import connect_with_journal
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
    options: RunOptions = NO_OPTIONS,
    output: Output = TABLE,
) -> int:
    """Search content ideas for seed keywords, one credit each.

    Two searches for the same keyword cost two credits, except within one batch.

    Args:
        workspace_id: The workspace.
        keywords: Seed keywords; - reads one per line, or CSV, from standard input, @FILE from a file.
    """
    keywords.require_nonempty(options.allow_empty)

    # The same keyword in another workspace is a separate search.
    def key(keyword: str) -> str:
        return f"{workspace_id} {keyword}"

    async with connect_with_journal(options.state) as client, open_batch(client, options, key) as batch_run:
        planned = await print_plan(client, "idea_search", keywords, options, batch_run, output)
        if options.dry_run:
            return planned

        async def search(keyword: str) -> cmsapi.Job[cmsapi.ContentIdeas]:
            return await client.content_ideas.search(workspace_id, keyword)

        result = await fan_out(client, search, keywords, options, batch_run, planned)
    if result.outcomes or output:
        print_list(_found(result), _COLUMNS, output, _document)
    await result.report(NextCommand(["ideas", workspace_id], options))
    return result.code


def _found(result: FanOutResult[cmsapi.ContentIdeas]) -> list[Found]:
    return [(outcome.item, idea) for outcome in result.outcomes if outcome.value for idea in outcome.value]


def _document(found: Found) -> dict[str, object]:
    seed, idea = found
    return {"seed": seed, **cmsapi.to_dict(idea)}
