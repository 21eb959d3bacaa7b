"""Tell the scheduler what to call for the jobs of one poller."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from cmsapi.api.model import Model
from cmsapi.jobs.scheduling.list_page import Listing
from cmsapi.jobs.tracked import TrackedJob
from cmsapi.observability.hooks import Hooks


@attrs.frozen(eq=False)
class PollCallbacks:
    """Hold what the scheduler calls for the jobs of one poller.

    Args:
        hooks: The hooks of the poller's client.
        poll: Begins a poll of a job that is due, and does not wait for its end.
        show: Shows a job a document that was read for another reason, and asked for at a loop time.
        read_list: Begins to read a page of a list on which several jobs are, with the settings of one of them.
    """

    hooks: Hooks
    poll: Callable[[TrackedJob], None]
    show: Callable[[TrackedJob, Model, float], None]
    read_list: Callable[[Listing, TrackedJob], None]
