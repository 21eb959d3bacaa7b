"""What a job costs does not grow with the number of jobs: counted in lines that are run, not in seconds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, Self

import pytest

import cmsapi
from cmsapi.sandbox import Fixed, Limits, Sandbox

pytestmark = [pytest.mark.looptime, pytest.mark.slow, pytest.mark.timeout(300)]

PACKAGE = str(Path(cmsapi.__file__).parent)


class Lines:
    """Count the lines of the package that are run while it is entered; a loop counts again each time round."""

    def __enter__(self) -> Self:
        self.count = 0
        self._before = sys.gettrace()
        sys.settrace(self._call)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)

    def _call(self, frame: FrameType, event: str, argument: object) -> Any:
        return self._line if frame.f_code.co_filename.startswith(PACKAGE) else None

    def _line(self, frame: FrameType, event: str, argument: object) -> Any:
        self.count += event == "line"
        return self._line


async def lines_of(kind: str, jobs: int) -> int:
    """Run a fan-out of so many jobs at once without limits, and return how many lines it took."""
    box = Sandbox(keywords=jobs, contents=jobs, limits=Limits.unlimited(), durations=Fixed(20.0))
    async with cmsapi.Client(
        box.api_key, base_url=box.base_url, transport=box.transport, limits=cmsapi.RateLimits.unlimited()
    ) as client:
        launch: Callable[[str], Any] = client.keywords.analyze if kind == "analysis" else client.contents.generate
        items = box.keyword_ids if kind == "analysis" else box.content_ids
        with Lines() as lines:
            ended = [outcome.error async for outcome in client.jobs.map(launch, items, in_flight=jobs)]
    assert ended == [None] * jobs
    return lines.count


@pytest.mark.parametrize("kind", ["analysis", "article"])
async def test_what_one_more_job_costs_does_not_grow(kind: str) -> None:
    """One more job takes as many steps among 1,500 as among 600, in the SDK and in the sandbox."""
    # What is loaded and solved once for all jobs.
    await lines_of(kind, 20)
    few, some, many = [await lines_of(kind, jobs) for jobs in (300, 600, 1500)]
    early, late = (some - few) / 300, (many - some) / 900
    # How many plans are solved depends on chance. A cost that grew with the number of jobs would show as 2.3.
    assert late < 1.4 * early
    # With a new forecast for each poll it was three times as much.
    assert late < 8000
