"""The bill of materials: what an installation of the wheel brings with it."""

from __future__ import annotations

import json
import sys
import uuid
from pathlib import Path
from typing import Any

from release.description import metadata
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
    told = metadata(wheel)
    name, version, extras = told["Name"], told["Version"], told.get_all("Provides-Extra", [])
    environment = scratch / "materials"
    install(repository.root, environment, f"{wheel}[{','.join(extras)}]" if extras else str(wheel), sys.executable)
    path = scratch / f"{name}-{version}.cdx.json"
    command = [sys.executable, "-m", "cyclonedx_py", "environment", str(environment / "bin" / "python")]
    options = ["--pyproject", "pyproject.toml", "--mc-type", "library", "--output-reproducible", "-o", str(path)]
    run([*command, *options], repository.root, {"SOURCE_DATE_EPOCH": repository.time})
    bill = json.loads(path.read_text(encoding="utf-8"))
    complete(bill, name, version, sha256)
    path.write_text(json.dumps(bill, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    return path, len(bill["components"])


def complete(bill: dict[str, Any], name: str, version: str, sha256: str) -> None:
    """Add what the tool does not find out, and leave out what the package does not need, such as installers.

    Args:
        bill: The bill, which is changed.
        name: The package.
        version: Its version, which a build backend finds out.
        sha256: The digest of the wheel.
    """
    package = bill["metadata"]["component"]
    package |= {"version": version, "purl": f"pkg:pypi/{name}@{version}"}
    package["hashes"] = [{"alg": "SHA-256", "content": sha256}]
    # What attests the bill asks for a serial; it is the same for each build of the same wheel.
    bill["serialNumber"] = uuid.uuid5(uuid.NAMESPACE_URL, f"{package['purl']}?checksum=sha256:{sha256}").urn
    needs = {each["ref"]: each.get("dependsOn", []) for each in bill["dependencies"]}
    needed, begun = set[str](), [package["bom-ref"]]
    while begun:
        reference = begun.pop()
        if reference not in needed:
            needed.add(reference)
            begun.extend(needs[reference])
    bill["components"] = [each for each in bill["components"] if each["bom-ref"] in needed]
    bill["dependencies"] = [each for each in bill["dependencies"] if each["ref"] in needed]
