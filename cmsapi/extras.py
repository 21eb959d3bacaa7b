"""Say which extra brings what cannot be imported."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

# What is imported of each extra.
_PACKAGES = {
    "cli": ("cyclopts", "rich"),
    "notebook": ("IPython", "matplotlib", "pandas"),
    "otel": ("opentelemetry",),
    "redis": ("redis",),
    "testing": ("aioresponses", "pytest"),
}


def advice(extra: str) -> str:
    """Return the command that installs an extra."""
    return f"pip install 'cmsapi[{extra}]'"


@contextmanager
def needs(extra: str) -> Iterator[None]:
    """Import packages of an extra.

    Args:
        extra: Its name.

    Raises:
        ModuleNotFoundError: One of them is not installed; the message says how to install it.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        # What a package of theirs misses itself is another matter.
        if error.name is None or error.name.partition(".")[0] not in _PACKAGES[extra]:
            raise
        raise ModuleNotFoundError(
            f"{error.name} is not installed; the extra {extra!r} brings it: {advice(extra)}", name=error.name
        ) from None
