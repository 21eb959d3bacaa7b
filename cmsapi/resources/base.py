"""Code that all resources share."""

from __future__ import annotations

from cmsapi.jobs.launch import Launcher
from cmsapi.wire.arguments import check_text
from cmsapi.wire.converter import camel


class Resource:
    """Base class of a client's resources. All of them use the client's pipeline and launcher."""

    def __init__(self, launcher: Launcher) -> None:
        self._pipeline = launcher.pipeline
        self._launcher = launcher


def texts(**values: object) -> dict[str, str]:
    """Return the ``values`` that are not None, with camelCase keys as in the service's JSON.

    Raises:
        ArgumentError: A value is neither text nor None.
    """
    return {camel(name): check_text(name, value, minimum=0) for name, value in values.items() if value is not None}
