"""Find the state that a URL names."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from cmsapi.errors import ConfigError
from cmsapi.extras import advice

if TYPE_CHECKING:
    from cmsapi.state.store import State

_DRIVE = re.compile(r"/[A-Za-z]:[/\\]")
# Whatever the case, and also with an extension or spaces behind.
_DEVICE = re.compile(r"(con|prn|aux|nul|(com|lpt)[0-9¹²³]) *(\..*)?", re.IGNORECASE)

#: The state of one process.
MEMORY = "memory:"

_FORMS = (
    "state is 'memory:' for one process, 'sqlite:///relative.db' or 'sqlite:////absolute.db' for one host, "
    "or 'redis://host:6379/0', 'rediss://…' or 'postgresql://host/database' for many."
)


def open_state(url: str) -> State:
    """Make the state that a URL names; nothing is opened or connected before it is used.

    Args:
        url: `memory:`, `sqlite:///relative.db`, `sqlite:////absolute.db`, `redis://[[user]:password@]host[:port][/db]`,
            or the same with `rediss` for TLS, or `postgresql://[user[:password]@]host[:port]/database`.

    Raises:
        ConfigError: The URL is none of these, or the client of its server is not installed.
    """
    if not isinstance(url, str):
        raise ConfigError(f"{_FORMS} This is a {type(url).__name__}.")
    if url == MEMORY:
        from cmsapi.state.memory import MemoryState

        return MemoryState()
    try:
        parts = urlsplit(url)
    except ValueError:
        raise ConfigError(_FORMS) from None
    if parts.scheme == "sqlite":
        from cmsapi.state.sqlite import SqliteState

        return SqliteState(Path(file_of_url(url, windows=sys.platform == "win32")).absolute())
    if parts.scheme in ("redis", "rediss"):
        try:
            from cmsapi.state.redis import RedisState
        except ImportError:
            raise ConfigError(f"state='redis://…' needs the Redis client: {advice('redis')}") from None
        return RedisState(url)
    if parts.scheme in ("postgresql", "postgres"):
        try:
            from cmsapi.state.postgres import PostgresState
        except ImportError:
            raise ConfigError(f"state='postgresql://…' needs the Postgres client: {advice('postgres')}") from None
        return PostgresState(url)
    raise ConfigError(f"{_FORMS} It must be one of these, got {_shown(url)}.")


def _shown(url: str) -> str:
    """Quote a wrong URL; one that may hold a password is not shown."""
    return "one with a user" if "@" in url else repr(url.partition("?")[0][:80])


def file_of_url(url: str, *, windows: bool) -> str:
    """Return the path that a URL of SQLite names.

    Args:
        url: `sqlite:///` and the path.
        windows: Whether the path is one of Windows, which may begin with a drive, and must not name a device.

    Raises:
        ConfigError: The URL has another form, or names no file.
    """
    before, found, name = url.partition("sqlite:///")
    if before or not found or "?" in name or "#" in name:
        raise ConfigError(f"{_FORMS} A file's URL has three slashes, then its path, and no query.")
    name = unquote(name)
    if not name or name.endswith("/") or "\0" in name or name == ":memory:":
        raise ConfigError(f"{_FORMS} This URL names no file; for one process there is 'memory:'.")
    if windows:
        # Four slashes are usual for a path from the root on.
        name = name[1:] if _DRIVE.match(name) else name
        if _DEVICE.fullmatch(re.split(r"[/\\]", name)[-1]):
            raise ConfigError(f"{_FORMS} This URL names a device of Windows, which holds no file; choose another name.")
    return name
