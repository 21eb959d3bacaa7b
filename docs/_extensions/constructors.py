"""Tell whose constructors are not public; the page of a class leaves them out, and the record of the interface, too."""

from __future__ import annotations

import enum

from cmsapi import Model

# Made by hand, although models are not.
_SETTINGS = {"GenerationSettings"}
# What users do not make is in these.
_MADE_THERE = (
    *("cmsapi.resources", "cmsapi.doctor", "cmsapi.jobs", "cmsapi.observability", "cmsapi.api.pag"),
    *("cmsapi.blocking.jobs", "cmsapi.blocking.lists"),
)


def is_read_only(thing: object) -> bool:
    """Tell whether users read it and do not make it: models, snapshots, events, errors, words."""
    if not isinstance(thing, type) or thing.__name__ in _SETTINGS:
        return False
    module = thing.__module__
    return (
        issubclass(thing, Model | Exception | enum.Enum)
        or module.startswith(_MADE_THERE)
        or module in ("cmsapi.ratelimit.limiter", "cmsapi.api.operations", "cmsapi.transport.http")
        or thing.__name__ in ("FolderTree", "Ledger", "Entry", "SandboxTransport", "Statistics")
    )
