"""Serve an example on a port, in a hurry, as a process of its own: `python -m tests.long.web fastapi PORT FOLDER`.

The environment names the sandbox, and as STATE the state if it is not a file in the folder.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys

import uvicorn
from aiohttp import web

from tests.long.web.serving import HURRY, aiohttp_service, fastapi_service


def main(framework: str, port: int, folder: str) -> None:
    """Serve until SIGTERM."""
    state = os.environ.get("STATE", f"sqlite:///{folder}/cmsapi.db")
    files = {"state": state, "table": f"{folder}/fan_outs.db"}
    if framework == "fastapi":
        application = fastapi_service.create_app(**files, **HURRY)
        uvicorn.run(application, port=port, log_level="error", timeout_graceful_shutdown=1)
    else:
        web.run_app(aiohttp_service.create_app(**files, **HURRY), port=port, print=None, **aiohttp_service.ENDING)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt, asyncio.CancelledError):
        main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
