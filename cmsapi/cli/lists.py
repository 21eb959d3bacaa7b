"""The commands that list resources, one for each row of `_LISTS`, and the commands ``me`` and ``credits``."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from cyclopts import App, Parameter, validators

from cmsapi import CreditType, Paginator
from cmsapi.cli.connect import DEFAULTS, Options, connect
from cmsapi.cli.inputs import read_items
from cmsapi.cli.output import Writer, attribute, columns, print_model
from cmsapi.jobs.fan_out import each

app: App = App()
Limit: TypeAlias = Annotated[int | None, Parameter(help="Rows per list, at most.", validator=validators.Number(gte=1))]

_PERSON = "id first=first_name last=last_name role email"
_ANALYSIS = "analysis=analysis_status analyzed=last_analyzed_at"
_LISTS = [  # command, parents that it takes, method of the client, columns
    ("workspaces", "", "workspaces.list", "id name website=website_url country=country_code language=language_code"),
    ("users", "", "users.list", _PERSON),
    ("members", "workspaces", "workspaces.members", _PERSON),
    ("statuses", "workspaces", "workspaces.content_statuses", "id label position read_only=is_read_only"),
    ("folders", "workspaces", "folders.list", "id name contents=nb_associated_contents parent=parent_folder_id"),
    ("pages", "workspaces", "pages.list", "id url status=last_status_code"),
    ("keywords", "pages", "keywords.list", f"id keyword volume=search_volume {_ANALYSIS}"),
    ("prompts", "keywords", "prompts.list", f"id prompt {_ANALYSIS}"),
    ("brand-voices", "workspaces", "brand_voices.list", "id name brand=brand_name enabled"),
    ("documents", "workspaces", "knowledge_documents.list", "id name type status url"),
]


async def _write(fetched: Any, writer: Writer, limit: int | None, *, new: bool = False) -> None:
    """Write at most ``limit`` rows of a list; with ``new``, only items that have never been analyzed."""
    count = 0
    async for item in each(fetched if isinstance(fetched, Paginator) else await fetched):
        if new and item.analysis_status is not None:
            continue
        writer.write(item)
        count += 1
        if count == limit:
            return


def add_list(app: App, name: str, inside: str, method: str, shown: str) -> None:
    """Add a command that lists the resources of given parents, or of the organization if ``inside`` is empty."""

    async def all_of_them(*, limit: Limit = None, options: Options = DEFAULTS) -> None:
        async with connect(options) as client, Writer(options, columns(shown)) as writer:
            await _write(attribute(client, method)(), writer, limit)

    async def those_in(*parents: str, new: bool = False, limit: Limit = None, options: Options = DEFAULTS) -> None:
        ids = read_items(parents)
        async with connect(options) as client, Writer(options, columns(shown)) as writer:
            for id_ in ids:
                await _write(attribute(client, method)(id_), writer, limit, new=new)

    those_in.__annotations__["new"] = Annotated[bool, Parameter(parse=_ANALYSIS in shown, help="Only unanalyzed rows.")]
    what = method.removesuffix(".list").rpartition(".")[2].replace("_", " ")
    all_of_them.__doc__ = f"List {what} of the organization."
    those_in.__doc__ = f"List {what} of {inside}.\n\nArgs:\n    parents: Parent ids: arguments, @file, or - for stdin."
    app.command(those_in if inside else all_of_them, name=name)


for _list in _LISTS:
    add_list(app, *_list)


@app.command
async def me(*, options: Options = DEFAULTS) -> None:
    """Check the key and show its user; one request."""
    fields = "id first=first_name last=last_name email organization=organization.name"
    async with connect(options) as client:
        print_model(options, await client.me(), columns(f"{fields} workspaces=organization.workspaces_count"))


@app.command(name="credits")
async def credits_(
    type: Literal["analysis", "ai_writing", "content_idea_search"] | None = None,  # noqa: A002  the service's word
    *,
    text: str | None = None,
    limit: Limit = None,
    options: Options = DEFAULTS,
) -> None:
    """Show the remaining credits, or list how credits of one type were spent.

    Args:
        type: Type of credit to list; by default, the balances are shown.
        text: List only entries that contain this text.
    """
    async with connect(options) as client:
        if type is None:
            organization = (await client.me()).organization
            names = columns("analysis ai_writing content_idea_search=content_ideas_searches")
            print_model(options, organization and organization.credits, names)
            return
        shown = "spent=created_at credits=amount left=remaining_credits keyword=keyword.keyword user=user.last_name"
        async with Writer(options, columns(f"{shown} workspace=workspace.name")) as writer:
            await _write(client.credit_usages.list(CreditType(type), text=text), writer, limit)
