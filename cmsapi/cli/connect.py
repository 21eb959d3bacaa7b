"""From options and environment to a client, and to the state that keeps what was launched."""

from __future__ import annotations

import os
import re
import sys
import textwrap
from contextlib import suppress
from pathlib import Path
from shutil import get_terminal_size
from typing import TextIO

from attrs import frozen
from cyclopts import Parameter

from cmsapi.client import Client
from cmsapi.errors import ArgumentError, ConfigError

_SQLITE = "sqlite:///"


@Parameter(name="*")
@frozen
class Options:
    """Options of all commands that ask the service."""

    json: bool = False
    """Print JSON, one document a line, as the service writes it."""
    csv: bool = False
    """Print CSV for spreadsheets: a header, and cells that are no formulas."""
    state: str | None = None
    """What keeps launches: sqlite:///file, postgresql://… or redis://…; CMSAPI_STATE, or a file in ~/.local/state."""

    def __attrs_post_init__(self) -> None:
        if self.json and self.csv:
            raise ConfigError("--json and --csv exclude each other")


DEFAULTS = Options()


def note(text: str) -> None:
    """Write a line to standard error, which may be closed or gone."""
    with suppress(OSError):
        for line in text.split("\n"):
            print(fold(printable(line), sys.stderr), file=sys.stderr, flush=True)


def fold(line: str, stream: TextIO) -> str:
    """Return a line as a terminal shows it best: broken between words, unless it is a command to copy."""
    if line.startswith("  ") or not stream.isatty():
        return line
    return textwrap.fill(line, get_terminal_size().columns, break_long_words=False, break_on_hyphens=False)


def printable(text: str) -> str:
    """Return a text without line breaks and control characters, with which a service could steer the terminal."""
    return "".join(character if character.isprintable() else " " for character in text)


def text_of(error: BaseException) -> str:
    """Return the message of an error, with commands in place of Python."""
    text = str(error).replace("pass Client(allow_http=True)", "set CMSAPI_ALLOW_HTTP=1")
    text = text.replace("; pass trust_env=True to use it", "")
    return re.sub(r"If the service has it elsewhere, pass .*\)\)", "`cmsapi doctor` looks for it elsewhere", text)


def connect(options: Options, state: str | None = None) -> Client:
    """Return a client of the service that the environment names, with the state of the option unless one is given."""
    for name in ("CMSAPI_API_KEY", "CMSAPI_BASE_URL"):
        if not os.environ.get(name):
            advice = "`cmsapi sandbox` prints both for a service on this machine, and `cmsapi demo` needs neither"
            raise ConfigError(f"{name} is not set: export CMSAPI_API_KEY=sk_… CMSAPI_BASE_URL=https://…\n{advice}")
    return Client(state=state or options.state, trust_env=True)


def state_of(options: Options, *, create: bool) -> str:
    """Return the address of the state; refuse a file that is not there and is not to be made: a mistyped name."""
    state = options.state or os.environ.get("CMSAPI_STATE") or f"{_SQLITE}{_default_file(create=create)}"
    if not create and state.startswith(_SQLITE) and not Path(state.removeprefix(_SQLITE)).exists():
        raise ConfigError(f"nothing was launched with the state {state}; another one is named by --state")
    return state


def _default_file(*, create: bool) -> Path:
    """Return the file in the user's state directory; in the working directory without a home that can be written."""
    named, here = Path(os.environ.get("XDG_STATE_HOME") or ""), Path("cmsapi-jobs.db").absolute()
    try:
        file = (named if named.is_absolute() else Path.home() / ".local" / "state") / "cmsapi" / "jobs.db"
        if create:
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # no such user, or not theirs to write
        file = here
    usable = [each for each in (file, here) if not create or os.access(each.parent, os.W_OK)]
    if not usable:
        raise ArgumentError("--state", "or CMSAPI_STATE must name a state: your home and this directory are read-only")
    return next((each for each in usable if each.exists()), usable[0])
