"""Make the client of a command, and find the state that holds its launches.

A command that launches must be resumable, so it has a state even if none is named. Other commands use a state only if
the environment names one; they then share its request limits.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Annotated, TypeAlias
from urllib.parse import quote

from cyclopts import Parameter

import cmsapi
from cmsapi.state.opening import file_of_url
from cmsapi.state.redaction import redact_url

STATE_VARIABLE = "CMSAPI_STATE"
_OWN_FILE = "jobs.db"

State: TypeAlias = Annotated[
    str | None,
    Parameter(
        name="--state",
        env_var=STATE_VARIABLE,
        show_default=False,
        help="Where to record launches: sqlite:///FILE, postgresql://HOST/DATABASE, redis://HOST, or "
        "memory: to record nothing. "
        "The default is ~/.local/state/cmsapi/jobs.db.",
    ),
]


def connect() -> cmsapi.Client:
    """Make the client of a command that launches no jobs."""
    return cmsapi.Client(state=os.environ.get(STATE_VARIABLE) or "memory:")


@asynccontextmanager
async def connect_with_journal(
    state: str | None, launch: cmsapi.LaunchPolicy | None = None
) -> AsyncIterator[cmsapi.Client]:
    """Make the client of a command whose launches outlive it.

    Args:
        state: The value of `--state` or of the environment variable.
        launch: How it launches; None for the usual policy.

    Raises:
        ConfigError: The directory of the state cannot be created.
    """
    own: str = "" if state else await asyncio.to_thread(_own_state)
    async with cmsapi.Client(state=state or own, launch=launch or cmsapi.LaunchPolicy()) as client:
        yield client


def check_state_exists(state: str | None) -> None:
    """Refuse a file that does not exist: a command that only looks would create it, and find nothing in it.

    Args:
        state: The value of `--state` or of the environment variable.

    Raises:
        ConfigError: There is no such file, or the URL names none.
    """
    if state is not None and not state.startswith("sqlite:"):
        return
    path = Path(file_of_url(state, windows=sys.platform == "win32")) if state else _own_directory() / _OWN_FILE
    if not path.exists():
        raise cmsapi.ConfigError(
            f"There is no state {path} yet: the first program or command that launches with it creates it. If there "
            f"should be one, check --state or {STATE_VARIABLE}."
        )


@contextmanager
def note_nothing_launched() -> Iterator[None]:
    """Add to errors of the state that nothing was launched or charged; use it before the first launch."""
    try:
        yield
    except cmsapi.StateError as error:
        error.add_note("Nothing was launched or charged.")
        raise


def _own_state() -> str:
    """Return the URL of the user's own file, in a private directory; the file is created on first use."""
    directory = _own_directory()
    try:
        for each in reversed([directory, *directory.parents]):
            # `parents=True` would leave those above to the umask; a user who may write there can swap this one.
            if not each.exists():
                each.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise cmsapi.ConfigError(
            f"The directory for the record of launches, {directory}, cannot be created ({error.strerror}). Nothing was "
            f"sent. Name another state with --state or {STATE_VARIABLE}. With --state memory: a command keeps no "
            "record, and cannot be resumed after a crash."
        ) from error
    return f"sqlite:///{quote(str(directory / _OWN_FILE))}"


def _own_directory() -> Path:
    # The XDG Base Directory Specification says to ignore relative paths.
    home = Path(os.environ.get("XDG_STATE_HOME", ""))
    return (home if home.is_absolute() else Path.home() / ".local" / "state") / "cmsapi"


def state_name(state: str | None) -> str:
    """Return the name of a command's state for messages.

    Args:
        state: The value of `--state` or of the environment variable.
    """
    return redact_url(state) if state else str(_own_directory() / _OWN_FILE)
