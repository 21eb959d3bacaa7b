"""What an index tells of the package, read from the wheel, and the page that it shows."""

from __future__ import annotations

import re
import sys
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path

from release.errors import ReleaseError
from release.running import run


def metadata(wheel: Path) -> Message:
    """Return the metadata of a wheel; its body is the description."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return message_from_bytes(archive.read(name))


def check_page(wheel: Path, scratch: Path) -> None:
    """Render the description as the index does, and check what is left of it.

    Args:
        wheel: The wheel.
        scratch: A folder for the page.

    Raises:
        ReleaseError: A picture is lost, or a link or picture is relative, which leads nowhere on an index.
    """
    text = bytes(metadata(wheel).get_payload(decode=True)).decode()
    source, page = scratch / "description.md", scratch / "description.html"
    source.write_text(text, encoding="utf-8")
    run([sys.executable, "-m", "readme_renderer", str(source), "-o", str(page)], scratch)
    judge(text, page.read_text(encoding="utf-8"))


def judge(text: str, page: str) -> None:
    """Compare a page with its Markdown.

    Raises:
        ReleaseError: A picture is lost, or a link or picture is relative, which leads nowhere on an index.
    """
    if page.count("<img ") != text.count("<img ") + len(re.findall(r"!\[[^\]]*\]\(", text)):
        raise ReleaseError("The index must show each picture of the description, and it leaves some out.")
    if relative := re.findall(r"(?:src|href|srcset)=\"((?!https:|#)[^\"]*)\"", page):
        raise ReleaseError(f"Links and pictures of the description must be whole addresses, got {', '.join(relative)}.")
