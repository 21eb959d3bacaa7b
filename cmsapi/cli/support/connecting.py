"""Make the client of a command, and find where its launches are written down.

Commands that launch must be resumable, so that they have a state although nobody named one. The others use one only
where the environment names it, and then share its request limits.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Annotated, TypeAlias
from urllib.parse import quote

from cyclopts import Parameter

import cmsapi
from cmsapi.state.redaction import redact_url

STATE_VARIABLE = "CMSAPI_STATE"
_OWN_FILE = "jobs.db"

State: TypeAlias = Annotated[
    str | None,
    Parameter(
        name="--state",
        env_var=STATE_VARIABLE,
        show_default=False,
        help="Where launches are written down: sqlite:///FILE, redis://HOST, or memory: for nowhere. "
        "If left out, ~/.local/state/cmsapi/jobs.db.",
    ),
]


def connect() -> cmsapi.Client:
    """Make the client of a command that launches nothing."""
    return cmsapi.Client(state=os.environ.get(STATE_VARIABLE) or "memory:")


@asynccontextmanager
async def connect_with_journal(state: str | None) -> AsyncIterator[cmsapi.Client]:
    """Make the client of a command whose launches outlive it.

    Args:
        state: What `--state` or the environment says.

    Raises:
        ConfigError: The directory of the state cannot be made.
    """
    own: str = "" if state else await asyncio.to_thread(_own_state)
    async with cmsapi.Client(state=state or own) as client:
        yield client


@contextmanager
def note_nothing_launched() -> Iterator[None]:
    """Let the error of a state say that nothing was launched or charged; to be used before the first launch."""
    try:
        yield
    except cmsapi.StateError as error:
        error.add_note("Nothing was launched or charged.")
        raise


def _own_state() -> str:
    """Return the URL of the user's own file, in a directory that is nobody else's; the file is made on first use."""
    directory = _own_directory()
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise cmsapi.ConfigError(
            f"Launches cannot be written down: {directory} cannot be made ({error.strerror}). Nothing was sent. Name "
            f"another state with --state or {STATE_VARIABLE}, or give up going on after a crash with --state memory:."
        ) from error
    return f"sqlite:///{quote(str(directory / _OWN_FILE))}"


def _own_directory() -> Path:
    # The XDG Base Directory Specification: a path that is not absolute is to be ignored.
    home = Path(os.environ.get("XDG_STATE_HOME", ""))
    return (home if home.is_absolute() else Path.home() / ".local" / "state") / "cmsapi"


def state_name(state: str | None) -> str:
    """Return what to call the state of a command in a message.

    Args:
        state: What `--state` or the environment says.
    """
    return redact_url(state) if state else str(_own_directory() / _OWN_FILE)
