"""Settings of the books: how the service records what launches cost, which the specification leaves open.

Each setting has the default that the project documents, and alternatives under which a client must not pay twice.
"""

from __future__ import annotations

from typing import Any, Literal

import attrs

from cmsapi.sandbox.world.behaviour import check_words

_optional_count = attrs.validators.optional(attrs.validators.ge(1))


def _end_or_seconds(instance: Books, attribute: attrs.Attribute[Any], moment: float | Literal["end"]) -> None:
    if moment != "end" and (isinstance(moment, str) or not moment >= 0):
        raise ValueError(f"`{attribute.name}` must be 'end' or a number of seconds from 0, got {moment!r}")


@attrs.frozen(kw_only=True)
class Books:
    """Choose how the service books launches: the balances that `/v1/me` shows, and `/v1/credit-usages`.

    What is not booked yet is reserved: the credits of a balance never buy more launches than there are credits.

    Args:
        booked_after: Seconds from the charge of a launch to its usage and the new balance, or `end`: they appear when
            the job ends.
        free: Share of the launches that cost nothing, drawn from the seed: no usage, and no change of the balance.
        refunded: Share of the other launches whose credit comes back, whatever becomes of their jobs.
        refunded_after: Seconds from the usage to that refund.
        refund: How a credit comes back, also that of a failed job (`Behaviour.refunded`): only the `balance` changes, a
            `row` of its own has the amount with the opposite sign, or the usage is `deleted`.
        user: Under whom usages stand: the user of the key, the identity `{"id": "api", "firstName": "API"}`, or null.
        keyword: How usages write the keyword: the `same`, `decorated` ("analysis tents (US)"), in `upper` case, always
            an `other` word, null, or no such key.
        refused: Whether `/v1/credit-usages` is refused to everybody with 403.
        page_size: The most usages on a page, whatever the request asks for; None for what it asks for.
        pages: The most pages of usages: the last one says that there are no more, and `total` stays true. None for all.
        oldest_first: Whether usages begin with the oldest, whatever `Behaviour.order` says of lists.
    """

    booked_after: float | Literal["end"] = attrs.field(default=0.0, validator=_end_or_seconds)
    free: float = attrs.field(
        default=0.0, validator=attrs.validators.and_(attrs.validators.ge(0), attrs.validators.le(1))
    )
    refunded: float = attrs.field(
        default=0.0, validator=attrs.validators.and_(attrs.validators.ge(0), attrs.validators.le(1))
    )
    refunded_after: float = attrs.field(default=60.0, validator=attrs.validators.ge(0))
    refund: Literal["balance", "row", "deleted"] = "balance"
    user: Literal["key", "api", "null"] = "key"
    keyword: Literal["same", "decorated", "upper", "other", "null", "absent"] = "same"
    refused: bool = False
    page_size: int | None = attrs.field(default=None, validator=_optional_count)
    pages: int | None = attrs.field(default=None, validator=_optional_count)
    oldest_first: bool = False

    def __attrs_post_init__(self) -> None:
        """Check the words.

        Raises:
            ValueError: A setting has a value that its type does not list.
        """
        check_words(self)
