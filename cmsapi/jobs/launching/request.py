"""One piece of paid work, as it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from cmsapi.jobs.kinds.kind import JobKind
from cmsapi.jobs.polling.registry import Key


@attrs.frozen(kw_only=True)
class LaunchRequest:
    """Describe one launch.

    Args:
        kind: Kind of job.
        target: What it works on.
        operation: The operation that launches it.
        path: Its path parameters.
        body: Its body, by wire name.
        joins: Whether launches for the same target are the same work.
        workspace: The workspace, where the target alone does not tell.
    """

    kind: JobKind
    target: str
    operation: str
    path: Mapping[str, str]
    body: Mapping[str, Any] | None = None
    joins: bool = True
    workspace: str | None = None

    @property
    def key(self) -> Key:
        """What launches of the same work have in common."""
        return (self.kind, self.target)
