"""Clients that generators make from the sandbox's own description of the interface.

The description is cut down to the two operations whose answers are read. One generator is written in Java, which may be
missing.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cmsapi import Request
from cmsapi.sandbox import Sandbox

_PATHS = ("/v1/contents/{contentId}", "/v1/credit-usages")
# Names of the packages that are made.
ASYNCIO, HTTPX = "generated_asyncio", "generated_httpx"


async def _description() -> dict[str, Any]:
    sandbox = Sandbox()
    answer = await sandbox.transport.send(Request("GET", f"{sandbox.base_url}/openapi.json"))
    whole: dict[str, Any] = json.loads(answer.body)
    return {**whole, "paths": {path: {"get": whole["paths"][path]["get"]} for path in _PATHS}}


@contextlib.contextmanager
def generated() -> Iterator[str]:
    """Make packages of the clients, as far as the generators are installed, and find them while this lasts.

    Returns:
        Where they are, for other processes.
    """
    with tempfile.TemporaryDirectory() as folder:
        _generate(Path(folder))
        sys.path.append(folder)
        try:
            yield folder
        finally:
            sys.path.remove(folder)


def _generate(folder: Path) -> None:
    description = folder / "openapi.json"
    description.write_text(json.dumps(asyncio.run(_description())), encoding="utf-8")
    tools = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}

    def run(tool: str, *arguments: str) -> None:
        if (tools / tool).exists():
            subprocess.run(  # noqa: S603  a tool of our own environment
                [tools / tool, "generate", *arguments], check=True, env=environment, stdout=subprocess.DEVNULL
            )

    where = str(folder / HTTPX)
    run("openapi-python-client", "--path", str(description), "--meta", "none", "--output-path", where)
    if shutil.which("java") is not None:
        options = ("-g", "python", "--library", "asyncio", "--package-name", ASYNCIO)
        run("openapi-generator-cli", "-i", str(description), "-o", str(folder), *options)
