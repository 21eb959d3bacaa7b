"""One piece of paid work, as it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from cmsapi.jobs.kinds.kind import JobKind
from cmsapi.jobs.kinds.registry import kind_of
from cmsapi.jobs.tracked import JobKey


@attrs.frozen(kw_only=True)
class LaunchRequest:
    """Describe one launch.

    Args:
        kind: Kind of job.
        target: What it works on.
        path: Path parameters of the operation that launches it.
        body: Its body, by wire name.
    """

    kind: JobKind
    target: str
    path: Mapping[str, str]
    body: Mapping[str, Any] | None = None

    @property
    def operation(self) -> str:
        """The operation that launches it."""
        return kind_of(self.kind).launch_operation

    @property
    def joins(self) -> bool:
        """Whether launches for the same target are the same work."""
        return kind_of(self.kind).joins

    @property
    def key(self) -> JobKey:
        """What launches of the same work have in common."""
        return (self.kind, self.target)
