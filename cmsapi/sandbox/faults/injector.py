"""Fault injection: the fault that breaks a request, and the latency of its way."""

from __future__ import annotations

import fnmatch
import itertools
import random
from collections import Counter

import attrs

from cmsapi.sandbox.faults.rules import Fault, Faults
from cmsapi.sandbox.randomness.seeded import seeded_random


@attrs.define
class _Rule:
    """A fault, the generator of its chance, and the number of requests that it will still break."""

    fault: Fault
    rng: random.Random
    remaining: int | None


class FaultInjector:
    """Choose the delays and faults of each request, reproducibly.

    Args:
        faults: The faults to choose from.
        seed: Seed of the choices.
    """

    def __init__(self, faults: Faults, seed: object) -> None:
        self._seed = seed
        self._latency = faults.latency
        self._numbers = itertools.count()
        self._rules = [self._armed(fault) for fault in faults.rules]
        self._delays = seeded_random(seed, "latency")
        self._steps = list(faults.clock_steps)
        self._began: float | None = None
        self.struck: Counter[str] = Counter()

    @property
    def pending(self) -> list[tuple[Fault, int | None]]:
        """The faults that may still strike, and how many requests each will break: None for all that match."""
        return [(rule.fault, rule.remaining) for rule in self._rules if rule.remaining != 0]

    def add(self, fault: Fault) -> None:
        """Add a fault that strikes from now on, before the existing ones."""
        self._rules.insert(0, self._armed(fault))

    def clear(self) -> None:
        """Remove all faults; latency and steps of the clock stay."""
        self._rules.clear()

    def draw_latency(self) -> float:
        """Draw the latency of one direction, in seconds."""
        if self._latency is None:
            return 0.0
        if callable(self._latency):
            return self._latency(self._delays)
        return self._delays.uniform(*self._latency)

    def fault_for(self, method: str, path: str, at: float) -> Fault | None:
        """Return the fault that breaks a request, and count it; None if the request stays whole.

        Args:
            method: HTTP method.
            path: Path, percent-encoded.
            at: Reading of the clock at the arrival.
        """
        since = self._since(at)
        for rule in self._rules:
            begin, end = rule.fault.between
            if rule.remaining == 0 or not begin <= since < end:
                continue
            matches = fnmatch.fnmatchcase(f"{method} {path}", rule.fault.match)
            if matches and rule.rng.random() < rule.fault.probability:
                rule.remaining = None if rule.remaining is None else rule.remaining - 1
                self.struck[rule.fault.kind] += 1
                return rule.fault
        return None

    def due_clock_step(self, at: float) -> float:
        """Return the seconds by which the service's clock steps forward now; each step is returned once."""
        since, step = self._since(at), 0.0
        while self._steps and self._steps[0][0] <= since:
            step += self._steps.pop(0)[1]
            self.struck["clock step"] += 1
        return step

    def _armed(self, fault: Fault) -> _Rule:
        return _Rule(fault, seeded_random(self._seed, "fault", next(self._numbers)), fault.times)

    def _since(self, at: float) -> float:
        if self._began is None:
            self._began = at
        return at - self._began
