"""`cmsapi contents`: list, show, create, edit, delete, review."""

from __future__ import annotations

from typing import Annotated, TypeAlias, cast

from cyclopts import App, Parameter

import cmsapi
from cmsapi.cli.support.arguments import read_file
from cmsapi.cli.support.completing import ContentId, PageId, WorkspaceId, offer_files
from cmsapi.cli.support.connecting import State, connect, connect_with_journal
from cmsapi.cli.support.listing import Limit, print_all
from cmsapi.cli.support.reviews import Decision, DecisionFlag, Discard, decide, find_review, review_interactively
from cmsapi.cli.support.times import read_due
from cmsapi.cli.terminal.asking import Yes, confirmed
from cmsapi.cli.terminal.exit_codes import Exit
from cmsapi.cli.terminal.output import (
    TABLE,
    AsJson,
    Columns,
    Output,
    print_fields,
    print_json,
)

contents: App = App(name="contents", help="List, show, create, edit, delete and review contents.")

_COLUMNS: Columns[cmsapi.ContentSummary] = {
    "id": lambda content: content.id,
    "title": lambda content: content.title,
    "type": lambda content: content.type,
    "score": lambda content: content.content_score,
    "words": lambda content: content.words_count,
    "status": lambda content: content.content_status.label if content.content_status else None,
    "updated": lambda content: content.updated_at,
}

Body: TypeAlias = Annotated[
    str | None,
    Parameter(
        name="--html",
        converter=read_file,
        completer=offer_files,
        allow_leading_hyphen=True,
        help="File with the body; - reads standard input, '' gives an empty body.",
    ),
]


@contents.command(name="list")
async def list_contents(
    workspace_id: WorkspaceId,
    *,
    min_score: int | None = None,
    max_score: int | None = None,
    assigned_to_id: str | None = None,
    limit: Limit = 100,
    output: Output = TABLE,
) -> None:
    """List contents; one request per hundred.

    Args:
        workspace_id: The workspace.
        min_score: Only contents with at least this score.
        max_score: Only contents with at most this score.
        assigned_to_id: Only contents assigned to this user.
        limit: The largest number of contents to list.
    """
    await print_all(
        lambda client: client.contents.list(
            workspace_id,
            content_score_min=min_score,
            content_score_max=max_score,
            assigned_to_id=assigned_to_id,
            limit=min(limit, 100),
        ),
        _COLUMNS,
        output,
        limit,
    )


@contents.command(name="show")
async def show_content(
    content_id: ContentId,
    *,
    as_html: Annotated[bool, Parameter(name="--html", negative="", show_default=False)] = False,
    as_json: AsJson = False,
) -> None:
    """Show a content; one request.

    Args:
        content_id: The content.
        as_html: Print only the body, without the markers of the editor.
    """
    async with connect() as client:
        content = await client.contents.get(content_id)
    if as_html:
        print(content.html_sanitized or content.html or "")
    else:
        _print_content(content, as_json)


@contents.command
async def create(
    workspace_id: WorkspaceId,
    title: str,
    *,
    html: Body = None,
    meta_description: str | None = None,
    page_id: PageId | None = None,
    folder_id: str | None = None,
    assigned_to_id: str | None = None,
    content_status_id: str | None = None,
    due_date: str | None = None,
    as_json: AsJson = False,
) -> None:
    """Create a draft; one request.

    Args:
        workspace_id: The workspace.
        title: The title.
        meta_description: The meta description.
        page_id: The imported page to attach the draft to.
        folder_id: The folder for the draft.
        assigned_to_id: The user to assign it to.
        content_status_id: Its workflow status.
        due_date: Its due date: such as 14d (from now), 2026-01-31 or 2026-01-31T12:00Z.
    """
    fields: cmsapi.NewContent = {
        "html": html,
        "meta_description": meta_description,
        "page_id": page_id,
        "folder_id": folder_id,
        "assigned_to_id": assigned_to_id,
        "content_status_id": content_status_id,
        "due_date": read_due("due_date", due_date) if due_date else None,
    }
    async with connect() as client:
        content = await client.contents.create(workspace_id, title, **fields)
    _print_content(content, as_json)


@contents.command
async def edit(
    content_id: ContentId,
    *,
    title: str | None = None,
    html: Body = None,
    meta_description: str | None = None,
    folder_id: str | None = None,
    assigned_to_id: str | None = None,
    content_status_id: str | None = None,
    due_date: str | None = None,
    as_json: AsJson = False,
) -> None:
    """Change a content, and try again if it changes elsewhere meanwhile; two requests, and two for each such change.

    Args:
        content_id: The content.
        title: New title.
        meta_description: New meta description; like the others, "" clears it.
        folder_id: New folder.
        assigned_to_id: New assignee.
        content_status_id: New workflow status.
        due_date: New due date: such as 14d (from now), 2026-01-31 or 2026-01-31T12:00Z.
    """
    given = {
        "title": title,
        "html": html,
        "meta_description": meta_description,
        "folder_id": folder_id,
        "assigned_to_id": assigned_to_id,
        "content_status_id": content_status_id,
        "due_date": due_date and read_due("due_date", due_date),
    }
    # An empty text clears a field; the SDK refuses an empty title.
    changes = cast(
        "cmsapi.ContentChanges",
        {name: value or (None if name != "title" else value) for name, value in given.items() if value is not None},
    )
    if not changes:
        raise cmsapi.ArgumentError(
            "At least one change must be given, such as --title or --html. Nothing was sent.", parameter="changes"
        )
    async with connect() as client:
        content = await client.contents.edit(content_id, lambda _: changes)
    _print_content(content, as_json)


@contents.command
async def delete(content_id: ContentId, *, yes: Yes = False) -> int:
    """Delete a content, which cannot be undone; two requests.

    Args:
        content_id: The content.
    """
    async with connect() as client:
        content = await client.contents.get(content_id)
        if not await confirmed(f"Delete {content.title!r} ({content.words_count or 0} words)?", yes):
            return Exit.FAILED
        await client.contents.delete(content_id)
    return Exit.DONE


@contents.command
async def review(
    content_id: ContentId, *, confirm: DecisionFlag = False, discard: Discard = False, state: State = None
) -> None:
    """Decide on the article of a content in review, in the terminal or by an option; at least two requests.

    Args:
        content_id: The content.
        confirm: Apply the article to the draft.
        discard: Discard the article.
    """
    async with connect_with_journal(state) as client:
        before = await client.contents.get(content_id)
        waiting = await find_review(client, content_id)
        if waiting.phase is not cmsapi.Phase.REVIEW:
            raise cmsapi.ArgumentError(
                f"The generation of {content_id} must be in 'review', and is {str(waiting.generation.status)!r}. "
                "Nothing was decided.",
                parameter="content_id",
            )
        if confirm or discard:
            await decide(waiting, Decision.of(confirm=confirm, discard=discard))
        else:
            await review_interactively(client, waiting, before)


def _print_content(content: cmsapi.Content, as_json: bool) -> None:
    if as_json:
        print_json(cmsapi.to_dict(content))
        return
    generation = content.last_generation
    print_fields(
        {
            "id": content.id,
            "title": content.title,
            "type": content.type,
            "status": content.content_status.label if content.content_status else None,
            "score": content.content_score,
            "words": content.words_count,
            "folder": content.folder.name if content.folder else None,
            "page": content.page.url if content.page else None,
            "assigned to": content.assigned_to.email if content.assigned_to else None,
            "due": content.due_date,
            "generation": f"{generation.status} ({generation.id})" if generation else None,
            "version": content.version,
            "updated": content.updated_at,
        }
    )
