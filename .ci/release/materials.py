"""The bill of materials: what an installation of the wheel brings with it."""

from __future__ import annotations

import json
import sys
import zipfile
from email import message_from_bytes
from pathlib import Path

from release.repository import Repository
from release.running import run
from release.trying import install


def write_materials(repository: Repository, wheel: Path, sha256: str, scratch: Path) -> tuple[Path, int]:
    """Install the wheel with all its extras and list what came with it.

    Args:
        repository: Where the project is.
        wheel: The wheel.
        sha256: Its digest, which the bill names.
        scratch: A folder for the environment and the bill.

    Returns:
        The bill, and the number of its components.
    """
    name, version, extras = _told(wheel)
    environment = scratch / "materials"
    install(repository.root, environment, f"{wheel}[{','.join(extras)}]" if extras else str(wheel), sys.executable)
    path = scratch / f"{name}-{version}.cdx.json"
    command = [sys.executable, "-m", "cyclonedx_py", "environment", str(environment / "bin" / "python")]
    options = ["--pyproject", "pyproject.toml", "--mc-type", "library", "--output-reproducible", "-o", str(path)]
    run([*command, *options], repository.root, {"SOURCE_DATE_EPOCH": repository.time})
    bill = json.loads(path.read_text(encoding="utf-8"))
    # The tool does not read versions that a build backend finds out.
    component = {"version": version, "purl": f"pkg:pypi/{name}@{version}"}
    bill["metadata"]["component"] |= component | {"hashes": [{"alg": "SHA-256", "content": sha256}]}
    path.write_text(json.dumps(bill, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    return path, len(bill["components"])


def _told(wheel: Path) -> tuple[str, str, list[str]]:
    """Return name, version and extras of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        told = message_from_bytes(archive.read(name))
    return told["Name"], told["Version"], told.get_all("Provides-Extra", [])
