"""One piece of paid work, as it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from cmsapi.config import LaunchPolicy
from cmsapi.display import markup
from cmsapi.errors import JobError
from cmsapi.jobs.job import Job
from cmsapi.jobs.kinds.kind import Kind


@attrs.frozen(kw_only=True)
class LaunchRequest:
    """Describe one launch.

    Args:
        kind: What kind of job.
        target: What it works on.
        path: Path parameters of the operation that launches it.
        body: Its body, by wire name.
    """

    kind: Kind
    target: str
    path: Mapping[str, str]
    body: Mapping[str, Any] | None = None

    def __str__(self) -> str:
        # A keyword to search is any text, and an error may become a line of a log.
        return f"{self.kind} for {markup.plain(self.target)}"

    def check_join(
        self,
        policy: LaunchPolicy,
        *,
        settings: str | None,
        theirs: str | None,
        job: Job[Any] | None = None,
        elsewhere: bool = False,
        same_item: bool = False,
    ) -> None:
        """Refuse to join a launch with another digest of its settings; if the policy says so, any of another item.

        Args:
            policy: Says what may be joined.
            settings: Digest of the settings of this one.
            theirs: That of the launch to join.
            job: The job of that launch, if there is one.
            elsewhere: Whether another client has launched it.
            same_item: Whether both are for the same item of a batch.

        Raises:
            JobError: It must not be joined; nothing was sent.
        """
        problem = ", launched by another client" if elsewhere else ""
        if settings != theirs:
            problem = f" with {'other settings' if theirs else 'settings not known to this client'}{problem}"
        elif policy.dedupe != "error" or same_item:
            return
        raise JobError(
            f"A {self} is under way already{problem}; nothing was sent or charged. "
            "Wait for it, or launch with LaunchPolicy(dedupe='allow').",
            job=job,
        )
