"""Create the client and find the state for a command, using its options and the environment."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from attrs import frozen
from cyclopts import Parameter

from cmsapi.client import Client
from cmsapi.errors import ArgumentError, ConfigError

_SQLITE = "sqlite:///"


@Parameter(name="*")
@frozen
class Options:
    """Options for all commands that call the service."""

    json: bool = False
    """Print JSON with the service's field names, one document per line."""
    csv: bool = False
    """Print CSV with a header row; values that a spreadsheet could take for formulas begin with an apostrophe."""
    state: str | None = None
    """Where launches are kept: sqlite:///file, postgresql://… or redis://…; by default the address in CMSAPI_STATE,
    or else a file in ~/.local/state."""

    def __attrs_post_init__(self) -> None:
        if self.json and self.csv:
            raise ConfigError("--json and --csv exclude each other")


DEFAULTS = Options()


def connect(options: Options, state: str | None = None) -> Client:
    """Return a client with ``state`` or ``options.state``; raise `ConfigError` if the key or the address is missing."""
    for name in ("CMSAPI_API_KEY", "CMSAPI_BASE_URL"):
        if not os.environ.get(name):
            advice = "`cmsapi sandbox` prints both for a service on this machine, and `cmsapi demo` needs neither"
            raise ConfigError(f"{name} is not set: export CMSAPI_API_KEY=sk_… CMSAPI_BASE_URL=https://…\n{advice}")
    return Client(state=state or options.state, trust_env=True)


def connect_to_launched(options: Options) -> Client:
    """Return a client with the state of earlier launches; raise `ConfigError` if the state's file does not exist."""
    state = state_of(options)
    if not is_there(state):
        raise ConfigError(
            f"nothing was launched yet: there is no {state.removeprefix(_SQLITE)} (--state names another)"
        )
    return connect(options, state)


def is_there(state: str) -> bool:
    """Return False if the address ``state`` names a file that does not exist, else True."""
    return not state.startswith(_SQLITE) or Path(state.removeprefix(_SQLITE)).exists()


def state_of(options: Options) -> str:
    """Return the configured address of the state. The default is a file in the home or working directory."""
    if named := options.state or os.environ.get("CMSAPI_STATE"):
        return named
    root, files = Path(os.environ.get("XDG_STATE_HOME") or ""), [Path("cmsapi-jobs.db").absolute()]
    with suppress(OSError, RuntimeError):  # no home, or it is read-only
        folder = (root if root.is_absolute() else Path.home() / ".local" / "state") / "cmsapi"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        files.insert(0, folder / "jobs.db")
    for file in files:
        if os.access(file.parent, os.W_OK):
            return f"{_SQLITE}{file}"
    raise ArgumentError("--state", "or CMSAPI_STATE must name a state: your home and this directory are read-only")
