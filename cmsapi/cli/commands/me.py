"""`cmsapi me`."""

from __future__ import annotations

import cmsapi
from cmsapi.cli.support.connecting import connect
from cmsapi.cli.terminal.output import AsJson, print_fields, print_json


async def me(*, as_json: AsJson = False) -> None:
    """Verify the key: show its user, organisation and balances; one request."""
    async with connect() as client:
        user = await client.me()
    if as_json:
        print_json(cmsapi.to_dict(user))
        return
    balances = user.organization.credits
    print_fields(
        {
            "user": f"{user.first_name} {user.last_name} <{user.email}>",
            "user id": user.id,
            "organisation": user.organization.name,
            "workspaces": user.organization.workspaces_count,
            "analyses left": f"{balances.analysis:,}",
            "articles left": f"{balances.ai_writing:,}",
            "idea searches left": f"{balances.content_ideas_searches:,}",
        }
    )
