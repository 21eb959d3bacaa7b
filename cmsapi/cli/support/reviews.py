"""Decide on a generated article.

The interface does not show an article before it is applied (specification 4.4: a generation is `{ id, status }`). So a
review in the terminal applies it, shows the old text against the new one, and puts the old one back on request.
"""

from __future__ import annotations

import asyncio
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
from cmsapi.cli.support.asking import ask
from cmsapi.cli.support.exit_codes import Exit, code_of_all, told
from cmsapi.cli.support.output import clean, counted, say
from cmsapi.cli.support.text_backup import KeptText

_DECISION = Group("Decision", validator=mutually_exclusive)
Flag: TypeAlias = Annotated[bool, Parameter(negative="", show_default=False, group=_DECISION)]
#: Of an article that is there already; `generate` has no such alias, because there it would read like stopping.
Discard: TypeAlias = Annotated[
    bool, Parameter(name=["--discard", "--cancel"], negative="", show_default=False, group=_DECISION)
]


class Choice(enum.Enum):
    """List what the options for a decision say."""

    CONFIRM = "confirm"
    DISCARD = "discard"
    REVIEW = "review"
    LEAVE = "leave"

    @classmethod
    def of(cls, *, confirm: bool = False, discard: bool = False, review: bool = False) -> Choice:
        """Read the options.

        Raises:
            ArgumentError: A review is asked for where nobody can be asked.
        """
        if review:
            ensure_somebody()
            return cls.REVIEW
        return cls.CONFIRM if confirm else cls.DISCARD if discard else cls.LEAVE


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
    for place, review in enumerate(reviews):
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
        except asyncio.CancelledError:
            if rest := len(reviews) - place - 1:
                say(f"{counted(rest, 'more article')} not decided. See: cmsapi jobs reviews")
            raise
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
    elif choice is Choice.DISCARD:
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

    The old text is in a file meanwhile. Whatever ends the review in between, the person is told how to put it back.

    Args:
        client: For putting back.
        review: The review.
        before: The content as it was.

    Raises:
        ArgumentError: No question can be asked, or the old text cannot be written to a file; nothing was applied.
    """
    ensure_somebody()
    words = counted(before.words_count or 0, "word")
    say(f"{clean(before.title)}: the draft has {words}, score {before.content_score}.")
    say("The service shows an article only once it is applied. You can put the old text back then.")
    try:
        answer = await ask("Apply it and compare, discard it, or leave it in review?", "adl")
    except asyncio.CancelledError:
        say(f"\nNothing was decided. Decide with: cmsapi contents review {review.content_id}")
        raise
    if answer != "a":
        await decide(review, Choice.DISCARD if answer == "d" else Choice.LEAVE)
        return
    kept = await KeptText.of(before)
    fate = "It is not known whether the article is applied."
    try:
        after = await review.confirm()
        fate = "The article is applied, and the credit is spent."
        show_difference(before, after)
        if await ask("Keep the new text, or put the old one back?", "pk") == "k":
            say("Kept.")
        else:
            fate = "It is not known whether the old text is back."
            await kept.put_back(client)
            say("The old text is back; the credit is spent.")
    except (asyncio.CancelledError, cmsapi.CMSError):
        say(f"\n{fate} {kept.way_back}")
        raise
    await kept.forget()


def ensure_somebody() -> None:
    """Refuse a review where nobody can be asked.

    Raises:
        ArgumentError: Standard input is not a terminal.
    """
    if not sys.stdin.isatty():
        raise cmsapi.ArgumentError(
            "Standard input is no terminal, so that no question can be asked: use --confirm or --discard. "
            "Nothing was launched or decided.",
            parameter="review",
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
