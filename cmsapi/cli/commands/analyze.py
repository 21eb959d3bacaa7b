"""`cmsapi analyze`."""

from __future__ import annotations

from cmsapi.cli.fanouts.batch import open_batch
from cmsapi.cli.fanouts.fan_out import NextCommand, fan_out
from cmsapi.cli.fanouts.options import NO_OPTIONS, RunOptions
from cmsapi.cli.fanouts.outcomes import OUTCOME_COLUMNS, outcome_document
from cmsapi.cli.fanouts.plan import print_plan
from cmsapi.cli.fanouts.skipping import SkipAnalyzed, Skipping, SkipSince, skip
from cmsapi.cli.support.arguments import Identifiers
from cmsapi.cli.support.connecting import connect_with_journal
from cmsapi.cli.terminal.output import TABLE, Output, print_list


async def analyze(
    keyword_ids: Identifiers,
    /,
    *,
    options: RunOptions = NO_OPTIONS,
    since: SkipSince = None,
    skip_analyzed: SkipAnalyzed = False,
    output: Output = TABLE,
) -> int:
    """Analyse keywords, one credit each; as many run at a time as the request limit allows.

    Ctrl-C stops launching. Launched jobs keep running, and the command prints how to continue.

    Args:
        keyword_ids: Keywords; - reads identifiers, or CSV with a column id, from standard input, @FILE from a file.
    """
    keyword_ids.require_nonempty(options.allow_empty)
    skipping = Skipping.of(since, skip_analyzed)
    async with connect_with_journal(options.state) as client, open_batch(client, options) as batch_run:
        wanted = await skip(client, keyword_ids, skipping, batch_run)
        planned = await print_plan(
            client,
            "keyword_analysis",
            wanted,
            options,
            batch_run,
            output,
            skipped=len(keyword_ids) - len(wanted),
        )
        if options.dry_run:
            return planned
        result = await fan_out(client, client.keywords.analyze, wanted, options, batch_run, planned)
    if result.outcomes or output:
        print_list(result.outcomes, OUTCOME_COLUMNS, output, outcome_document)
    # A batch takes all items again; without one the command names those that are left.
    again = skipping.options if skipping and options.batch else ()
    await result.report(NextCommand(["analyze"], options, again))
    return result.code
