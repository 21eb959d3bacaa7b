"""Install each extra alone, with the oldest and the newest versions that it admits, and use it: `make extras`.

Each gets an environment of its own, because in that of development all extras are installed.
"""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
# What uses an extra; `cmsapi` without the extra `cli` says what it needs.
USES = {
    "": "import cmsapi.blocking",
    "cli": "from cmsapi.cli.running import run; assert run(['--version']) == 0",
    "redis": "import cmsapi.state.redis",
    "postgres": "import cmsapi.state.postgres",
    "mcp": "import cmsapi.mcp.server; from cmsapi.cli.running import run; assert run(['mcp', '--help']) == 0",
    "notebook": "from IPython.display import display; import cmsapi.resources.credit_plot",
    "speed": "import orjson; from cmsapi.api.wire.jsontext import loads; assert loads(b'[1]') == [1]",
    "otel": "import cmsapi.observability.telemetry",
    "testing": "import cmsapi.testing.mocked, cmsapi.testing.plugin",
}
PROGRAM = """
import asyncio, cmsapi
from cmsapi.sandbox import Sandbox

async def main():
    box = Sandbox()
    url = await box.serve()
    async with cmsapi.Client(box.api_key, base_url=url) as client:
        await client.keywords.get(box.keyword_ids[0])
    await box.aclose()

asyncio.run(main())
"""


def main() -> int:
    """Print what was installed and used; return 1 if something failed."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    if missing := {"", *extras} ^ set(USES):
        sys.exit(f"USES must name the extras of pyproject.toml; it differs in {', '.join(sorted(missing))}.")
    failed = 0
    for resolution in ("lowest-direct", "highest"):
        for extra, use in USES.items():
            with tempfile.TemporaryDirectory() as folder:
                failed += not _works(Path(folder), extra, use, resolution)
    return min(failed, 1)


def _works(folder: Path, extra: str, use: str, resolution: str) -> bool:
    uv = str(Path(sysconfig.get_path("scripts")) / "uv")
    python = folder / "bin" / "python"
    what = f"{ROOT}[{extra}]" if extra else str(ROOT)
    commands = (
        [uv, "venv", "--quiet", "--python", sys.executable, str(folder)],
        [uv, "pip", "install", "--quiet", "--python", str(python), "--resolution", resolution, "--editable", what],
        [str(python), "-c", f"{PROGRAM}\n{use}"],
    )
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        if done.returncode:
            print(f"{extra or 'no extra'}, {resolution}: failed\n{done.stdout}{done.stderr}")
            return False
    listed = [uv, "pip", "list", "--quiet", "--format", "freeze", "--python", str(python)]
    versions = subprocess.run(listed, capture_output=True, text=True, check=True).stdout
    direct = re.findall(r"^(aiohttp|anyio|attrs|cattrs)==(\S+)", versions, re.MULTILINE)
    print(f"{extra or 'no extra'}, {resolution}: works ({', '.join(map(' '.join, direct))})")
    return True


if __name__ == "__main__":
    sys.exit(main())
