"""Keep what was learned about durations in a shared state, so that no other process has to learn it anew.

Only ends are kept: between which two ages each job ended, counted. From them a process believes what it would if it had
seen them itself. A write adds to what other processes have written meanwhile.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Coroutine, Mapping
from typing import Any

from cmsapi.errors import StateError
from cmsapi.jobs.kinds.kind import Kind
from cmsapi.jobs.kinds.registry import KINDS
from cmsapi.jobs.planning.durations import AGES, MEMORY, NEVER, DurationModel, Seen, step_after, step_before
from cmsapi.jobs.timing import Timing
from cmsapi.state.store import State

logger: logging.Logger = logging.getLogger("cmsapi")

# Ends that are worth a write; what a process that dies has seen since is lost.
_WORTH_WRITING = 20
_TRIES = 8


class DurationModels(dict[Kind, DurationModel]):
    """Hold what is learned of the durations of jobs, kind by kind; an entry is made when it is asked for."""

    def __missing__(self, kind: Kind) -> DurationModel:
        self[kind] = model = DurationModel(kind.initial_duration)
        return model

    def saw_running(self, kind: Kind, timing: Timing, now: float) -> None:
        """Learn from a job that was seen running."""
        if (step := step_before(now - timing.started_at)) > timing.seen_running:
            self[kind].saw_running(timing.seen_running, step)
            timing.seen_running = step

    def saw_end(self, kind: Kind, timing: Timing, now: float) -> float:
        """Learn from a job whose end was seen, and return the seconds by which that was late, on average."""
        model, seen, age = self[kind], timing.seen_running, now - timing.started_at
        curve, after = model.last_curve(), max(step_after(age), seen + 1)
        ended = max(1e-9, curve.ended[min(after, len(curve.ended) - 1)] - curve.ended[seen])
        late = curve.lateness(AGES[seen], age) * curve.running(seen) / ended
        model.saw_end(seen, after)
        return min(late, age)

    def expected_end(self, kind: Kind, timing: Timing | None) -> float | None:
        """Return when such a job is finished as a rule, None when too little is known."""
        model = self[kind]
        if timing is None or not timing.age_known or model.ends < 1:
            return None
        return timing.started_at + model.curve().quantile(0.5, timing.seen_running)


class DurationStore:
    """Keep the durations of one service.

    Args:
        state: Where they are kept.
        scope: Names the service.
        durations: What is learned, by kind.
    """

    def __init__(self, state: State, scope: str, durations: DurationModels) -> None:
        self.state: State = state
        self._scope = scope
        self._durations = durations
        self._task: asyncio.Task[None] | None = None
        self._asked = self._known = False
        self._reading = asyncio.Lock()

    def note(self) -> None:
        """Write in the background, once there is enough that is worth it."""
        unwritten = sum(durations.unwritten.total() for durations in self._durations.values())
        if unwritten >= _WORTH_WRITING and self._task is None:
            self._begin(self.write())

    def recall(self) -> None:
        """Read in the background what is known, once."""
        if not self._asked and self._task is None:
            self._asked = True
            self._begin(self.known())

    async def known(self) -> None:
        """Wait until what is known was read.

        Raises:
            StateError: The state cannot be reached.
        """
        async with self._reading:
            if not self._known:
                kinds = tuple(KINDS.values())
                found = {kind: _read(await self.state.get_document(self._scope, _name(kind))) for kind in kinds}
                self._known = True
                for kind, seen in found.items():
                    self._durations[kind].learn(seen)

    async def aclose(self) -> None:
        """Wait for what is under way, and write what is left."""
        if self._task is not None:
            await asyncio.wait([self._task])
        await asyncio.wait([self._begin(self.write())])

    async def write(self) -> None:
        """Add what was seen since the last time.

        Raises:
            StateError: The state cannot be reached; what was not written is kept for the next time.
        """
        for kind, durations in tuple(self._durations.items()):
            if seen := durations.unwritten.copy():
                await self._add(_name(kind), seen)
                durations.unwritten.subtract(seen)
                durations.unwritten = +durations.unwritten

    async def _add(self, name: str, seen: Seen) -> None:
        state = self.state
        stands = await state.get_document(self._scope, name)
        for _ in range(_TRIES):
            new = _spell(_read(stands) + seen)
            found = await state.compare_and_set(self._scope, name, stands, new)
            if found == new:
                return
            stands = found

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        self._task = asyncio.get_running_loop().create_task(work)
        self._task.add_done_callback(self._ended)
        return self._task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._task = None
        error = None if task.cancelled() else task.exception()
        if isinstance(error, StateError):
            logger.debug("durations could not be read or written: %s", error)
        elif error is not None:
            logger.error("durations could not be kept", exc_info=error)


def _name(kind: Kind) -> str:
    return f"durations {kind}"


def _spell(seen: Seen) -> dict[str, float]:
    """Write counts as a document, those of `MEMORY` ends at the most."""
    while seen.total() > MEMORY:
        seen = Counter({between: count / 2 for between, count in seen.items()})
    return {f"{before} {after}": round(count, 3) for (before, after), count in sorted(seen.items())}


def _read(document: Any) -> Seen:
    """Read counts, and ignore anything else."""
    seen: Seen = Counter()
    if isinstance(document, Mapping):
        for between, count in document.items():
            words = between.split()
            if (
                len(words) == 2
                and all(word.isdecimal() and len(word) < 10 for word in words)
                and isinstance(count, int | float)
            ):
                before, after = map(int, words)
                if before < after <= NEVER and 0 < count <= MEMORY:
                    seen[before, after] += count  # type: ignore[assignment]  # halves count too
    return seen
