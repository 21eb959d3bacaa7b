"""Waiting for a task without owning it."""

from __future__ import annotations

import asyncio

import pytest

from cmsapi.errors import JobError
from cmsapi.jobs.polling.tasks import result_of

pytestmark = pytest.mark.looptime


async def later(result: str | Exception) -> str:
    """Return or raise something after a second."""
    await asyncio.sleep(1)
    if isinstance(result, Exception):
        raise result
    return result


async def test_every_waiter_gets_the_result() -> None:
    """A result is given to all that wait, also to one that comes after the end."""
    task = asyncio.create_task(later("done"))
    first, second = await asyncio.gather(result_of(task), result_of(task))
    assert (first, second) == ("done", "done")
    assert await result_of(task) == "done"


async def test_an_error_is_raised_to_every_waiter() -> None:
    """So is an error."""
    task = asyncio.create_task(later(JobError("gone")))
    ended = await asyncio.gather(result_of(task), result_of(task), return_exceptions=True)
    assert [str(end) for end in ended] == ["gone", "gone"]


@pytest.mark.parametrize("result", ["done", JobError("gone")], ids=["result", "error"])
async def test_a_cancelled_waiter_leaves_the_task_running(result: str | Exception) -> None:
    """The task goes on without the one who waited, and what it raises is no noise: its owner has retrieved it."""
    task = asyncio.create_task(later(result))
    task.add_done_callback(lambda done: done.exception())
    waiter = asyncio.create_task(result_of(task))
    await asyncio.sleep(0.5)
    waiter.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiter
    assert not task.done()
    await asyncio.wait([task])
    assert task.exception() is (result if isinstance(result, Exception) else None)


async def test_a_cancelled_task_cancels_its_waiters() -> None:
    """When the owner cancels the task, there is nothing to wait for."""
    task = asyncio.create_task(later("done"))
    waiter = asyncio.create_task(result_of(task))
    await asyncio.sleep(0.5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiter
    assert waiter.cancelled()
