"""Decide on a generated article.

The interface does not show an article before it is applied (specification 4.4: a generation is `{ id, status }`). So a
review in the terminal applies it, shows the old text against the new one, and puts the old one back on request.
"""

from __future__ import annotations

import difflib
import html
import re
import sys
from collections.abc import Iterator
from typing import Annotated, TypeAlias

from cyclopts import Group, Parameter
from cyclopts.validators import mutually_exclusive
from rich.console import Console
from rich.text import Text

import cmsapi
from cmsapi.cli.asking import ask
from cmsapi.cli.exits import Exit
from cmsapi.cli.output import clean, counted
from cmsapi.display import progress_console

_DECISION = Group("Decision", validator=mutually_exclusive)
Flag: TypeAlias = Annotated[bool, Parameter(negative="", show_default=False, group=_DECISION)]

_BLOCK = re.compile(r"</?(?:p|h\d|li|ul|ol|div|br|tr|table|blockquote|section|article)\b[^>]*>", re.IGNORECASE)
_TAG = re.compile(r"<!--.*?-->|<[^>]*>", re.DOTALL)
_STYLES = {"+": "green", "-": "red", "@": "cyan"}


async def decide(review: cmsapi.GenerationReview, *, confirm: bool, cancel: bool) -> int:
    """Do what an option says; without one leave the article in review."""
    if confirm:
        content = await review.confirm()
        _say(f"Applied: {counted(content.words_count or 0, 'word')}, score {content.content_score}.")
    elif cancel:
        await review.cancel()
        _say("Discarded. The draft is as it was; the credit is spent.")
    else:
        _say(f"In review. Decide with: cmsapi contents review {review.content_id}")
    return Exit.DONE


async def review_by_hand(client: cmsapi.Client, review: cmsapi.GenerationReview, before: cmsapi.Content) -> int:
    """Show the old text, apply the article, show what changed, and keep it or put the old text back.

    Args:
        client: For putting back.
        review: The review.
        before: The content as it was.

    Raises:
        ArgumentError: Nobody is there to be asked.
    """
    ensure_somebody()
    words = counted(before.words_count or 0, "word")
    _say(f"{clean(before.title)}: the draft has {words}, score {before.content_score}.")
    _say("The service shows an article only once it is applied. You can put the old text back then.")
    answer = await ask("Apply it and compare, cancel it, or leave it in review?", "acl")
    if answer != "a":
        return await decide(review, confirm=False, cancel=answer == "c")
    after = await review.confirm()
    show_difference(before, after)
    if await ask("Keep the new text, or put the old one back?", "pk") == "k":
        _say("Kept.")
        return Exit.DONE
    await client.contents.edit(
        after.id,
        lambda _: {"title": before.title, "html": before.html, "meta_description": before.meta_description},
    )
    _say("The old text is back; the credit is spent.")
    return Exit.DONE


def ensure_somebody() -> None:
    """Refuse a review where nobody can be asked.

    Raises:
        ArgumentError: Standard input is not a terminal.
    """
    if not sys.stdin.isatty():
        raise cmsapi.ArgumentError(
            "Nobody can be asked here: use --confirm or --cancel. Nothing was launched or decided.", parameter="review"
        )


def show_difference(before: cmsapi.Content, after: cmsapi.Content) -> None:
    """Print what changed, line by line, without markup."""
    console = Console()
    old, new = list(_lines(before)), list(_lines(after))
    for line in difflib.unified_diff(old, new, "old", "new", lineterm="", n=1):
        console.print(Text(line, style=_STYLES.get(line[:1], "")))
    console.print(
        f"words {before.words_count} → {after.words_count}, score {before.content_score} → {after.content_score}",
        highlight=False,
    )


def _lines(content: cmsapi.Content) -> Iterator[str]:
    """Give the text of a content, one paragraph a line."""
    yield f"title: {clean(content.title)}"
    yield f"meta description: {clean(content.meta_description)}"
    for block in _BLOCK.split(content.html or ""):
        if text := clean(html.unescape(_TAG.sub("", block))):
            yield text


def _say(text: str) -> None:
    progress_console().print(text, markup=False, highlight=False)
