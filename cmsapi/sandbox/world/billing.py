"""The credit balances and their charges (specification, sections 1 and 2.7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from cmsapi.sandbox.world.records import Usage

if TYPE_CHECKING:
    from cmsapi.sandbox.world.books import Refund
    from cmsapi.sandbox.world.records import User, Workspace
    from cmsapi.sandbox.world.store import Store

ANALYSIS = "analysis"
AI_WRITING = "ai_writing"
CONTENT_IDEA_SEARCH = "content_idea_search"
TYPES = (ANALYSIS, AI_WRITING, CONTENT_IDEA_SEARCH)
_BALANCES = {
    ANALYSIS: "analysis",
    AI_WRITING: "ai_writing",
    CONTENT_IDEA_SEARCH: "content_ideas_searches",
}


@attrs.define(kw_only=True)
class Credits:
    """The credit balances of the organisation.

    Args:
        analysis: Credits for analyses of keywords and prompts.
        ai_writing: Credits for generations.
        content_ideas_searches: Credits for content-idea searches.
    """

    analysis: int = attrs.field(default=10_000, validator=attrs.validators.ge(0))
    ai_writing: int = attrs.field(default=10_000, validator=attrs.validators.ge(0))
    content_ideas_searches: int = attrs.field(default=10_000, validator=attrs.validators.ge(0))

    def of(self, type_: str) -> int:
        """Return the balance that a type of usage draws on."""
        balance: int = getattr(self, _BALANCES[type_])
        return balance

    def add(self, type_: str, amount: int) -> int:
        """Change the balance that a type of usage draws on, and return it."""
        balance = self.of(type_) + amount
        setattr(self, _BALANCES[type_], balance)
        return balance


@attrs.define(eq=False)
class Purchase:
    """The price of a job, its buyer and its keyword.

    `charged` tells whether the credits were taken and not returned, and `usage` is the entry of that.
    """

    type: str
    amount: int
    user: User
    workspace: Workspace
    keyword: str
    charged: bool = False
    usage: Usage | None = None


class Billing:
    """Charge purchases to the balances and write the usage entries.

    Args:
        balances: The balances, which each charge changes.
        store: Store of the entries.
        sign: +1 if entries show the credits consumed, -1 if they show the change of the balance.
        refund: How a credit comes back: the `balance` only, with a `row`, or as a `deleted` entry.
    """

    def __init__(self, balances: Credits, store: Store, sign: int = 1, refund: Refund = "balance") -> None:
        self.balances = balances
        self._store = store
        self._sign = sign
        self._refund = refund
        self._reserved: dict[str, int] = dict.fromkeys(TYPES, 0)

    def affords(self, purchase: Purchase) -> bool:
        """Whether the balance covers a purchase beside the reserved ones."""
        return self.balances.of(purchase.type) - self._reserved[purchase.type] >= purchase.amount

    def reserve(self, purchase: Purchase) -> None:
        """Reserve the credits of a purchase that is charged later."""
        self._reserved[purchase.type] += purchase.amount

    def release(self, purchase: Purchase) -> None:
        """Release the reserved credits of a purchase."""
        self._reserved[purchase.type] -= purchase.amount

    def charge(self, purchase: Purchase, moment: float) -> None:
        """Take the credits and write a usage entry."""
        remaining = self.balances.add(purchase.type, -purchase.amount)
        purchase.charged = True
        if purchase.amount:
            purchase.usage = self._entry(purchase, purchase.amount, remaining, moment)
            self._store.usages[purchase.type].append(purchase.usage)

    def refund(self, purchase: Purchase, moment: float) -> None:
        """Return the credits of a charged purchase."""
        remaining = self.balances.add(purchase.type, purchase.amount)
        purchase.charged = False
        if purchase.usage is None:
            return
        usages = self._store.usages[purchase.type]
        if self._refund == "row":
            usages.append(self._entry(purchase, -purchase.amount, remaining, moment))
        elif self._refund == "deleted":
            usages.remove(purchase.usage)

    def _entry(self, purchase: Purchase, amount: int, remaining: int, moment: float) -> Usage:
        return Usage(
            id=self._store.new_id("use"),
            created_at=moment,
            amount=self._sign * amount,
            remaining_credits=remaining,
            type=purchase.type,
            keyword=purchase.keyword,
            user=purchase.user,
            workspace=purchase.workspace,
        )
