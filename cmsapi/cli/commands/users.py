"""`cmsapi users`."""

from __future__ import annotations

import cmsapi
from cmsapi.cli.support.connecting import connect
from cmsapi.cli.terminal.output import TABLE, Columns, Output, print_list

_COLUMNS: Columns[cmsapi.Member] = {
    "id": lambda member: member.id,
    "name": lambda member: f"{member.first_name} {member.last_name}",
    "role": lambda member: member.role,
    "email": lambda member: member.email,
    "job title": lambda member: member.job_title,
}


async def users(*, output: Output = TABLE) -> None:
    """List the members of the organisation; one request per hundred. Needs the role Admin."""
    async with connect() as client:
        found = [member async for member in client.users.list()]
    print_list(found, _COLUMNS, output, cmsapi.to_dict)
