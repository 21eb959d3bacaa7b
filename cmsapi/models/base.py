"""The base class of the models, and the short forms of resources inside other resources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from cmsapi.messages import Response


@frozen(kw_only=True, slots=False)
class Model:
    """Base class of everything the service returns, a frozen attrs class.

    Attributes:
        extra: Values in the JSON object for which the class has no field, under their names on the wire; in models that
            the specification does not show, also values that do not fit their field.
        response: The answer that contained this object; None for nested objects and for objects that you create.
    """

    extra: Mapping[str, Any] = field(factory=dict, repr=False, hash=False)
    response: Response | None = field(default=None, init=False, eq=False, repr=False)


@frozen(kw_only=True, slots=False)
class Reference(Model):
    """Short form of an organization, a workspace or a folder inside another resource."""

    id: str | None = None
    name: str | None = None


@frozen(kw_only=True, slots=False)
class UserReference(Model):
    """Short form of a user inside another resource; only an assignee comes with ``email`` and ``profile_image_url``."""

    id: str | None = None
    first_name: str | None = None
    last_name: str | None = None
    email: str | None = None
    profile_image_url: str | None = None
