"""The served sandbox answers requests of any kind as its own `/openapi.json` describes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.specs.openapi.checks import unsupported_method

from cmsapi.sandbox import Fixed, Limits, Sandbox, serve_forever
from cmsapi.sandbox.interface.openapi import document
from tests.support.described import refer

pytestmark = pytest.mark.slow

schema = schemathesis.openapi.from_dict(document())
schema.config.generation.update(with_security_parameters=False)


@pytest.fixture
def served() -> Iterator[Sandbox]:
    """Serve a sandbox without limits from a thread of its own."""
    box = Sandbox(limits=Limits.unlimited(), durations=Fixed(0.05))
    listening = threading.Event()
    loop = asyncio.new_event_loop()
    serving = loop.create_task(serve_forever(box, port=0, started=lambda _: listening.set()))

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.get_loop().run_until_complete(asyncio.wait([serving]))

    thread = threading.Thread(target=run)
    thread.start()
    assert listening.wait(10)
    yield box
    loop.call_soon_threadsafe(serving.cancel)
    thread.join(10)


@pytest.mark.enable_socket
@schema.parametrize()
@settings(
    max_examples=6,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],
)
def test_every_operation_answers_as_described(case: schemathesis.Case[Any], served: Sandbox) -> None:
    """Every answer to generated input has a described status and shape; bad input is refused, good input is not."""
    if case.meta is not None and case.meta.generation.mode.is_positive:
        refer(served, case.path_parameters)
        refer(served, case.body)
    headers = {"Authorization": f"Bearer {served.api_key}"}
    # Section 7 has no 405: here what is no operation is a 404.
    case.call_and_validate(base_url=served.base_url, headers=headers, excluded_checks=[unsupported_method])
