"""One piece of paid work, as it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from cmsapi.display import markup
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
