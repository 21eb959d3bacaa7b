"""Evidence of launches whose answers are lost: verdicts, charges, other launches, and how they compare.

Only a launch that certainly did not happen may be sent again: each charge since the balance that was known before it
belongs to another launch that is known here, or to another user. Neither times nor spelling prove that. A charge that
may be its own in another spelling, or that no launch explains, leaves it unknown.
"""

from __future__ import annotations

import enum
import hashlib
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

import attrs

from cmsapi.api.models.credit_usage import CreditUsage
from cmsapi.api.models.user import User, UserRef
from cmsapi.state.entry import Entry, Fact

# `Date` and the times in documents are exact to a second each.
CLOCK_BLUR = timedelta(seconds=2)
# By how much this machine's clock may be wrong, where the service tells no time.
OWN_CLOCK = timedelta(seconds=120)
# A keyword that is longer than this is a text, and the journal keeps no texts.
_LONGEST_NAME = 500


def by_own_clock(wall: float) -> datetime:
    """Return the earliest time of the service at a moment of this machine's clock, where the service tells no time."""
    return datetime.fromtimestamp(wall, UTC) - OWN_CLOCK


class Verdict(enum.Enum):
    """Say whether a launch happened."""

    LAUNCHED = "it was launched"
    ABSENT = "it was not launched"
    UNKNOWN = "it cannot be told"


@attrs.frozen(kw_only=True)
class Finding:
    """Hold a verdict and what it rests on.

    Args:
        verdict: Whether it happened.
        why: The evidence, in words.
        job_id: The job, where the kind has an identifier.
        ours: Whether it is certainly not another user's.
        running: Whether it is known to have been running since the launch.
        served_at: When it was sent on the service's clock, as far as that is known by now.
    """

    verdict: Verdict
    why: str
    job_id: str | None = None
    ours: bool = True
    running: bool = False
    served_at: float | None = None

    @classmethod
    def unknown(cls, why: str) -> Finding:
        """Say that the evidence does not tell."""
        return cls(verdict=Verdict.UNKNOWN, why=why)


@attrs.frozen
class Charges:
    """Hold what was charged of one balance since a launch, and the other launches that are known to draw on it.

    Args:
        user: The user of the key, with the balances as they were read before the usages.
        balance: The balance in question among them, None where the service does not show it.
        since: The usages since the launch, newest first; None when the balances do not prove which they are.
        before: Usages of about the same time that lead to the balance before the launch. One of them may come from
            after it all the same, if credits were bought or given back just before it.
        sure: The other launches that the service has taken for certain, and that left after the balance before the
            launch was read.
        perhaps: The rest of the other launches: in doubt, in flight, or perhaps charged before that.
    """

    user: User
    balance: int | None
    since: Sequence[CreditUsage] | None
    before: Sequence[CreditUsage] = ()
    sure: Sequence[Entry] = ()
    perhaps: Sequence[Entry] = ()

    def ours(self, usages: Iterable[CreditUsage]) -> list[CreditUsage]:
        """Return the usages by the user of the key, and those that may be by that user."""
        return [usage for usage in usages if self._may_be_ours(usage.user)]

    def _may_be_ours(self, user: UserRef | None) -> bool:
        if user is None or user.id is None or self.user.id in (None, user.id):
            return True
        # A service may know its users by other identifiers there.
        return (user.first_name, user.last_name) == (self.user.first_name, self.user.last_name)


# Findings that several kinds share


def absent(charges: Charges) -> Finding:
    """Say that known launches explain every charge since."""
    why = f"nothing was charged for it: known launches explain how the balance came to {charges.balance}"
    return Finding(verdict=Verdict.ABSENT, why=why)


def unproven(charges: Charges | None) -> Finding:
    """Say that the balances do not prove what was charged since."""
    if charges is None or charges.balance is None:
        return Finding.unknown("the service shows no balance")
    return Finding.unknown(f"the usages do not explain how the balance came to {charges.balance}")


def from_before(usage: CreditUsage) -> Finding:
    """Say that an earlier charge may be the launch's own."""
    why = f"such a launch was charged lately (usage {usage.id}), and credits may have been given back before this one"
    return Finding.unknown(why)


def unexplained(usage: CreditUsage) -> Finding:
    """Say that a charge belongs to no launch that is known here."""
    return Finding.unknown(f"no launch that is known here explains a charge by this user (usage {usage.id})")


# Keywords, as usages and the journal write them


def name_of(keyword: str) -> str:
    """Name a keyword in the journal: by itself, or by a digest when it is a whole text."""
    if len(keyword) <= _LONGEST_NAME:
        return keyword
    return hashlib.blake2b(keyword.encode(), digest_size=16).hexdigest()


def written(usage: CreditUsage) -> str:
    """Return the keyword of a usage; a usage that shows none may be of any."""
    return getattr(usage.keyword, "keyword", None) or ""


def may_be(text: str, keyword: str | None) -> bool:
    """Tell whether a service may have written a keyword so: in any case, without marks or spaces, or cut."""
    return keyword is None or _bare(keyword).startswith(_bare(text))


def _bare(text: str) -> str:
    # A ligature or a digit in a circle may become what it stands for, and what combines with a letter may go.
    decomposed = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return "".join(character for character in decomposed if character.isalnum())


def is_after(entry: Entry, mark: Fact) -> bool | None:
    """Tell whether a launch certainly left after the reading of the balances that a mark names, or before it.

    It is None where the two cannot be compared.
    """
    own = entry.facts.get("mark")
    if not isinstance(own, str) or not isinstance(mark, str):
        return None
    (process, _, number), (of_mark, _, since) = own.partition(":"), mark.partition(":")
    readable = number.isdecimal() and since.isdecimal() and max(len(number), len(since)) < 20
    comparable = process == of_mark and readable
    return int(number) >= int(since) if comparable else None
