"""The sandbox as a transport in the same process."""

from __future__ import annotations

from cmsapi.message import Request
from cmsapi.sandbox import Sandbox


async def test_the_transport_answers_any_host(box: Sandbox) -> None:
    """The transport ignores the host and the fragment of a URL, and closing it changes nothing."""
    await box.transport.aclose()
    for url in ("http://elsewhere/health", "https://x.invalid:99/health#top"):
        assert (await box.transport.send(Request("GET", url))).status == 200
    assert (await box.transport.send(Request("GET", "https://x.invalid"))).status == 401
