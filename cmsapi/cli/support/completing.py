"""Offer files and identifiers to the completion of a shell.

A shell asks each time its user presses the Tab key. An identifier then takes one or two requests, which never wait for
the request limit. Completion has no way to report an error, so it offers nothing after one.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

from cyclopts import Parameter

import cmsapi
from cmsapi.cli.support.connecting import STATE_VARIABLE, connect_with_journal
from cmsapi.cli.terminal.output import printable

if TYPE_CHECKING:
    from cyclopts.completion import CompletionContext

# Seconds that a person waits for completion.
_PATIENCE = 3.0
_FILE = "@"

Offer: TypeAlias = tuple[str, str]
Completer: TypeAlias = Callable[["CompletionContext"], Sequence[Offer]]


def offer_files(context: CompletionContext) -> list[Offer]:
    """Offer paths, for an option that names a file."""
    return _paths(context.incomplete, "")


def offer_lists(context: CompletionContext) -> list[Offer]:
    """Offer files with identifiers, which begin with an @."""
    if context.incomplete.startswith(_FILE):
        return _paths(context.incomplete.removeprefix(_FILE), _FILE)
    # Bash gives the sign as a word of its own.
    typed = context.argument.tokens
    return _paths(context.incomplete, "") if typed and typed[-1].value == _FILE else []


def _paths(begun: str, prefix: str) -> list[Offer]:
    directory, _, name = begun.rpartition("/")
    above = f"{directory}/" if "/" in begun else ""
    with contextlib.suppress(OSError):
        entries = sorted(Path(above or ".").expanduser().iterdir())
        return [
            (f"{prefix}{above}{entry.name}{'/' if entry.is_dir() else ''}", "")
            for entry in entries
            if entry.name.startswith(name) and (name.startswith(".") or not entry.name.startswith("."))
        ]
    return []


async def _workspaces(client: cmsapi.Client) -> list[Offer]:
    return [(each.id, printable(each.name)) for each in await client.workspaces.list()]


async def _contents(client: cmsapi.Client) -> list[Offer]:
    workspaces = await client.workspaces.list()
    lists = await asyncio.gather(*(client.contents.list(each.id) for each in workspaces[:1]))
    return [(each.id, printable(each.title)) for contents in lists for each in contents]


async def _pages(client: cmsapi.Client) -> list[Offer]:
    workspaces = await client.workspaces.list()
    lists = await asyncio.gather(*(client.pages.list(each.id) for each in workspaces[:1]))
    return [(each.id, printable(each.url)) for pages in lists for each in pages]


async def _tokens(client: cmsapi.Client) -> list[Offer]:
    return [
        (each.token, f"{each.kind.value.replace('_', ' ')} of {printable(each.target)}")
        for each in await client.jobs.journal()
        if each.token is not None
    ]


async def _batches(client: cmsapi.Client) -> list[Offer]:
    return [(name, "") for name in sorted({each.batch for each in await client.jobs.journal() if each.batch})]


def _offer(read: Callable[[cmsapi.Client], Awaitable[Sequence[Offer]]], *, lists: bool = False) -> Completer:
    async def ask(state: str | None) -> Iterable[Offer]:
        async with asyncio.timeout(_PATIENCE), connect_with_journal(state) as client:
            return await read(
                client.with_options(limits=cmsapi.RateLimits(max_wait=0.5), retry=cmsapi.RetryPolicy(max_attempts=1))
            )

    def complete(context: CompletionContext) -> list[Offer]:
        offers = offer_lists(context) if lists else []
        if offers or (lists and context.incomplete.startswith(_FILE)):
            return offers
        typed = {token.value for token in context.argument.tokens}
        with contextlib.suppress(cmsapi.CMSError, TimeoutError), ThreadPoolExecutor(1) as thread:
            # The command line has a loop already.
            found = thread.submit(asyncio.run, ask(os.environ.get(STATE_VARIABLE))).result()
            return [offer for offer in found if offer[0] not in typed]
        return []

    return complete


#: Names of batches with open launches.
offer_batches: Completer = _offer(_batches)
#: Tokens of open launches, and files.
offer_tokens: Completer = _offer(_tokens, lists=True)
#: Contents and pages of the first workspace, and files.
offer_contents: Completer = _offer(_contents, lists=True)
offer_pages: Completer = _offer(_pages, lists=True)

WorkspaceId: TypeAlias = Annotated[str, Parameter(completer=_offer(_workspaces))]
ContentId: TypeAlias = Annotated[str, Parameter(completer=_offer(_contents))]
PageId: TypeAlias = Annotated[str, Parameter(completer=_offer(_pages))]
