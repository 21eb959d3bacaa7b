"""One piece of paid work, as it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from cmsapi.jobs.kinds.kind import Kind
from cmsapi.jobs.kinds.registry import KINDS
from cmsapi.jobs.tracked import JobKey


def _kind(word: str) -> Kind:
    return KINDS[word]


@attrs.frozen(kw_only=True)
class LaunchRequest:
    """Describe one launch.

    Args:
        kind: The word of the kind of job; the attribute is the kind itself.
        target: What it works on.
        path: Path parameters of the operation that launches it.
        body: Its body, by wire name.
    """

    kind: Kind = attrs.field(converter=_kind)
    target: str
    path: Mapping[str, str]
    body: Mapping[str, Any] | None = None
    #: The key that launches of the same work share.
    key: JobKey = attrs.field(init=False, default=attrs.Factory(lambda self: (self.kind, self.target), takes_self=True))
