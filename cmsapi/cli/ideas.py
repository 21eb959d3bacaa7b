"""`cmsapi ideas`."""

from __future__ import annotations

from typing import TypeAlias

import cmsapi
from cmsapi.cli.fanning import Harvest, MaxCredits, fan_out, planned, tell_plan
from cmsapi.cli.output import AsCsv, AsJson, Columns, show
from cmsapi.cli.reading import Lines

Found: TypeAlias = tuple[str, cmsapi.ContentIdea]

_COLUMNS: Columns[Found] = {
    "id": lambda found: found[1].id,
    "seed": lambda found: found[0],
    "idea": lambda found: found[1].keyword,
    "search volume": lambda found: found[1].search_volume,
}


async def ideas(
    workspace_id: str,
    keywords: Lines,
    /,
    *,
    max_credits: MaxCredits = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> int:
    """Search content ideas for seed keywords: one credit each. Two searches for one keyword cost two credits.

    Args:
        workspace_id: The workspace.
        keywords: Seed keywords; - reads one a line from standard input, @FILE from a file.
    """
    async with cmsapi.Client() as client:
        tell_plan(client.jobs.plan("idea_search", planned(keywords, max_credits)))

        async def search(keyword: str) -> cmsapi.Job[cmsapi.ContentIdeas]:
            return await client.content_ideas.search(workspace_id, keyword)

        harvest = await fan_out(client, search, keywords, max_credits=max_credits)
    show(_found(harvest), _COLUMNS, as_json=as_json, as_csv=as_csv, document=_document)
    await harvest.tell(f"cmsapi ideas {workspace_id}")
    return harvest.code


def _found(harvest: Harvest[cmsapi.ContentIdeas]) -> list[Found]:
    return [(outcome.item, idea) for outcome in harvest.outcomes if outcome.value for idea in outcome.value]


def _document(found: Found) -> dict[str, object]:
    seed, idea = found
    return {"seed": seed, **cmsapi.to_dict(idea)}
