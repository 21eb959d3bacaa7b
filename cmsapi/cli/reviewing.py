"""Decide on a generated article.

The interface does not show an article before it is applied (specification 4.4: a generation is `{ id, status }`). So a
review in the terminal applies it, shows the old text against the new one, and puts the old one back on request.
"""

from __future__ import annotations

import difflib
import enum
import html
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, TypeAlias

from cyclopts import Group, Parameter
from cyclopts.validators import mutually_exclusive
from rich.console import Console
from rich.text import Text

import cmsapi
from cmsapi.cli.asking import ask
from cmsapi.cli.exits import Exit, code_of_all, told
from cmsapi.cli.output import clean, counted, say

_DECISION = Group("Decision", validator=mutually_exclusive)
Flag: TypeAlias = Annotated[bool, Parameter(negative="", show_default=False, group=_DECISION)]


class Choice(enum.Enum):
    """List what the options for a decision say."""

    CONFIRM = "confirm"
    CANCEL = "cancel"
    REVIEW = "review"
    LEAVE = "leave"

    @classmethod
    def of(cls, *, confirm: bool = False, cancel: bool = False, review: bool = False) -> Choice:
        """Read the options.

        Raises:
            ArgumentError: A review is asked for where nobody can be asked.
        """
        if review:
            ensure_somebody()
            return cls.REVIEW
        return cls.CONFIRM if confirm else cls.CANCEL if cancel else cls.LEAVE


_BLOCK = re.compile(r"</?(?:p|h\d|li|ul|ol|div|br|tr|table|blockquote|section|article)\b[^>]*>", re.IGNORECASE)
_TAG = re.compile(r"<!--.*?-->|<[^>]*>", re.DOTALL)
_OPEN = (None, "leave")
_STYLES = {"+": "green", "-": "red", "@": "cyan"}


async def decide_on_all(
    client: cmsapi.Client,
    reviews: Sequence[cmsapi.GenerationReview],
    before: Mapping[str, cmsapi.Content],
    choice: Choice,
) -> Exit:
    """Decide on each article, one after another; an error ends none of the others.

    Args:
        client: For reading and putting back.
        reviews: The articles.
        before: Contents as they were, as far as they have been read.
        choice: What the options say.

    Returns:
        The exit code.
    """
    ends: list[BaseException | None] = []
    for review in reviews:
        name = review.content_id if len(reviews) > 1 else None
        try:
            if choice is Choice.REVIEW and review.decision in _OPEN:
                old = before.get(review.content_id) or await client.contents.get(review.content_id)
                await review_by_hand(client, review, old)
            else:
                await decide(review, choice, name)
            ends.append(None)
        except cmsapi.CMSError as error:
            say(f"{review.content_id}: {told(error)}", style="red")
            ends.append(error)
    return code_of_all(ends)


async def decide(review: cmsapi.GenerationReview, choice: Choice, name: str | None = None) -> None:
    """Do what an option says; without one leave the article in review.

    Args:
        review: The article.
        choice: What the option says.
        name: What to call it, where there are several.
    """
    prefix = f"{name}: " if name else ""
    if review.decision not in _OPEN:
        say(f"{prefix}Decided before: it is {review.generation.status}.")
    elif choice is Choice.CONFIRM:
        content = await review.confirm()
        say(f"{prefix}Applied: {counted(content.words_count or 0, 'word')}, score {content.content_score}.")
    elif choice is Choice.CANCEL:
        await review.cancel()
        say(f"{prefix}Discarded. The draft is as it was; the credit is spent.")
    else:
        say(f"{prefix}In review. Decide with: cmsapi contents review {review.content_id}")


async def waiting_review(client: cmsapi.Client, content_id: str) -> cmsapi.GenerationReview:
    """Read the generation of a content; a decision on it ends the launch that was written down, if there is one."""
    review = await client.contents.review(content_id)
    for entry in await client.jobs.journal():
        if entry.job_id == review.generation.id and entry.token is not None:
            job = client.jobs.attach(entry.token)
            await job.refresh()
            return await job.review() if job.done else review
    return review


async def review_by_hand(client: cmsapi.Client, review: cmsapi.GenerationReview, before: cmsapi.Content) -> None:
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
    say(f"{clean(before.title)}: the draft has {words}, score {before.content_score}.")
    say("The service shows an article only once it is applied. You can put the old text back then.")
    answer = await ask("Apply it and compare, cancel it, or leave it in review?", "acl")
    if answer != "a":
        await decide(review, Choice.CANCEL if answer == "c" else Choice.LEAVE)
        return
    after = await review.confirm()
    show_difference(before, after)
    if await ask("Keep the new text, or put the old one back?", "pk") == "k":
        say("Kept.")
        return
    await client.contents.edit(
        after.id,
        lambda _: {"title": before.title, "html": before.html, "meta_description": before.meta_description},
    )
    say("The old text is back; the credit is spent.")


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
        console.print(Text(line, style=_STYLES.get(line[:1], "")), soft_wrap=not console.is_terminal)
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
