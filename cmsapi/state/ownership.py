"""Refuse a state file that another user of the machine made where every user may write."""

from __future__ import annotations

import logging
import os
import stat
from pathlib import Path

from cmsapi.errors import StateError

logger: logging.Logger = logging.getLogger("cmsapi")

_ROOT = 0


def check_owner(path: Path) -> None:
    """Refuse a file or link that may be a trap; a system without owners of files has no such check.

    In a directory like /tmp any user can make the file first, or a link in its place. What a state says decides what is
    launched and paid, so that its owner could hide launches or have them repeated.

    Raises:
        StateError: The file, or the link to it, belongs to another user and lies where every user may write.
    """
    effective = getattr(os, "geteuid", None)
    if effective is None:
        return
    for each in (path, path.resolve()):
        try:
            owner, everybody = each.lstat().st_uid, each.parent.stat().st_mode & stat.S_IWOTH
        except FileNotFoundError:
            continue
        if everybody and owner not in (effective(), _ROOT):
            raise StateError(
                f"The state {path} belongs to another user of this machine ({each} to user {owner}), and lies where "
                "every user may write. It was left as it is; nothing was sent or charged. Name a file in a directory "
                "of your own."
            )


def warn_if_writable(path: Path) -> None:
    """Warn of a file that every user may change."""
    if hasattr(os, "geteuid") and path.stat().st_mode & stat.S_IWOTH:
        logger.warning(
            "every user of this machine may write to the state %s, and what it says decides what is launched and paid; "
            "to take that right away: chmod o-w %s",
            path,
            path,
        )
