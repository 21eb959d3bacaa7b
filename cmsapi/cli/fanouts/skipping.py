"""Leave out keywords that have an analysis already, so that they are not paid for again."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Annotated, TypeAlias

import attrs
from cyclopts import Group, Parameter
from cyclopts.validators import mutually_exclusive

import cmsapi
from cmsapi.cli.fanouts.batch import BatchRun
from cmsapi.cli.support.arguments import Items
from cmsapi.cli.support.connecting import note_nothing_launched
from cmsapi.cli.support.times import read_past
from cmsapi.cli.terminal.output import print_message, printable
from cmsapi.cli.terminal.progress import ItemCount, LiveProgress, stderr_console
from cmsapi.jobs.fanout.forecast import counted
from cmsapi.jobs.kinds.registry import KINDS

# More names than this are counted, and not printed.
_MAX_NAMED = 3
# The most keywords to read at a time.
_MOST_AT_A_TIME = 16

_SKIPPING = Group("Skipping", validator=mutually_exclusive)
SkipAnalyzed: TypeAlias = Annotated[
    bool,
    Parameter(
        name="--skip-analyzed",
        negative="",
        show_default=False,
        group=_SKIPPING,
        help="Launch only keywords that have no analysis yet. Reads them first, at most one request each.",
    ),
]
SkipSince: TypeAlias = Annotated[
    str | None,
    Parameter(
        name="--since",
        show_default=False,
        group=_SKIPPING,
        help="Launch only keywords that were not analysed since then: how long ago, such as 30d or 12h, or a date. "
        "Reads them first, at most one request each.",
    ),
]


@attrs.frozen
class Skipping:
    """Decide which keywords need no analysis.

    Args:
        typed: The value of `--since`; None for `--skip-analyzed`.
        since: The moment that it means; None for `--skip-analyzed`.
    """

    typed: str | None = None
    since: datetime | None = None

    @classmethod
    def of(cls, since: str | None, skip_analyzed: bool) -> Skipping | None:
        """Return the choice of the options; None if all keywords are launched.

        Raises:
            ArgumentError: The value of `--since` is no moment in the past.
        """
        if since is not None:
            return cls(since, read_past("--since", since))
        return cls() if skip_analyzed else None

    @property
    def options(self) -> list[str]:
        """The options to type again."""
        return ["--skip-analyzed"] if self.typed is None else ["--since", self.typed]

    def reason(self, keyword: cmsapi.Keyword) -> str | None:
        """Return why a keyword is not launched; None if it is."""
        phase = KINDS["keyword_analysis"].of_word(keyword.analysis_status).phase
        if phase is cmsapi.Phase.RUNNING:
            return "being analysed by a launch that is not in this state"
        if phase is not cmsapi.Phase.SUCCEEDED:
            return None
        if self.since is None:
            return "analysed already"
        if keyword.last_analyzed_at is None:
            # A credit that is spent cannot be had back; a keyword that is left out can be launched later.
            return "analysed at a time that the service does not tell"
        return f"analysed since {self.since:%Y-%m-%d %H:%M} UTC" if keyword.last_analyzed_at >= self.since else None


async def skip(
    client: cmsapi.Client, items: Items[str], skipping: Skipping | None, batch_run: BatchRun | None
) -> Items[str]:
    """Read the keywords, print which of them are left out, and return the others.

    Items of a batch that were launched in earlier runs stay: they cost nothing, and their results are printed again.

    Args:
        client: Reads the keywords.
        items: The identifiers.
        skipping: Decides; None leaves out nothing.
        batch_run: The batch of the items, or None.
    """
    if skipping is None:
        return items
    with note_nothing_launched():
        known = {entry.target for entry in await client.jobs.journal()}
    candidates = [item for item in (batch_run.missing(items) if batch_run else items) if item not in known]
    reasons: dict[str, list[str]] = {}
    skipped: set[str] = set()
    for item, keyword in (await _read(client, candidates)).items():
        if reason := skipping.reason(keyword):
            reasons.setdefault(reason, []).append(keyword.keyword or item)
            skipped.add(item)
    for reason, names in reasons.items():
        more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
        shown = ", ".join(map(printable, names[:_MAX_NAMED]))
        print_message(f"skipped: {len(names):,} of {counted(len(items), 'keyword')}, {reason}: {shown}{more}")
    if not skipped:
        print_message(f"skipped: none of {counted(len(items), 'keyword')}")
    return items.without(skipped)


async def _read(client: cmsapi.Client, wanted: Collection[str]) -> Mapping[str, cmsapi.Keyword]:
    """Read keywords: one after another, and with the others of their pages for as long as that takes fewer requests."""
    found: dict[str, cmsapi.Keyword] = {}
    rest, listed, gained, at_a_time = list(wanted), set[str](), 0, 1
    live, count = LiveProgress(stderr_console()), ItemCount(len(rest))
    live.add("keywords read", count)
    async with live.running():
        while rest:
            begun, rest = rest[:at_a_time], rest[at_a_time:]
            answers = zip(begun, await asyncio.gather(*(_get(client, one) for one in begun)), strict=True)
            keywords = {item: keyword for item, keyword in answers if keyword}
            pages = {each.page_id for each in keywords.values() if each.page_id is not None} - listed
            if rest and gained >= len(listed):
                listed |= pages
                neighbours = await _neighbours(client, pages, rest)
                gained += len(neighbours)
                keywords |= {each.id: each for each in neighbours}
            found |= keywords
            rest = [item for item in rest if item not in found]
            count.done = len(wanted) - len(rest)
            at_a_time = min(_MOST_AT_A_TIME, at_a_time * 2)
    return found


async def _get(client: cmsapi.Client, keyword_id: str) -> cmsapi.Keyword | None:
    """Read a keyword; None for one that does not exist, which its launch then reports."""
    try:
        return await client.keywords.get(keyword_id)
    except (cmsapi.NotFoundError, cmsapi.BadRequestError, cmsapi.ValidationError, cmsapi.ForbiddenError):
        return None


async def _neighbours(client: cmsapi.Client, pages: Collection[str], wanted: Sequence[str]) -> list[cmsapi.Keyword]:
    """Return the wanted keywords among the first hundred of each page."""
    lists = await asyncio.gather(*(client.keywords.list(page) for page in pages))
    return [keyword for each in lists for keyword in each if keyword.id in wanted]
