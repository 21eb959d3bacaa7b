"""Base class of the models: frozen attrs classes, with keys that they have no field for in ``extra``."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from attrs import field, frozen

from cmsapi.messages import Response


@frozen(kw_only=True, slots=False)
class Model:
    """Base class of everything the service returns.

    Attributes:
        extra: Keys of the JSON object that the class has no field for, under their names on the wire.
        response: The answer that brought this object, with ``status``, ``headers`` and ``request_id``. None for an
            object inside another one and for one that was made by hand.
    """

    extra: Mapping[str, Any] = field(factory=dict, repr=False, hash=False)
    response: Response | None = field(default=None, init=False, eq=False, repr=False)


class OpenEnum(StrEnum):
    """Enumeration of the listed words that takes unlisted ones as they come, since a service may add words."""

    @classmethod
    def _missing_(cls, value: object) -> OpenEnum | None:
        if not isinstance(value, str):
            return None
        member = str.__new__(cls, value)
        member._name_ = member._value_ = value
        return member
