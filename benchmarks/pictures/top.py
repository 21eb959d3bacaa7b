"""The page of `cmsapi top` beside two processes that run batches, recorded in real time on a sandbox."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from asyncio.subprocess import Process
from contextlib import AsyncExitStack
from pathlib import Path

from benchmarks.pictures.terminal import Recorder
from cmsapi.sandbox import Lognormal, Sandbox

_COLUMNS, _ROWS = 80, 24
_SECONDS = 30
SPEED = 3.0
SAID = (
    "A terminal in which cmsapi top shows two processes that run batches: the use of the hour and of the second, bars "
    "with counts and forecasts, and the running jobs."
)
# A process that runs one batch: its name, how many jobs may run at a time, and its keywords.
_WORKER = """
import asyncio, sys, cmsapi

async def main(name, in_flight, *ids):
    async with cmsapi.Client(state="sqlite:///jobs.db") as client, client.jobs.batch(name) as batch:
        async for _ in batch.map(client.keywords.analyze, ids, in_flight=int(in_flight)):
            pass

asyncio.run(main(*sys.argv[1:]))
"""
# Ctrl-C after some seconds.
_PRESSING = f"""#!/bin/sh
exec timeout --foreground --preserve-status --signal=INT {_SECONDS} {sys.executable} -m cmsapi "$@"
"""


async def watched() -> Recorder:
    """Run two batches in two processes, and return what the terminal showed of them."""
    recorder = Recorder(_COLUMNS, _ROWS)
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        _write_program(Path(folder, "cmsapi"))
        box = await stack.enter_async_context(Sandbox(keywords=50, durations=Lognormal(20.0, 0.45)))
        box.set_outcome(box.keyword_ids[3], "failed")
        environment = {
            **{name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ},
            "PATH": os.environ["PATH"],
            "HOME": folder,
            "PWD": folder,
            "LANG": "C.UTF-8",
            "CMSAPI_API_KEY": box.api_key,
            "CMSAPI_BASE_URL": box.base_url,
            "CMSAPI_STATE": "sqlite:///jobs.db",
        }
        workers: list[Process] = []
        for name, in_flight, ids in (("nightly", "16", box.keyword_ids[:38]), ("new-pages", "4", box.keyword_ids[38:])):
            line = (sys.executable, "-c", _WORKER, name, in_flight, *ids)
            workers.append(await asyncio.create_subprocess_exec(*line, env=environment, cwd=folder))
            stack.push_async_callback(_ended, workers[-1])
        await asyncio.sleep(10)
        path = f"{folder}{os.pathsep}{os.environ['PATH']}"
        await recorder.run("cmsapi top --every 1", {**environment, "PATH": path})
    return recorder


def _write_program(path: Path) -> None:
    """Write a program that runs the command, and presses Ctrl-C in the end."""
    path.write_text(_PRESSING, encoding="utf-8")
    path.chmod(0o755)


async def _ended(process: Process) -> None:
    if process.returncode is None:
        process.kill()
    await process.wait()
