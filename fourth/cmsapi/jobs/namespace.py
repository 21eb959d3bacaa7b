"""``client.jobs``: what concerns jobs of every kind."""

from __future__ import annotations

from typing import Any

from cmsapi.config import PollPolicy
from cmsapi.errors import ArgumentError
from cmsapi.jobs.job import Job
from cmsapi.jobs.kinds import JobKind, kinds_of
from cmsapi.jobs.poller import poller_of
from cmsapi.transport.pipeline import Pipeline
from cmsapi.wire.arguments import identifier


class Jobs:
    """Watch jobs, whoever launched them."""

    def __init__(self, pipeline: Pipeline, polling: PollPolicy) -> None:
        self._pipeline = pipeline
        self._polling = polling
        self._kinds = kinds_of(polling.words)

    def watch(self, kind: JobKind | str, id: str) -> Job[Any]:  # noqa: A002  the word of the service
        """Return a job that runs at the service, whoever launched it. Costs nothing until it is awaited.

        Args:
            kind: ``analysis``, ``prompt``, ``search``, ``generation`` or ``knowledge_document``.
            id: Identifier of the keyword, prompt, search, content or knowledge document.

        Raises:
            ArgumentError: There is no such kind, or the identifier cannot be one.
        """
        identifier("id", id)
        if kind not in set(JobKind):
            raise ArgumentError("kind", f"must be one of {', '.join(JobKind)}, got {kind!r}")
        poller = poller_of(self._pipeline.account(), self._polling)
        tracked = poller.track(self._kinds[JobKind(kind)], id, self._pipeline)
        tracked.moved = True  # what the document shows is what is asked for: no launch of our own is looked for
        return Job(tracked, poller)
