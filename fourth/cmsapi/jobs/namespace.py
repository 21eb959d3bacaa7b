"""``client.jobs``: what concerns jobs of every kind."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, TypeVar

from cmsapi.jobs.job import Job
from cmsapi.jobs.kinds import JobKind
from cmsapi.jobs.launch import Launcher
from cmsapi.jobs.poller import Poller
from cmsapi.wire.arguments import check_word, identifier

R = TypeVar("R")


class Jobs:
    """Launch many jobs, and wait for jobs, whoever launched them."""

    def __init__(self, launcher: Launcher) -> None:
        self._launcher = launcher
        self._pipeline = launcher.pipeline

    def _poller(self) -> Poller:
        return self._launcher.recovery.poller

    def watch(self, kind: JobKind | str, id: str) -> Job[Any]:  # noqa: A002  the word of the service
        """Return a job that runs at the service, whoever launched it. Costs nothing until it is awaited.

        Args:
            kind: ``analysis``, ``prompt``, ``search``, ``generation`` or ``knowledge_document``.
            id: Identifier of the keyword, prompt, search, content or knowledge document.

        Raises:
            ArgumentError: There is no such kind, or the identifier cannot be one.
        """
        identifier("id", id)
        check_word("kind", kind, JobKind)
        poller = self._poller()
        tracked = poller.track(self._launcher.recovery.kinds[JobKind(kind)], id, self._pipeline)
        tracked.moved = True  # what the document shows is what is asked for: no launch of our own is looked for
        return Job(tracked, poller)

    async def run(self, launch: Awaitable[Job[R]]) -> R:
        """Launch a job and return its result: ``await client.jobs.run(client.keywords.analyze(id))``."""
        return await (await launch)
