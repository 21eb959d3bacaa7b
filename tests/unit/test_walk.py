"""The thinnest path through everything."""

from __future__ import annotations

import pytest

import cmsapi
from cmsapi.sandbox import Sandbox

pytestmark = pytest.mark.looptime


async def test_a_keyword_is_analysed(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """Awaiting a launched analysis gives the analysed keyword."""
    job = await client.keywords.analyze(sandbox.keyword_ids[0])
    keyword = await job
    assert keyword.analysis_status == "success"
