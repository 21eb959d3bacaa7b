"""How one item of a fan-out ended."""

from __future__ import annotations

from typing import Generic, TypeVar, cast

import attrs

from cmsapi.jobs.job import Job

I = TypeVar("I")  # noqa: E741  an item
R = TypeVar("R")


@attrs.frozen
class Outcome(Generic[I, R]):
    """Hold how one item of a fan-out ended.

    Args:
        item: The item.
        job: Its job, or None when it was not launched.
        value: The job's result, or None.
        error: Why there is no result, or None.
        earlier: Whether the item ended in an earlier run of a batch.
    """

    item: I
    job: Job[R] | None
    value: R | None
    error: Exception | None
    earlier: bool = False

    def result(self) -> R:
        """Return the job's result, or raise `error`."""
        if self.error is not None:
            raise self.error
        return cast("R", self.value)
