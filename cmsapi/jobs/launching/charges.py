"""Which usages were charged since a launch, as the balances prove it.

The usages since are those that lead from the balance of now to the balance that was known before the launch, each to
the one before it. Their times and their order in the list prove nothing. They only add doubt: a usage from that time
that is not on the way means that credits were bought or given back, so that a charge may hide behind the balances.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cmsapi.api.models.credit_usage import CreditUsage

# Seconds by which the clocks of a service may differ from each other. If they differ by more, some launches stay
# unknown that the evidence would tell otherwise.
CLOCKS = 600.0


def between(
    then: int, now: int, usages: Iterable[CreditUsage], launched_at: float
) -> tuple[list[CreditUsage], list[CreditUsage]] | None:
    """Find the usages that lead from one balance to a later one.

    Args:
        then: The balance before.
        now: The balance after.
        usages: What the service lists, in any order.
        launched_at: The earliest time that a usage of a launch since then may carry, apart from clocks that differ.

    Returns:
        The usages, newest first, and those before them that carry about the same times; or None when the usages do
        not lead from one balance to the other, or when some are missing.
    """
    costly = sorted({usage.id: usage for usage in usages if usage.amount}.values(), key=age)
    # The list also has what was charged between the reading of the balance and that of the list.
    newer = {
        usage.remaining_credits + abs(usage.amount): usage.remaining_credits
        for usage in costly
        if usage.created_at.timestamp() >= launched_at - CLOCKS
    }
    while now in newer:
        now = newer.pop(now)
    since, at = _chain(costly, now, then)
    if at != then:
        return None
    ids = {usage.id for usage in since}
    # The usages before belong to the same chain as long as no credits came in.
    before, _ = _chain([usage for usage in costly if usage.id not in ids], then, None)
    began = min([launched_at, *(usage.created_at.timestamp() for usage in before[:1])]) - CLOCKS
    recent = {usage.id for usage in costly if usage.created_at.timestamp() >= began}
    if not ids <= recent <= ids | {usage.id for usage in before}:
        return None
    return since, [usage for usage in before if usage.created_at.timestamp() >= launched_at - CLOCKS]


def _chain(usages: Sequence[CreditUsage], balance: int, end: int | None) -> tuple[list[CreditUsage], int]:
    """Follow usages back from a balance, each to the balance before it, until one is reached or none leads on."""
    leading: dict[int, CreditUsage] = {}
    for usage in reversed(usages):
        leading[usage.remaining_credits] = usage
    chain: list[CreditUsage] = []
    while balance != end and balance in leading:
        usage = leading.pop(balance)
        chain.append(usage)
        balance += abs(usage.amount)
    return chain, balance


def counts(usage: CreditUsage) -> bool:
    """Tell whether a usage says what it took from which balance; the others cannot be part of a chain."""
    said = (usage.id, usage.created_at, usage.amount, usage.remaining_credits)
    return None not in said


def age(usage: CreditUsage) -> tuple[float, int]:
    """Return a sort key that grows with the age of a usage, as far as times and balances tell it."""
    return -usage.created_at.timestamp(), usage.remaining_credits
