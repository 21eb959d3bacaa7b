"""`cmsapi prompts`: list the prompts of a keyword, and add some."""

from __future__ import annotations

from cyclopts import App

import cmsapi
from cmsapi.cli.support.arguments import AllowEmpty, PromptTexts
from cmsapi.cli.support.connecting import connect
from cmsapi.cli.support.listing import print_all
from cmsapi.cli.support.repeating import for_each
from cmsapi.cli.terminal.output import TABLE, Columns, Output, print_list

prompts: App = App(name="prompts", help="List the prompts of a keyword, or add prompts to it.")

_COLUMNS: Columns[cmsapi.Prompt] = {
    "id": lambda prompt: prompt.id,
    "prompt": lambda prompt: prompt.prompt,
    "analysis": lambda prompt: prompt.analysis_status,
    "analysed": lambda prompt: prompt.last_analyzed_at,
}


@prompts.default
async def list_prompts(keyword_id: str, *, output: Output = TABLE) -> None:
    """List the prompts of a keyword; one request per hundred.

    Args:
        keyword_id: The keyword.
    """
    await print_all(lambda client: client.prompts.list(keyword_id), _COLUMNS, output)


@prompts.command(name="add")
async def add_prompts(
    keyword_id: str, texts: PromptTexts, /, *, allow_empty: AllowEmpty = False, output: Output = TABLE
) -> int:
    """Track more prompts for a keyword; one request each, no credit.

    Args:
        keyword_id: The keyword.
        texts: Prompts; - reads one per line, or CSV, from standard input, @FILE from a file.
    """
    texts.require_nonempty(allow_empty)
    async with connect() as client:
        added, code = await for_each(texts, lambda prompt: client.prompts.create(keyword_id, prompt))
    if added or output:
        print_list(added, _COLUMNS, output, cmsapi.to_dict)
    return code
