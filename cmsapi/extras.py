"""Name the extra to install when an optional package is missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

# The packages that the SDK imports of each extra.
_PACKAGES = {
    "cli": ("cyclopts", "rich"),
    "mcp": ("mcp", "pydantic"),
    "notebook": ("IPython", "matplotlib", "pandas"),
    "otel": ("opentelemetry",),
    "postgres": ("psycopg",),
    "redis": ("redis",),
    "testing": ("aioresponses", "pytest"),
}


def advice(extra: str) -> str:
    """Return the command that installs an extra."""
    return f"pip install 'cmsapi[{extra}]'"


@contextmanager
def needs(extra: str) -> Iterator[None]:
    """Enclose the imports of an extra's packages.

    Args:
        extra: The name of the extra.

    Raises:
        ModuleNotFoundError: A package is not installed; the message says how to install it.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        # An installed package may miss a package of its own, which no extra installs.
        if error.name is None or error.name.partition(".")[0] not in _PACKAGES[extra]:
            raise
        raise ModuleNotFoundError(
            f"{error.name} is not installed; the extra {extra!r} installs it: {advice(extra)}", name=error.name
        ) from None
