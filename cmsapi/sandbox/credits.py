"""How the sandbox charges credits: three balances, and a usage entry for each change (specification 1, 2.7, 3, 4.7).

A launch is refused with a 409 if its balance has no credit left. `Choices.charged` decides when a job is charged, and
whether a failed job is refunded.
"""

from __future__ import annotations

from collections.abc import Mapping

from cmsapi.sandbox.ledger import AcceptedLaunch
from cmsapi.sandbox.refusal import Refusal
from cmsapi.sandbox.store import Record, Store

DEFAULT_BALANCES: Mapping[str, int] = {"analysis": 5000, "aiWriting": 1000, "contentIdeasSearches": 2000}
# The balances' names in credit usages.
CREDIT_TYPES: Mapping[str, str] = {
    "analysis": "analysis",
    "aiWriting": "ai_writing",
    "contentIdeasSearches": "content_idea_search",
}
# The balance from which a job of each kind is charged one credit; knowledge documents cost nothing.
PAID_FROM: Mapping[str, str] = {
    "analysis": "analysis",
    "prompt": "analysis",
    "search": "contentIdeasSearches",
    "generation": "aiWriting",
}


class Credits:
    """The organization's credits. Missing ``balances`` start at their defaults; unknown ones raise ValueError."""

    def __init__(self, store: Store, balances: Mapping[str, int] | None) -> None:
        unknown = set(balances or ()) - set(DEFAULT_BALANCES)
        if unknown:
            raise ValueError(f"credits: unknown balance {min(unknown)!r}; known are {', '.join(DEFAULT_BALANCES)}")
        self.balances: dict[str, int] = {**DEFAULT_BALANCES, **(balances or {})}
        self._store = store
        self._charged = store.choices.charged

    def check(self, kind: str) -> None:
        """Check that a credit is left for a job of ``kind``; a knowledge document needs none.

        Raises:
            Refusal: 409 if a credit is needed and none is left.
        """
        balance = PAID_FROM.get(kind)
        if balance is not None and self.balances[balance] < 1:
            raise Refusal(409, f"No {balance} credit is left.")

    def launched(self, launch: AcceptedLaunch, usage: Record, at: float) -> None:
        """Charge ``launch`` and add a usage entry based on ``usage``, unless jobs are charged at completion."""
        if self._charged != "completion":
            self._charge(launch, 1, usage, at)

    def ended(self, launch: AcceptedLaunch, usage: Record, at: float, word: str | None) -> None:
        """Charge or refund a job that has ended with the status ``word``, if `Choices.charged` requires it."""
        if self._charged == "completion" and word == "success":
            self._charge(launch, 1, usage, at)
        elif self._charged == "refunded" and word == "failed":
            self._charge(launch, -1, usage, at)

    def _charge(self, launch: AcceptedLaunch, amount: int, usage: Record, at: float) -> None:
        if launch.kind not in PAID_FROM:
            return
        balance = PAID_FROM[launch.kind]
        launch.credits += amount
        self.balances[balance] -= amount
        self._store.add(
            "usages",
            createdAt=self._store.clock.stamp(at),
            amount=amount,
            remainingCredits=self.balances[balance],
            type=CREDIT_TYPES[balance],
            **usage,
        )
