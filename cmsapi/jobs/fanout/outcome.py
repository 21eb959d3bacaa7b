"""How one item of a fan-out ended: with a result, or without one."""

from __future__ import annotations

from typing import Generic, Literal, NoReturn, TypeAlias, TypeVar

import attrs

from cmsapi.display import markup
from cmsapi.jobs.job import Job

I = TypeVar("I")  # noqa: E741  an item
R = TypeVar("R")


@attrs.frozen
class Succeeded(Generic[I, R]):
    """Hold the result of one item of a fan-out.

    Args:
        item: The item.
        job: Its job.
        value: The job's result.
        earlier: Whether the item ended in an earlier run of a batch.
    """

    item: I
    job: Job[R]
    value: R
    earlier: bool = False
    ok: Literal[True] = attrs.field(default=True, init=False, repr=False, eq=False)
    """True, which tells it from `Failed`; type checkers prefer `outcome.error is None`."""
    error: None = attrs.field(default=None, init=False, repr=False, eq=False)
    """None, because there is a result: `if outcome.error is None:` tells every type checker that `value` is there."""

    def result(self) -> R:
        """Return the job's result."""
        return self.value

    def _repr_html_(self) -> str:
        return markup.record(self)


@attrs.frozen
class Failed(Generic[I, R]):
    """Say why one item of a fan-out has no result.

    Args:
        item: The item.
        job: Its job, or None when it was not launched.
        error: Why there is no result.
        earlier: Whether the item ended in an earlier run of a batch.
    """

    item: I
    job: Job[R] | None
    error: Exception
    earlier: bool = False
    ok: Literal[False] = attrs.field(default=False, init=False, repr=False, eq=False)
    """False, which tells it from `Succeeded`; type checkers prefer `outcome.error is None`."""
    value: None = attrs.field(default=None, init=False, repr=False, eq=False)
    """None, because there is no result."""

    def result(self) -> NoReturn:
        """Raise `error`."""
        raise self.error

    def _repr_html_(self) -> str:
        return markup.record(self)


#: How one item of a fan-out ended; `error` is None on the first only.
Outcome: TypeAlias = Succeeded[I, R] | Failed[I, R]
