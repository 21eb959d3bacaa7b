"""The command ``contents``: list, show, create, update, publish and delete contents."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from attrs import asdict, frozen
from cyclopts import App, Parameter
from rich.prompt import Confirm

from cmsapi.cli.connect import DEFAULTS, Options, connect
from cmsapi.cli.inputs import read_items, read_text
from cmsapi.cli.launches import can_ask
from cmsapi.cli.lists import add_list
from cmsapi.cli.output import columns, note, print_model
from cmsapi.errors import ConfigError

app: App = App(name="contents", help="List, show, create, update, publish and delete contents.")
_ROW = "id title status=content_status.label score=content_score words=words_count updated=updated_at"
_DETAILS = columns(
    f"{_ROW} type folder=folder.name page=page.url assigned_to=assigned_to.email due=due_date published=published_at"
    " generation=last_generation.status version"
)


@Parameter(name="*")
@frozen
class Fields:
    """Fields of a content item that can be set."""

    html: str | None = None
    """File with the body, or - for standard input. To clear the body, the description or an id, give ''."""
    meta_description: str | None = None
    """Description for search engines."""
    folder_id: str | None = None
    """Id of the folder."""
    assigned_to_id: str | None = None
    """Id of the assigned user."""
    content_status_id: str | None = None
    """Id of the workflow status."""
    due_date: datetime | None = None
    """Due date, such as 2026-12-24."""

    def given(self) -> dict[str, Any]:
        """Return the given fields as arguments for the SDK. ``html`` is read from its file; None clears a field."""
        changes: dict[str, Any] = {name: value or None for name, value in asdict(self).items() if value is not None}
        if self.html:
            changes["html"] = read_text(self.html)
            if not changes["html"].strip():
                raise ConfigError("the file with the body is empty; nothing was sent (--html '' clears the body)")
        return changes


_NOTHING = Fields()


add_list(app, "list", "workspaces", "contents.list", _ROW)


@app.command
async def show(content: str, *, html: bool = False, options: Options = DEFAULTS) -> None:
    """Show a content item.

    Args:
        content: Id of the content.
        html: Print only the body, without comments and fact-check marks.
    """
    async with connect(options) as client:
        found = await client.contents.get(content)
    if html:
        print(found.html_sanitized or "")
    else:
        print_model(options, found, _DETAILS)


@app.command
async def create(
    workspace: str, title: str, *, page_id: str | None = None, fields: Fields = _NOTHING, options: Options = DEFAULTS
) -> None:
    """Create a draft.

    Args:
        workspace: Id of the workspace.
        title: Title, 1 to 255 characters.
        page_id: Id of the page to attach the draft to; by default a new empty page.
    """
    given = fields.given()
    async with connect(options) as client:
        created = await client.contents.create(workspace, title, page_id=page_id, **given)
    print_model(options, created, _DETAILS)


@app.command
async def update(
    content: str, *, title: str | None = None, fields: Fields = _NOTHING, options: Options = DEFAULTS
) -> None:
    """Change the current version of a content item.

    Args:
        content: Id of the content.
        title: Title, 1 to 255 characters.
    """
    changes = fields.given() if title is None else {"title": title, **fields.given()}
    if not changes:
        raise ConfigError("nothing to change: give --title, --html or another field")
    async with connect(options) as client:
        print_model(options, await client.contents.edit(content, lambda _: changes), _DETAILS)


@app.command
async def publish(content: str, *, url: str | None = None, options: Options = DEFAULTS) -> None:
    """Mark a content item as published; nothing is sent to a website.

    Args:
        content: Id of the content.
        url: Address at which it was published.
    """
    async with connect(options) as client:
        print_model(options, await client.contents.publish(content, url), _DETAILS)


@app.command
async def delete(*contents: str, yes: bool = False, options: Options = DEFAULTS) -> int:
    """Delete contents and their texts for good.

    Args:
        contents: Ids of the contents: arguments, @file, or - for stdin.
        yes: Do not ask for confirmation.
    """
    ids = read_items(contents)
    if not yes and not can_ask():
        raise ConfigError("there is no terminal to ask for confirmation: --yes deletes without asking")
    if not yes and not Confirm.ask(f"Delete {', '.join(ids)} for good?", default=False):
        return 1
    async with connect(options) as client:
        for id_ in ids:
            await client.contents.delete(id_)
            note(f"{id_}: deleted")
    return 0
