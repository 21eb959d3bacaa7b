"""What polls the jobs of one client, as the scheduler knows it."""

from __future__ import annotations

from typing import Protocol

from cmsapi.api.model import Model
from cmsapi.jobs.scheduling.list_page import Listing
from cmsapi.jobs.tracked import TrackedJob
from cmsapi.observability.hooks import Hooks


class JobPoller(Protocol):
    """Poll the jobs of one client when the scheduler says so; neither method waits for an answer."""

    #: The hooks of its client.
    hooks: Hooks

    def poll(self, job: TrackedJob, why: str) -> None:
        """Begin a poll of a job that is due, and say why it is where that is special."""

    def read_list(self, listing: Listing, job: TrackedJob) -> None:
        """Begin to read a page of a list on which several jobs are, with the settings of one of them."""

    def show(self, job: TrackedJob, document: Model, sent_at: float) -> None:
        """Show a job a document that was read for another reason, and asked for at a loop time."""
