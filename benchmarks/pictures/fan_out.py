"""A fan-out of the command line, recorded in real time: `cmsapi analyze` on a sandbox with short jobs."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from benchmarks.pictures.terminal import Recorder
from cmsapi.sandbox import Lognormal, Sandbox

# Narrow enough for a phone, and wide enough for the columns of a live table.
_COLUMNS, _ROWS = 68, 20
_JOBS = 40
SPEED = 4.0
SAID = (
    f"A terminal in which cmsapi analyze analyses {_JOBS} keywords of a file: the plan and its cost, a bar with the "
    "finished and running jobs, and the running keywords."
)


async def recorded() -> Recorder:
    """Analyse some keywords, and return what the terminal showed."""
    recorder = Recorder(_COLUMNS, _ROWS)
    with tempfile.TemporaryDirectory() as folder:
        async with Sandbox(keywords=_JOBS, durations=Lognormal(25.0, 0.45)) as box:
            environment = _environment(box, folder)
            await recorder.run("cmsapi analyze @ids.csv --batch nightly --csv > results.csv", environment)
            await recorder.run("cut -d, -f2-4 results.csv | head -5", environment)
    return recorder


def _environment(box: Sandbox, folder: str) -> Mapping[str, str]:
    """Write the file, and return the variables of a person who works in its folder."""
    Path(folder, "ids.csv").write_text("\n".join(["id", *box.keyword_ids]), encoding="utf-8")
    return {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": folder,
        "PWD": folder,
        "LANG": "C.UTF-8",
        "CMSAPI_API_KEY": box.api_key,
        "CMSAPI_BASE_URL": box.base_url,
    }
