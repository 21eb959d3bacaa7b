"""Writes in the background: in order for each entry, none is lost, and each failure is logged."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

import pytest

from cmsapi.errors import LeaseLostError, StateError
from cmsapi.jobs.journal.write_queue import WriteQueue

pytestmark = pytest.mark.looptime

Write = Callable[[], Awaitable[None]]


def slowly(written: list[str], what: str, seconds: float) -> Write:
    """Make a write that takes its time."""

    async def write() -> None:
        await asyncio.sleep(seconds)
        written.append(what)

    return write


def failing(error: Exception) -> Write:
    """Make a write that fails after a second."""

    async def write() -> None:
        await asyncio.sleep(1)
        raise error

    return write


async def test_writes_of_an_entry_keep_their_order() -> None:
    """A short write waits for the long one before it, and another entry waits for neither."""
    writes, written = WriteQueue(), list[str]()
    writes.add("one", slowly(written, "first", 5))
    writes.add("one", slowly(written, "second", 1))
    writes.add("one", slowly(written, "third", 0))
    writes.add("other", slowly(written, "elsewhere", 3))
    await writes.flush()
    assert written == ["elsewhere", "first", "second", "third"]
    assert asyncio.get_running_loop().time() == 6


async def test_a_flush_of_an_entry_waits_for_all_of_its_writes() -> None:
    """Also for those that are added while it waits, and not for those of others."""
    writes, written = WriteQueue(), list[str]()
    writes.add("one", slowly(written, "first", 2))
    writes.add("other", slowly(written, "elsewhere", 60))
    waiting = asyncio.create_task(writes.flush("one"))
    await asyncio.sleep(1)
    writes.add("one", slowly(written, "second", 2))
    await waiting
    assert written == ["first", "second"]
    await writes.flush("one")
    await writes.flush("unheard of")
    assert asyncio.get_running_loop().time() == 4
    await writes.flush()
    await writes.flush()
    assert asyncio.get_running_loop().time() == 60


@pytest.mark.parametrize(
    ("error", "level", "said"),
    [
        (LeaseLostError("Another process has it."), logging.INFO, "Another process has it."),
        (
            StateError("The disk is full."),
            logging.WARNING,
            "Journal unavailable; writes are tried again until it is back: The disk is full.",
        ),
    ],
    ids=["taken over", "not written"],
)
async def test_a_failure_is_told_and_holds_nothing_up(
    error: Exception, level: int, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A write that fails is in the log, and the next one of the same entry follows."""
    caplog.set_level(logging.DEBUG, "cmsapi")
    writes, written = WriteQueue(), list[str]()
    writes.add("one", failing(error))
    writes.add("one", slowly(written, "after", 1))
    await writes.flush("one")
    await writes.close()
    assert written == ["after"]
    heard = [record for record in caplog.records if record.levelno > logging.DEBUG]
    assert [(record.name, record.levelno, record.getMessage()) for record in heard] == [("cmsapi", level, said)]


async def test_a_cancelled_write_does_not_stop_a_flush() -> None:
    """A flush of an entry or of all entries ends, however a write ends."""
    writes, written = WriteQueue(), list[str]()

    async def gives_up() -> None:
        raise asyncio.CancelledError

    writes.add("one", gives_up)
    writes.add("one", slowly(written, "after", 1))
    writes.add("other", gives_up)
    await writes.flush("other")
    writes.add("other", gives_up)
    await writes.flush()
    assert written == ["after"]


@pytest.mark.parametrize(("asked", "at"), [("", 11.0), ("flush", 3.0), ("flush all", 3.0), ("close", 3.0)])
async def test_a_write_that_failed_is_done_again(asked: str, at: float, caplog: pytest.LogCaptureFixture) -> None:
    """Ten seconds later, or before anything else is asked of its entry; the outage and its end are said once each."""
    caplog.set_level(logging.DEBUG, "cmsapi")
    writes, tried = WriteQueue(), list[float]()
    loop = asyncio.get_running_loop()

    async def write() -> None:
        tried.append(loop.time())
        if loop.time() < at:
            raise StateError("The disk is full.")

    writes.add("one", write)
    await asyncio.sleep(1)
    writes.add("one", write)
    await asyncio.sleep(2)
    if asked:
        await {"flush": lambda: writes.flush("one"), "flush all": writes.flush, "close": writes.close}[asked]()
    await asyncio.sleep(60)
    again = [10.0, 10.0, 20.0, 20.0] if not asked else [3.0, 3.0]
    assert tried == [0.0, 1.0, *again]
    levels = [record.levelname for record in caplog.records]
    failed = sum(time < at for time in tried)
    assert levels == ["WARNING", *(["DEBUG"] * (failed - 1)), "WARNING"]
    assert caplog.records[-1].getMessage() == "The journal can be written again."


async def test_a_flush_of_an_entry_waits_for_what_is_repeated() -> None:
    """A write that had failed is made up for first, however long it takes."""
    writes, written = WriteQueue(), list[str]()
    fails = [StateError("The disk is full.")]

    async def write() -> None:
        if fails:
            raise fails.pop()
        await slowly(written, "made up for", 5)()

    writes.add("one", write)
    await asyncio.sleep(1)
    await writes.flush("one")
    assert written == ["made up for"]


async def test_nothing_is_done_again_once_they_are_closed() -> None:
    """What fails after the last is left, and no timer rings for it."""
    writes, tried = WriteQueue(), list[float]()

    async def write() -> None:
        tried.append(asyncio.get_running_loop().time())
        raise StateError("The disk is full.")

    await writes.close()
    writes.add("one", write)
    await asyncio.sleep(60)
    assert tried == [0.0]
