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
        extra: Values that the class has no field for, by JSON key. If the specification does not describe the model,
            most optional values of an unexpected type are also kept here.
        response: The response that this object was read from; None for a list item or a nested object.
    """

    extra: Mapping[str, Any] = field(factory=dict, repr=False, hash=False)
    response: Response | None = field(default=None, init=False, eq=False, repr=False)


@frozen(kw_only=True, slots=False)
class Reference(Model):
    """Identifier and name of an organization, workspace or folder that another resource refers to."""

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
