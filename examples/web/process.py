"""Open what each process of the service needs, as the environment says."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import tempfile
from collections.abc import AsyncIterator
from typing import Any

import attrs
from callbacks import Callbacks
from fan_outs import FanOuts

import cmsapi
from cmsapi.sandbox import Lognormal, Sandbox

# What cmsapi keeps, and the table of fan-outs: on a disk of this host, for all processes of the service.
STATE = os.environ.get("STATE", "sqlite:///cmsapi.db")
TABLE = os.environ.get("TABLE", "fan_outs.db")
# Which hosts may be called back, and what proves to them that it was this service.
SECRET = os.environ.get("CALLBACK_SECRET", f"whsec_{base64.b64encode(os.urandom(24)).decode()}")
CALLBACKS = Callbacks(SECRET, os.environ.get("CALLBACK_HOSTS", "").split())

LIMITS = cmsapi.RateLimits()


@contextlib.asynccontextmanager
async def opened(
    table: str = TABLE, callbacks: Callbacks = CALLBACKS, **options: Any
) -> AsyncIterator[tuple[cmsapi.Client, FanOuts]]:
    """Open the client for browsers, and run fan-outs in the background.

    Args:
        table: The file with the fan-outs.
        callbacks: Calls other programs back.
        **options: Options of the client.
    """
    async with cmsapi.Client(**{"state": STATE, "limits": LIMITS, **options}) as patient:
        fan_outs = FanOuts(patient, table, callbacks)
        running = asyncio.create_task(fan_outs.run())
        # A browser waits for seconds, not until the hour has requests again; what runs in the background has time.
        impatient = patient.with_options(
            limits=attrs.evolve(options.get("limits", LIMITS), max_wait=5.0),
            timeouts=cmsapi.Timeouts(request=10.0, deadline=25.0),
        )
        try:
            yield impatient, fan_outs
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


@contextlib.asynccontextmanager
async def sandbox() -> AsyncIterator[dict[str, str]]:
    """Run a service in a box, and give the options that have an application use it; nothing leaves this machine."""
    with tempfile.TemporaryDirectory() as folder:
        async with Sandbox(durations=Lognormal(12.0, 0.5), keywords=30) as box:
            yield {
                "api_key": box.api_key,
                "base_url": box.base_url,
                "state": f"sqlite:///{folder}/cmsapi.db",
                "table": f"{folder}/fan_outs.db",
            }
