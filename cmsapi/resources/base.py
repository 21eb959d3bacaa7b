"""Code that all resources share."""

from __future__ import annotations

from cmsapi.jobs.launch import Launcher
from cmsapi.wire.arguments import check_text
from cmsapi.wire.converter import camel


class Resource:
    """Base class of the resources of a client."""

    def __init__(self, launcher: Launcher) -> None:
        self._pipeline = launcher.pipeline
        self._launcher = launcher


def texts(**values: object) -> dict[str, str]:
    """Return the texts that are not None, under their names on the wire.

    Raises:
        ArgumentError: A value is not text.
    """
    return {camel(name): check_text(name, value, minimum=0) for name, value in values.items() if value is not None}
