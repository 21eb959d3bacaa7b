"""Storms: random faults from a seed."""

from __future__ import annotations

from cmsapi.sandbox import storm


def test_storms_are_seeded_and_differ() -> None:
    """The same seed gives the same plan; together the plans have every kind of fault, and all end."""
    assert storm(7).rules == storm(7).rules
    plans = [storm(seed) for seed in range(200)]
    kinds = {rule.kind for plan in plans for rule in plan.rules}
    assert {"429", "401", "404", "slow", "garbage", "superseded", "null status", "dropped within the answer"} <= kinds
    assert {"503 after the effect", "429 with Retry-After", "truncated", "nested"} <= kinds
    assert any(plan.clock_steps for plan in plans)
    assert all(rule.between[1] <= 300.0 or rule.times for plan in plans for rule in plan.rules)
