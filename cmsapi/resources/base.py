"""What all resources share."""

from __future__ import annotations

from cmsapi.errors import ArgumentError
from cmsapi.jobs.launch import Launcher
from cmsapi.wire.arguments import check_text
from cmsapi.wire.converter import camel


class Resource:
    """Base class of the resources of a client."""

    def __init__(self, launcher: Launcher) -> None:
        self._pipeline = launcher.pipeline
        self._launcher = launcher


def texts(**values: object) -> dict[str, str]:
    """Return the texts that are not None, by their names on the wire.

    Raises:
        ArgumentError: One is no text.
    """
    return {camel(name): check_text(name, value, minimum=0) for name, value in values.items() if value is not None}


def scored(content_id: str | None, title: str | None, html: str | None, meta_description: str | None) -> dict[str, str]:
    """Return the body of a request for a score.

    Raises:
        ArgumentError: Neither a content nor title and html are given, or both are.
    """
    if content_id is None:
        check_text("title", title, minimum=0)
        check_text("html", html, minimum=0)
    elif title is not None or html is not None:
        raise ArgumentError("content_id", "must not be given together with title or html")
    return texts(content_id=content_id, title=title, html=html, meta_description=meta_description)
