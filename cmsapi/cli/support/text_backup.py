"""Keep the old text of a draft in a file while a review changes it, so that it can always be restored."""

from __future__ import annotations

import asyncio
import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

import attrs

import cmsapi
from cmsapi.cli.terminal.quoting import can_be_typed, quote_words


@attrs.frozen
class TextBackup:
    """Hold the old version of a content and the file that has its text.

    Args:
        content: The content before the review.
        path: The file; None if the content had no text.
    """

    content: cmsapi.Content
    path: Path | None

    @classmethod
    async def create(cls, content: cmsapi.Content) -> Self:
        """Write the text of a content to a new file in the working directory.

        Raises:
            ArgumentError: The file cannot be written; nothing was applied.
        """
        if not content.html:
            return cls(content, None)
        name = re.sub(r"[^\w.-]", "_", content.id)
        path = Path(f"cmsapi-before-{name}-{datetime.now(UTC):%Y%m%dT%H%M%S}-{os.getpid()}.html")
        try:
            await asyncio.to_thread(_write, path, content.html)
        except (OSError, UnicodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not Unicode"
            raise cmsapi.ArgumentError(
                f"The old text cannot be saved to {path}: {why}. Nothing was applied.", parameter="review"
            ) from error
        return cls(content, path)

    @property
    def restore_command(self) -> str:
        """The place of the old text, and the command that restores it."""
        old = self.content
        options = {
            "--html": str(self.path or ""),
            "--meta-description": old.meta_description or "",
            "--title": old.title,
        }
        # What a shell would read as something else is left out.
        typed = [f"{name}={text}" for name, text in options.items() if text is not None and can_be_typed(text)]
        where = f"The old text is in {self.path}." if self.path else "There was no old text."
        return f"{where} To restore it:\n  cmsapi contents edit {quote_words([old.id, *typed])}"

    async def restore(self, client: cmsapi.Client) -> None:
        """Give the content its old text again."""
        old = self.content
        changes: cmsapi.ContentChanges = {"html": old.html, "meta_description": old.meta_description}
        if old.title is not None:
            changes["title"] = old.title
        await client.contents.edit(old.id, lambda _: changes)

    async def delete_file(self) -> None:
        """Delete the file, once the decision between the two texts is made."""
        if self.path is not None:
            await asyncio.to_thread(self.path.unlink, missing_ok=True)


def _write(path: Path, text: str) -> None:
    path.touch(mode=0o600, exist_ok=False)
    # Line ends stay as they are.
    path.write_text(text, encoding="utf-8", newline="")
