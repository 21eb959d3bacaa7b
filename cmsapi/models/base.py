"""The base class of the models, and references to organizations, workspaces, folders and users."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from cmsapi.messages import Response


@frozen(kw_only=True, slots=False)
class Model:
    """Base class of the models, all of which are frozen attrs classes.

    Attributes:
        extra: Values that the class has no field for, by JSON key. In models that the specification does not describe,
            also values of an unexpected type, unless the field is required or shows the progress of an analysis.
        response: The response whose body is this object; otherwise None, as for a list item or a nested object.
    """

    extra: Mapping[str, Any] = field(factory=dict, repr=False, hash=False)
    response: Response | None = field(default=None, init=False, eq=False, repr=False)


@frozen(kw_only=True, slots=False)
class Reference(Model):
    """Reference to an organization, workspace or folder in another resource: identifier and name."""

    id: str | None = None
    name: str | None = None


@frozen(kw_only=True, slots=False)
class UserReference(Model):
    """A user named in another resource; ``email`` and ``profile_image_url`` are set only for an assignee."""

    id: str | None = None
    first_name: str | None = None
    last_name: str | None = None
    email: str | None = None
    profile_image_url: str | None = None
