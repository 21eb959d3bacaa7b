"""Decide on a generated article.

The service does not show an article before it is applied (specification 4.4: a generation is `{ id, status }`). So a
review in the terminal applies the article, compares the old text with the new one, and restores the old one on request.
"""

from __future__ import annotations

import asyncio
import difflib
import enum
import html
import itertools
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, TypeAlias

from cyclopts import Group, Parameter
from cyclopts.validators import mutually_exclusive
from rich.console import Console
from rich.text import Text

import cmsapi
from cmsapi.cli.support.text_backup import TextBackup
from cmsapi.cli.terminal.asking import ask
from cmsapi.cli.terminal.exit_codes import Exit, combined_exit_code, error_text
from cmsapi.cli.terminal.output import print_message, printable
from cmsapi.jobs.fanout.forecast import counted

_DECISION = Group("Decision", validator=mutually_exclusive)
DecisionFlag: TypeAlias = Annotated[bool, Parameter(negative="", show_default=False, group=_DECISION)]
#: For an existing article; `generate` has no alias --cancel, because it would seem to stop the generation.
Discard: TypeAlias = Annotated[
    bool, Parameter(name=["--discard", "--cancel"], negative="", show_default=False, group=_DECISION)
]


class Decision(enum.Enum):
    """List the decisions that options can make."""

    CONFIRM = "confirm"
    DISCARD = "discard"
    REVIEW = "review"
    LEAVE = "leave"

    @classmethod
    def of(cls, *, confirm: bool = False, discard: bool = False, review: bool = False) -> Decision:
        """Return the decision of the options.

        Raises:
            ArgumentError: `--review` was given, and standard input is not a terminal.
        """
        if review:
            require_terminal()
            return cls.REVIEW
        return cls.CONFIRM if confirm else cls.DISCARD if discard else cls.LEAVE


# No tag goes on behind another "<": each character is read once, however many tags do not end.
_BLOCK = re.compile(r"</?(?:p|h\d|li|ul|ol|div|br|tr|table|blockquote|section|article)\b[^<>]*>", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>")
# The time of a comparison grows with the square of the lines.
_MOST_LINES = 2_000
_OPEN = (None, "leave")
_STYLES = {"+": "green", "-": "red", "@": "cyan"}


async def decide_all(
    client: cmsapi.Client,
    reviews: Sequence[cmsapi.GenerationReview],
    before: Mapping[str, cmsapi.Content],
    decision: Decision,
) -> Exit:
    """Decide on each article, one after another; continue after an error.

    Args:
        client: Reads and restores contents.
        reviews: The articles.
        before: The contents before the generation that have been read already.
        decision: The decision of the options.

    Returns:
        The exit code.
    """
    errors: list[BaseException | None] = []
    for index, review in enumerate(reviews):
        name = review.content_id if len(reviews) > 1 else None
        try:
            if decision is Decision.REVIEW and review.decision in _OPEN:
                old = before.get(review.content_id) or await client.contents.get(review.content_id)
                await review_interactively(client, review, old)
            else:
                await decide(review, decision, name)
            errors.append(None)
        except cmsapi.CMSError as error:
            print_message(f"{review.content_id}: {error_text(error)}", style="red")
            errors.append(error)
        except asyncio.CancelledError:
            if rest := len(reviews) - index - 1:
                print_message(f"{counted(rest, 'more article')} not decided. See: cmsapi jobs reviews")
            raise
    return combined_exit_code(errors)


async def decide(review: cmsapi.GenerationReview, decision: Decision, name: str | None = None) -> None:
    """Confirm or discard an article, or leave it in review.

    Args:
        review: The article.
        decision: The decision of the options.
        name: The name of the article in messages, if there are several.
    """
    prefix = f"{name}: " if name else ""
    if review.decision not in _OPEN:
        print_message(f"{prefix}Already decided: the article is {review.generation.status}.")
    elif decision is Decision.CONFIRM:
        content = await review.confirm()
        print_message(f"{prefix}Applied: {counted(content.words_count or 0, 'word')}, score {content.content_score}.")
    elif decision is Decision.DISCARD:
        await review.cancel()
        print_message(f"{prefix}Discarded. The draft is unchanged; the credit is spent.")
    else:
        print_message(f"{prefix}In review. To decide: cmsapi contents review {review.content_id}")


async def find_review(client: cmsapi.Client, content_id: str) -> cmsapi.GenerationReview:
    """Read the generation of a content, through its open launch if there is one, so that a decision closes it."""
    review = await client.contents.review(content_id)
    for entry in await client.jobs.journal():
        if (entry.target, entry.job_id) == (content_id, review.generation.id) and entry.token is not None:
            job = client.jobs.attach(entry.token)
            await job.refresh()
            return await job.review() if job.done() else review
    return review


async def review_interactively(client: cmsapi.Client, review: cmsapi.GenerationReview, before: cmsapi.Content) -> None:
    """Apply an article, print the differences, and keep it or restore the old text.

    A file keeps the old text meanwhile. If the review ends early, a message says how to restore it.

    Args:
        client: Restores the content.
        review: The review.
        before: The content before the article.

    Raises:
        ArgumentError: Standard input is not a terminal, or the old text cannot be saved; nothing was applied.
    """
    require_terminal()
    words = counted(before.words_count or 0, "word")
    print_message(f"{printable(before.title)}: the draft has {words}, score {before.content_score}.")
    print_message("The service shows an article only after it is applied. You can then restore the old text.")
    try:
        answer = await ask("Apply it and compare, discard it, or leave it in review?", "adl")
    except asyncio.CancelledError:
        print_message(f"\nNothing was decided. To decide: cmsapi contents review {review.content_id}")
        raise
    if answer != "a":
        await decide(review, Decision.DISCARD if answer == "d" else Decision.LEAVE)
        return
    backup = await TextBackup.create(before)
    situation = "The article may have been applied."
    try:
        after = await review.confirm()
        situation = "The article is applied, and the credit is spent."
        print_difference(before, after)
        if await ask("Keep the new text, or put the old one back?", "pk") == "k":
            print_message("Kept.")
        else:
            situation = "The old text may have been restored."
            await backup.restore(client)
            print_message("The old text is back; the credit is spent.")
    except (asyncio.CancelledError, cmsapi.CMSError):
        print_message(f"\n{situation} {backup.restore_command}")
        raise
    await backup.delete_file()


def require_terminal() -> None:
    """Check that the command can ask questions.

    Raises:
        ArgumentError: Standard input is not a terminal.
    """
    if not sys.stdin.isatty():
        raise cmsapi.ArgumentError(
            "Standard input is not a terminal, so the command cannot ask: use --confirm or --discard. "
            "Nothing was launched or decided.",
            parameter="review",
        )


def print_difference(before: cmsapi.Content, after: cmsapi.Content) -> None:
    """Print the differences between two versions, line by line, without markup."""
    console = Console()
    old, new = (list(itertools.islice(_lines(content), _MOST_LINES)) for content in (before, after))
    for line in difflib.unified_diff(old, new, "old", "new", lineterm="", n=1):
        console.print(Text(line, style=_STYLES.get(line[:1], "")), soft_wrap=not console.is_terminal)
    if _MOST_LINES in (len(old), len(new)):
        console.print(f"Only the first {_MOST_LINES:,} lines of each text were compared.")
    console.print(
        f"words {before.words_count} → {after.words_count}, score {before.content_score} → {after.content_score}",
        highlight=False,
    )


def _lines(content: cmsapi.Content) -> Iterator[str]:
    """Yield the text of a content, one paragraph per line."""
    yield f"title: {printable(content.title)}"
    yield f"meta description: {printable(content.meta_description)}"
    for block in _BLOCK.split(_without_comments(content.html or "")):
        if text := printable(html.unescape(_TAG.sub("", block))):
            yield text


def _without_comments(text: str) -> str:
    """Leave comments out; one that does not end hides the rest, as in a browser."""
    first, *others = text.split("<!--")
    return first + "".join(other.partition("-->")[2] for other in others)
