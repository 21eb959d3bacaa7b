"""A real Jupyter kernel."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[3] / "docs/notebooks").glob("*.ipynb"))
CELLS = (
    """
import cmsapi
from cmsapi.sandbox import Fixed, Sandbox

box = Sandbox(durations=Fixed(0.1))
often = cmsapi.PollPolicy(min_interval=0.5, max_interval=0.5)
client = cmsapi.Client(box.api_key, base_url=box.base_url, transport=box.transport, polling=often)
""",
    "(await client.me()).organization",
    "job = await client.keywords.analyze(box.keyword_ids[0])\nclient.jobs.show()",
    "(await job).analysis_status.value",
    "await client.keywords.get('kwd_missing')",
    "client.rate_limit",
    "(await client.credit_usages.report()).plot()",
    "await client.aclose()",
)


NEW: dict[str, Any] = {"execution_count": None, "outputs": []}


def shown(cell: Any) -> dict[str, Any]:
    """Return the outputs of a cell, by type."""
    return {kind: text for output in cell.outputs for kind, text in output.get("data", {}).items()}


@pytest.mark.slow
@pytest.mark.enable_socket
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
async def test_cells_await_without_a_context(tmp_path: Path) -> None:
    """One client serves many cells without `async with`, jobs outlive their cell, and objects show as HTML."""
    cells = [{"cell_type": "code", "metadata": {}, "source": cell} for cell in CELLS]
    cells[4]["metadata"] = {"tags": ["raises-exception"]}
    text = json.dumps(
        {"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": [{**NEW, **cell} for cell in cells]}
    )
    notebook: Any = nbformat.reads(text, 4)  # type: ignore[no-untyped-call]  # it has no types
    runner = NotebookClient(
        notebook, timeout=40, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    await runner.async_execute()
    _, organization, table, status, error, limit, figure, closed = notebook.cells
    assert "<table>" in shown(organization)["text/html"]
    assert "kwd_" in shown(table)["text/html"]
    assert shown(status)["text/plain"] == "'success'"
    assert error.outputs[0].ename == "NotFoundError"
    assert "<table>" in shown(limit)["text/html"]
    assert "image/png" in shown(figure)
    assert closed.outputs == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_kept_without_outputs(path: Path) -> None:
    """`make docs` runs the notebooks; without outputs they cannot become stale or hold a key."""
    cells = json.loads(path.read_text())["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert code
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
