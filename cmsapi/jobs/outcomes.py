"""Outcomes of the items of a fan-out: `Succeeded` with a result, or `Failed` with an error."""

from __future__ import annotations

from typing import Generic, Literal, NoReturn, TypeAlias, TypeVar

from attrs import field, frozen

from cmsapi.jobs.job import Job

I = TypeVar("I")  # noqa: E741  an item
R = TypeVar("R")


@frozen
class Succeeded(Generic[I, R]):
    """Outcome of an item that has a result, in ``value``."""

    item: I
    job: Job[R] | None
    value: R
    earlier: bool = False  # whether it comes from an earlier run of the batch
    ok: Literal[True] = field(default=True, init=False, repr=False, eq=False)
    error: None = field(default=None, init=False, repr=False, eq=False)

    def result(self) -> R:
        """Return ``value``, the result of the job."""
        return self.value


@frozen
class Failed(Generic[I, R]):
    """Outcome of an item that has no result; ``error`` says why."""

    item: I
    job: Job[R] | None  # None if no job was launched, or no job is known
    error: Exception
    earlier: bool = False  # whether it comes from an earlier run of the batch
    ok: Literal[False] = field(default=False, init=False, repr=False, eq=False)
    value: None = field(default=None, init=False, repr=False, eq=False)

    def result(self) -> NoReturn:
        """Raise ``error``, as there is no result to return."""
        raise self.error


Outcome: TypeAlias = Succeeded[I, R] | Failed[I, R]
