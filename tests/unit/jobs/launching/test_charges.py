"""Which usages lead from one balance to a later one."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from cmsapi.api.models.credit_usage import CreditUsage
from cmsapi.jobs.launching.charges import CLOCKS, between, counts
from tests.support.usages import NOW, usage


@pytest.mark.parametrize(
    ("then", "now", "usages", "found"),
    [
        (10, 10, [], []),
        (10, 10, [usage(10, -60)], []),
        (10, 9, [usage(9)], [9]),
        (10, 9, [usage(9), usage(10, -60), usage(11, -70)], [9]),
        (10, 7, [usage(9), usage(7, amount=-2), usage(10, -60)], [7, 9]),
        # In whatever order they are listed, and whatever they are dated.
        (10, 8, [usage(10, 3), usage(9, -4), usage(8, -2)], [8, 9]),
        # Not everything is listed, and what costs nothing does not count.
        (10, 9, [], None),
        (10, 8, [usage(8)], None),
        (10, 9, [usage(9), usage(9, 2, amount=0)], [9]),
        # Charged after the balance was read, and before the usages were.
        (10, 9, [usage(9), usage(8), usage(7)], [7, 8, 9]),
        (10, 10, [usage(9), usage(10, -60)], [9]),
        (10, 9, [usage(9), usage(7)], None),
        # Credits came in since.
        (10, 11, [usage(9)], None),
        (10, 9, [usage(9, 5), usage(10, 4), usage(11, 3), usage(8, 2), attrs.evolve(usage(9), id="first")], None),
        # Credits came in before, long ago or lately.
        (10, 10, [usage(3, -CLOCKS - 60)], []),
        (10, 9, [usage(9), usage(3, -CLOCKS - 60)], [9]),
        (10, 9, [usage(9), usage(3, -60)], None),
        # Dated before any clock of the service can explain.
        (10, 9, [usage(9, -CLOCKS - 61), usage(10, -60)], None),
    ],
)
def test_what_leads_from_one_balance_to_the_next(
    then: int, now: int, usages: list[CreditUsage], found: list[int] | None
) -> None:
    """Usages are since a balance when they lead there one by one, and nothing that is listed lies beside."""
    told = between(then, now, usages, NOW.timestamp())
    assert (told if told is None else [usage.remaining_credits for usage in told[0]]) == found


def test_what_may_not_be_from_before() -> None:
    """Of the usages before, those of the last minutes are told, because clocks may differ by as much."""
    before = [usage(10, -CLOCKS + 60), usage(11, -CLOCKS - 60)]
    assert between(10, 9, [usage(9), *before], NOW.timestamp()) == ([usage(9)], before[:1])


@pytest.mark.parametrize("name", ["id", "created_at", "amount", "remaining_credits"])
def test_a_usage_that_leaves_no_balance_is_no_part_of_a_way(name: str) -> None:
    """A usage without an identifier, a time, an amount or a balance does not count."""
    missing: dict[str, Any] = {name: None}
    assert not counts(attrs.evolve(usage(9), **missing))
