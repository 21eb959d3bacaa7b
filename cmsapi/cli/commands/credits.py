"""`cmsapi credits`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from operator import itemgetter
from typing import Any

import cmsapi
from cmsapi.cli.support.connecting import connect
from cmsapi.cli.support.times import read_past
from cmsapi.cli.terminal.output import TABLE, Columns, Output, print_bars, print_fields, print_json, print_list

# The days of a report without --since.
_DAYS = 30
# A report of more days leaves out days without usage.
_CALENDAR_DAYS = 62


async def credits(  # noqa: A001  the name of the command
    *,
    since: str | None = None,
    output: Output = TABLE,
) -> None:
    """Show the balances and the use of credits; at least four requests, and one per 100 usages.

    Args:
        since: The first moment of the report: how long ago, such as 30d or 12h, or a date. The default is 30d.
    """
    begin = datetime.now(UTC) - timedelta(days=_DAYS) if since is None else read_past("--since", since)
    async with connect() as client:
        user = await client.me()
        report = await client.credit_usages.report(since=begin)
    balances = user.organization.credits
    if output.json:
        print_json(
            {
                "balances": cmsapi.to_dict(balances),
                "since": begin.isoformat(),
                "total": report.total,
                "byType": dict(report.by_type),
                "byDay": {day.isoformat(): count for day, count in report.by_day.items()},
                "byWorkspace": dict(report.by_workspace),
            }
        )
        return
    if output:
        columns: Columns[dict[str, Any]] = {name: itemgetter(name) for name in report.columns}
        print_list(report.rows, columns, output, dict)
        return
    print_fields(
        {
            "analyses left": f"{balances.analysis:,}",
            "articles left": f"{balances.ai_writing:,}",
            "idea searches left": f"{balances.content_ideas_searches:,}",
            f"spent since {begin.astimezone(UTC):%Y-%m-%d}": f"{report.total:,}",
        }
    )
    if report.entries:
        days = (datetime.now(UTC) - begin).days
        print_bars("by type", report.by_type)
        print_bars(
            "by day (UTC)",
            {f"{day:%a %Y-%m-%d}": count for day, count in report.by_day.items() if count or days <= _CALENDAR_DAYS},
        )
        print_bars("by workspace", report.by_workspace)
