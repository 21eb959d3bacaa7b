"""The verdict of the books on a launch in doubt: one rule for all kinds, by counting, without a request or a clock.

A launch is *absent* only if the books balance one for one: each credit that left the balance since it was read before
the launch has one usage, each of these is that of one launch that the service has taken, by its exact name, and each
such launch has one. Neither times nor other spellings explain a usage away, and one that may be the launch's own leaves
it unknown.
"""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Sequence

import attrs

from cmsapi.api.models.credit_usage import CreditUsage
from cmsapi.jobs.kinds.evidence import Finding, Verdict, is_digest, name_of


@attrs.frozen
class Span:
    """Hold what happened to one balance since it was read before a launch.

    Args:
        usages: The usages since, the newest first; they add up to the credits that left it.
        older: The usages before those, the newest first; two at most.
        then: The balance before the launch.
        taken: How usages call the launches that the service has certainly taken since; None where that is not known.
        others: The same of launches that it may have taken since: in doubt, in flight, or of other processes.
        launched_at: When the launch left on the service's clock at the latest, or None.
    """

    usages: Sequence[CreditUsage]
    older: Sequence[CreditUsage]
    then: int
    taken: Sequence[str | None] = ()
    others: Sequence[str | None] = ()
    launched_at: float | None = None

    @property
    def imbalance(self) -> str | None:
        """Say why the usages are not those of the launches, one for one; None when they are."""
        missing, spare = Counter(self.taken), Counter(self.others)
        for usage in self.usages:
            name = written(usage)
            if abs(usage.amount) != 1:
                return f"usage {usage.id} is of {usage.amount} credits, and a launch costs one"
            if name is not None and missing[name] > 0:
                missing[name] -= 1
            elif name is not None and spare[name] > 0:
                spare[name] -= 1
            else:
                return f"usage {usage.id} is that of no launch that is known here"
        if (why := self._gap) is not None:
            return why
        if unseen := (+missing).total():
            return f"{unseen} launches that the service has taken since then have no usage by their names"
        return None

    @property
    def _gap(self) -> str | None:
        """Say where other credits came or went between the usages, so that they hide what was charged; None nowhere."""
        # Usages of one moment come in any order.
        left = sorted(usage.remaining_credits for usage in self.usages)
        if left != [*range(self.then - len(left), self.then)]:
            return f"the usages do not lead one by one from the balance of {self.then} before the launch to that of now"
        if not self.older:
            return None
        before = self.older[0]
        if before.remaining_credits != self.then:
            return f"usage {before.id} does not lead to the balance of {self.then} before the launch"
        if any(usage.remaining_credits <= self.then for usage in self.older[1:]):
            return f"usage {before.id} gave a credit back"
        if before.created_at.timestamp() > (self.launched_at or math.inf):
            return f"usage {before.id} came after the launch, and is not needed to explain the balance"
        return None


@attrs.frozen
class Control:
    """Hold how a service was seen to book launches of a kind.

    Args:
        within: Seconds after its answer at which one was there.
        user: Identifier of the user under whom it stood, or None.
    """

    within: float
    user: str | None = None


def judge(span: Span, lost: str | None, control: Control | None) -> Finding:
    """Say what the books tell of a launch in doubt that nothing else shows: the verdict for all kinds.

    Args:
        span: What happened to the balance since it was read before the launch.
        lost: What was launched, as people call it; None where that is not known.
        control: How such launches were seen to be booked, None where that was not seen.
    """
    for usage in span.usages:
        if lost is not None and written(usage) == name_of(lost) and name_of(lost) not in (*span.taken, *span.others):
            return Finding.unknown(f"its credit was charged (usage {usage.id}), and no request tells which job it is")
    if control is None:
        return Finding.unknown("it was not seen yet that this service books such launches at once and by name")
    for usage in (*span.usages, *span.older[:1]):
        if lost is None or may_be(usage, lost):
            return Finding.unknown(f"usage {usage.id} may be its own, and no request lists what was launched")
    if (why := span.imbalance) is not None:
        return Finding.unknown(why)
    if any(user_of(usage) != control.user for usage in span.usages):
        return Finding.unknown("usages stand under another user than before")
    why = f"nothing was charged for it: each of the {len(span.usages)} usages since is that of another launch"
    return Finding(verdict=Verdict.ABSENT, why=why)


def written(usage: CreditUsage) -> str | None:
    """Return how a usage calls what it was spent on."""
    keyword = getattr(usage.keyword, "keyword", None)
    return name_of(keyword) if isinstance(keyword, str) else None


def may_be(usage: CreditUsage, lost: str) -> bool:
    """Tell whether a service may call a target so: in any case, without marks or spaces, or cut; this adds doubt."""
    keyword = getattr(usage.keyword, "keyword", None)
    return not isinstance(keyword, str) or is_digest(lost) or _bare(lost).startswith(_bare(keyword))


def _bare(text: str) -> str:
    # A ligature or a digit in a circle may become what it stands for, and what combines with a letter may go.
    decomposed = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return "".join(character for character in decomposed if character.isalnum())


def user_of(usage: CreditUsage) -> str | None:
    """Return the identifier of the user under whom a usage stands."""
    return getattr(usage.user, "id", None)
