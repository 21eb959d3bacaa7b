"""What the log contains, and what it does not."""

from __future__ import annotations

import logging

import pytest

from cmsapi import RateLimits
from cmsapi.messages import Response
from tests.support.children import run
from tests.unit.transport.scripted import Scripted, refusal

OK = Response(200, {}, b'{"id": "k"}')


@pytest.mark.looptime
async def test_the_log_has_no_key(caplog: pytest.LogCaptureFixture) -> None:
    """Attempts and retries are logged without the key."""
    with caplog.at_level(logging.DEBUG):
        async with Scripted(refusal(503, "service_unavailable"), OK).client() as client:
            await client.keywords.get("k")
    assert "503" in caplog.text
    assert "sk_scripted" not in caplog.text


@pytest.mark.looptime
async def test_long_waits_are_warnings(caplog: pytest.LogCaptureFixture) -> None:
    """A program that configures no logging is told when its requests wait for the hourly limit."""
    service = Scripted(OK)
    async with service.client(limits=RateLimits(per_hour=1)) as client:
        await client.keywords.get("k")
        await client.keywords.get("k")
    assert any(record.levelno == logging.WARNING and "wait" in record.message for record in caplog.records)


@pytest.mark.parametrize(("level", "lines"), [("info", 0), ("debug", 1), ("nonsense", 0)])
def test_the_environment_switches_the_log_on(level: str, lines: int) -> None:
    """``CMSAPI_LOG`` names the level at and above which events are written to stderr."""
    program = f"""
import asyncio, contextlib, io, os
os.environ["CMSAPI_LOG"] = {level!r}
from cmsapi.sandbox import Sandbox
out = io.StringIO()
async def main():
    sandbox = Sandbox()
    async with cmsapi.Client(sandbox.api_key, base_url=sandbox.base_url, transport=sandbox.transport) as client:
        await client.me()
with contextlib.redirect_stderr(out):
    asyncio.run(main())
print(out.getvalue().count("/v1/me"))
"""
    assert int(run(program)) == lines


def test_a_log_that_the_program_has_set_up_is_used() -> None:
    """A program with a log of its own gets each line once."""
    program = """
import asyncio, logging, os
os.environ["CMSAPI_LOG"] = "debug"
from cmsapi.sandbox import Sandbox
lines = []
handler = logging.Handler()
handler.emit = lambda record: lines.append(record.getMessage())
logging.basicConfig(handlers=[handler])
async def main():
    sandbox = Sandbox()
    async with cmsapi.Client(sandbox.api_key, base_url=sandbox.base_url, transport=sandbox.transport) as client:
        await client.me()
asyncio.run(main())
print(sum("/v1/me" in line for line in lines), len(logging.getLogger("cmsapi").handlers))
"""
    assert run(program).split() == ["1", "0"]
