"""Code that all resources share."""

from __future__ import annotations

from cmsapi.jobs.launch import Launcher
from cmsapi.wire.arguments import check_text
from cmsapi.wire.converter import camel


class Resource:
    """Base class of a client's resources, which use its pipeline and its launcher."""

    def __init__(self, launcher: Launcher) -> None:
        self._pipeline = launcher.pipeline
        self._launcher = launcher


def texts(**values: object) -> dict[str, str]:
    """Return those of ``values`` that are not None, under their names on the wire.

    Raises:
        ArgumentError: A value is neither text nor None.
    """
    return {camel(name): check_text(name, value, minimum=0) for name, value in values.items() if value is not None}
