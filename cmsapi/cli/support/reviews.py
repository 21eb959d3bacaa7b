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
from cmsapi.cli.support.exit_codes import Exit, combined_exit_code, error_text
from cmsapi.cli.support.output import counted, print_message, printable
from cmsapi.cli.support.text_backup import TextBackup

_DECISION = Group("Decision", validator=mutually_exclusive)
DecisionFlag: TypeAlias = Annotated[bool, Parameter(negative="", show_default=False, group=_DECISION)]
#: Of an article that is there already; `generate` has no such alias, because there it would read like stopping.
Discard: TypeAlias = Annotated[
    bool, Parameter(name=["--discard", "--cancel"], negative="", show_default=False, group=_DECISION)
]


class Decision(enum.Enum):
    """List what the options for a decision say."""

    CONFIRM = "confirm"
    DISCARD = "discard"
    REVIEW = "review"
    LEAVE = "leave"

    @classmethod
    def of(cls, *, confirm: bool = False, discard: bool = False, review: bool = False) -> Decision:
        """Read the options.

        Raises:
            ArgumentError: A review is asked for where nobody can be asked.
        """
        if review:
            require_terminal()
            return cls.REVIEW
        return cls.CONFIRM if confirm else cls.DISCARD if discard else cls.LEAVE


_BLOCK = re.compile(r"</?(?:p|h\d|li|ul|ol|div|br|tr|table|blockquote|section|article)\b[^>]*>", re.IGNORECASE)
_TAG = re.compile(r"<!--.*?-->|<[^>]*>", re.DOTALL)
_OPEN = (None, "leave")
_STYLES = {"+": "green", "-": "red", "@": "cyan"}


async def decide_all(
    client: cmsapi.Client,
    reviews: Sequence[cmsapi.GenerationReview],
    before: Mapping[str, cmsapi.Content],
    choice: Decision,
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
            if choice is Decision.REVIEW and review.decision in _OPEN:
                old = before.get(review.content_id) or await client.contents.get(review.content_id)
                await review_interactively(client, review, old)
            else:
                await decide(review, choice, name)
            ends.append(None)
        except cmsapi.CMSError as error:
            print_message(f"{review.content_id}: {error_text(error)}", style="red")
            ends.append(error)
        except asyncio.CancelledError:
            if rest := len(reviews) - place - 1:
                print_message(f"{counted(rest, 'more article')} not decided. See: cmsapi jobs reviews")
            raise
    return combined_exit_code(ends)


async def decide(review: cmsapi.GenerationReview, choice: Decision, name: str | None = None) -> None:
    """Do what an option says; without one leave the article in review.

    Args:
        review: The article.
        choice: What the option says.
        name: What to call it, where there are several.
    """
    prefix = f"{name}: " if name else ""
    if review.decision not in _OPEN:
        print_message(f"{prefix}Decided before: it is {review.generation.status}.")
    elif choice is Decision.CONFIRM:
        content = await review.confirm()
        print_message(f"{prefix}Applied: {counted(content.words_count or 0, 'word')}, score {content.content_score}.")
    elif choice is Decision.DISCARD:
        await review.cancel()
        print_message(f"{prefix}Discarded. The draft is as it was; the credit is spent.")
    else:
        print_message(f"{prefix}In review. Decide with: cmsapi contents review {review.content_id}")


async def find_review(client: cmsapi.Client, content_id: str) -> cmsapi.GenerationReview:
    """Read the generation of a content; a decision on it ends the launch that was written down, if there is one."""
    review = await client.contents.review(content_id)
    for entry in await client.jobs.journal():
        if entry.job_id == review.generation.id and entry.token is not None:
            job = client.jobs.attach(entry.token)
            await job.refresh()
            return await job.review() if job.done else review
    return review


async def review_interactively(client: cmsapi.Client, review: cmsapi.GenerationReview, before: cmsapi.Content) -> None:
    """Show the old text, apply the article, show what changed, and keep it or put the old text back.

    The old text is in a file meanwhile. Whatever ends the review in between, the person is told how to put it back.

    Args:
        client: For putting back.
        review: The review.
        before: The content as it was.

    Raises:
        ArgumentError: No question can be asked, or the old text cannot be written to a file; nothing was applied.
    """
    require_terminal()
    words = counted(before.words_count or 0, "word")
    print_message(f"{printable(before.title)}: the draft has {words}, score {before.content_score}.")
    print_message("The service shows an article only once it is applied. You can put the old text back then.")
    try:
        answer = await ask("Apply it and compare, discard it, or leave it in review?", "adl")
    except asyncio.CancelledError:
        print_message(f"\nNothing was decided. Decide with: cmsapi contents review {review.content_id}")
        raise
    if answer != "a":
        await decide(review, Decision.DISCARD if answer == "d" else Decision.LEAVE)
        return
    kept = await TextBackup.of(before)
    fate = "It is not known whether the article is applied."
    try:
        after = await review.confirm()
        fate = "The article is applied, and the credit is spent."
        print_difference(before, after)
        if await ask("Keep the new text, or put the old one back?", "pk") == "k":
            print_message("Kept.")
        else:
            fate = "It is not known whether the old text is back."
            await kept.restore(client)
            print_message("The old text is back; the credit is spent.")
    except (asyncio.CancelledError, cmsapi.CMSError):
        print_message(f"\n{fate} {kept.restore_command}")
        raise
    await kept.delete_file()


def require_terminal() -> None:
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


def print_difference(before: cmsapi.Content, after: cmsapi.Content) -> None:
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
    yield f"title: {printable(content.title)}"
    yield f"meta description: {printable(content.meta_description)}"
    for block in _BLOCK.split(content.html or ""):
        if text := printable(html.unescape(_TAG.sub("", block))):
            yield text
