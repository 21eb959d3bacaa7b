"""The pages as Sphinx builds them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from sphinx.util.inventory import InventoryFile

import cmsapi

DOCS = Path(__file__).resolve().parents[3] / "docs"


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_the_pages_build_without_a_warning_and_have_every_public_name(tmp_path: Path) -> None:
    """A dead link would be a warning, and the reference leaves out no name that users may import."""
    subprocess.run([sys.executable, "-m", "sphinx", "-W", "-q", DOCS, tmp_path], check=True)
    inventory = InventoryFile.loads((tmp_path / "objects.inv").read_bytes(), uri="")
    described = {
        name.rpartition(".")[2] for kind, names in inventory.data.items() if kind.startswith("py:") for name in names
    }
    assert set(cmsapi.__all__) - {"__version__"} <= described
