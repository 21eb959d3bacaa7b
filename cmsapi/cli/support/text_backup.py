"""Keep the text of a draft in a file while it is changed, so that it can be put back whatever happens."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

import attrs

import cmsapi


@attrs.frozen
class TextBackup:
    """Hold a content as it was, with the file that has its text.

    Args:
        content: The content.
        path: The file, or None where there is no text.
    """

    content: cmsapi.Content
    path: Path | None

    @classmethod
    async def of(cls, content: cmsapi.Content) -> Self:
        """Write the text of a content into a new file of the working directory.

        Raises:
            ArgumentError: It cannot be written; nothing was applied.
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
                f"The old text cannot be kept in {path}: {why}. Nothing was applied.", parameter="review"
            ) from error
        return cls(content, path)

    @property
    def restore_command(self) -> str:
        """Where the old text is, and the command that puts it back."""
        old = self.content
        options = {
            "--html": str(self.path or ""),
            "--meta-description": old.meta_description or "",
            "--title": old.title,
        }
        # What cannot be printed cannot be typed either.
        typed = [f"{name}={text}" for name, text in options.items() if text is not None and text.isprintable()]
        where = f"The old text is in {self.path}." if self.path else "There was no old text."
        return f"{where} Put it back with:\n  cmsapi contents edit {shlex.join([old.id, *typed])}"

    async def restore(self, client: cmsapi.Client) -> None:
        """Give the content the text that it had."""
        old = self.content
        await client.contents.edit(
            old.id, lambda _: {"title": old.title, "html": old.html, "meta_description": old.meta_description}
        )

    async def delete_file(self) -> None:
        """Delete the file: it is decided which text is wanted."""
        if self.path is not None:
            await asyncio.to_thread(self.path.unlink, missing_ok=True)


def _write(path: Path, text: str) -> None:
    path.touch(mode=0o600, exist_ok=False)
    path.write_text(text, encoding="utf-8")
