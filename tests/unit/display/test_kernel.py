"""A real Jupyter kernel."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyter_client.manager import AsyncKernelManager
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
    "job",
    "import asyncio\nstatus = (await job).analysis_status.value\nawait asyncio.sleep(2)\nstatus",
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
    cells[5]["metadata"] = {"tags": ["raises-exception"]}
    text = json.dumps(
        {"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": [{**NEW, **cell} for cell in cells]}
    )
    notebook: Any = nbformat.reads(text, 4)  # type: ignore[no-untyped-call]  # it has no types
    runner = NotebookClient(
        notebook, timeout=40, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    await runner.async_execute()
    _, organization, table, job, status, error, limit, figure, closed = notebook.cells
    assert "<table>" in shown(organization)["text/html"]
    # The cell after the table has waited for the job: that is what a saved notebook shows.
    assert len(table.outputs) == 1
    assert "1 job: 1 finished" in shown(table)["text/html"]
    assert "1 finished" in shown(table)["text/plain"]
    assert "succeeded" in shown(job)["text/html"]
    assert shown(status)["text/plain"] == "'success'"
    assert error.outputs[0].ename == "NotFoundError"
    assert "cmsapi/transport" not in "".join(error.outputs[0].traceback)
    assert "<table>" in shown(limit)["text/html"]
    assert "image/png" in shown(figure)
    assert closed.outputs == []


async def run_by_program(cells: tuple[str, ...], path: Path) -> list[Any]:
    """Return the cells of a notebook after a program without a page has executed them."""
    new = [{**NEW, "cell_type": "code", "metadata": {}, "source": cell} for cell in cells]
    text = json.dumps({"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": new})
    notebook: Any = nbformat.reads(text, 4)  # type: ignore[no-untyped-call]  # it has no types
    runner = NotebookClient(notebook, timeout=60, kernel_name="python3", resources={"metadata": {"path": str(path)}})
    await runner.async_execute()
    return list(notebook.cells)


def written(cell: Any, stream: str) -> str:
    """Return what a cell has written to a stream."""
    return "".join(output.text for output in cell.outputs if output.get("name") == stream)


@pytest.mark.slow
@pytest.mark.enable_socket
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
async def test_a_program_that_runs_notebooks_sees_lines_while_a_cell_runs(tmp_path: Path) -> None:
    """With CMSAPI_LOG a fan-out writes lines of its progress, which `papermill --log-output` shows."""
    source = f"import os\nos.environ['CMSAPI_LOG'] = 'info'\n{CELLS[0].replace('Fixed(0.1)', 'Fixed(11)')}"
    run = "outcomes = client.jobs.map(client.keywords.analyze, box.keyword_ids[:3])\nlen([o async for o in outcomes])"
    _, ran, _ = await run_by_program((source, run, CELLS[-1]), tmp_path)
    said = written(ran, "stderr")
    assert re.search(r"jobs\.progress finished=0 .*total=3", said)
    assert re.search(r"jobs\.progress finished=3 .*total=3", said)
    assert said.count("request.finished") > 3


@pytest.mark.slow
@pytest.mark.enable_socket
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
async def test_a_program_that_shows_no_live_output_sees_the_progress(tmp_path: Path) -> None:
    """Without CMSAPI_LOG the cell that waits prints lines now and then, also of a fan-out that another cell shows."""
    show = "outcomes = client.jobs.map(client.keywords.analyze, box.keyword_ids[:3])\noutcomes"
    wait = "len([outcome async for outcome in outcomes])"
    cells = (CELLS[0].replace("Fixed(0.1)", "Fixed(13)"), show, wait, CELLS[-1])
    _, showing, waiting, _ = await run_by_program(cells, tmp_path)
    assert written(showing, "stdout") == ""
    assert re.match(r"0 of 3 finished, 3 running, .* 3 credits, \d+ requests\n$", written(waiting, "stdout"))


class Kernel:
    """A kernel whose cells can be stopped."""

    def __init__(self, manager: Any, client: Any) -> None:
        self._manager, self._client = manager, client

    async def run(self, cell: str, *, stop_after: float | None = None) -> list[str]:
        """Run a cell, press the square button after `stop_after` seconds, and return what is printed and raised."""
        sent = self._client.execute(cell)
        if stop_after is not None:
            await asyncio.sleep(stop_after)
            await self._manager.interrupt_kernel()
        told: list[str] = []
        while True:
            message = await self._client.get_iopub_msg(timeout=60)
            if message["parent_header"].get("msg_id") != sent:
                continue
            content = message["content"]
            if content.get("execution_state") == "idle":
                return told
            told += content["text"].splitlines() if message["msg_type"] == "stream" else []
            told += [content["ename"]] if message["msg_type"] == "error" else []


@pytest.fixture
async def kernel() -> AsyncIterator[Kernel]:
    """A kernel with a client of a sandbox, whose jobs take two seconds."""
    manager: Any = AsyncKernelManager(kernel_name="python3")
    await manager.start_kernel()
    client = manager.client()
    client.start_channels()
    try:
        await client.wait_for_ready(timeout=60)
        kernel = Kernel(manager, client)
        assert await kernel.run(CELLS[0].replace("Fixed(0.1)", "Fixed(2)")) == []
        yield kernel
    finally:
        client.stop_channels()
        await manager.shutdown_kernel(now=True)


@pytest.mark.slow
@pytest.mark.enable_socket
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
async def test_stopped_cells_leave_everything_usable(kernel: Kernel) -> None:
    """After the stop button a job is awaited again, loops and frames go on; nothing is paid twice."""
    wait = "print((await job).analysis_status)"
    assert await kernel.run("job = await client.keywords.analyze(box.keyword_ids[0])") == []
    assert await kernel.run(wait, stop_after=0.5) == ["CancelledError"]
    assert await kernel.run(wait) == ["success"]
    loop = "async for outcome in outcomes: print(outcome.ok)"
    assert await kernel.run("outcomes = client.jobs.map(client.keywords.analyze, box.keyword_ids[1:3])") == []
    assert await kernel.run(loop, stop_after=0.5) == ["CancelledError"]
    assert await kernel.run(loop) == ["True", "True"]
    batch = """
async with client.jobs.batch("nightly") as batch:
    async for outcome in batch.map(client.keywords.analyze, box.keyword_ids[3:5]):
        print(outcome.ok)
"""
    assert await kernel.run(batch, stop_after=0.5) == ["CancelledError"]
    assert await kernel.run(batch) == ["True", "True"]
    frame = "print(len(await outcomes.to_pandas()))"
    for begun in ("jobs", "jobs.batch('october')"):
        ids = "[5:7]" if begun == "jobs" else "[7:9]"
        cell = f"outcomes = client.{begun}.map(client.keywords.analyze, box.keyword_ids{ids})"
        assert await kernel.run(cell) == []
        assert await kernel.run(frame, stop_after=0.5) == ["CancelledError"]
        assert await kernel.run(frame) == ["2"]
    assert await kernel.run("print(len(box.ledger.launches())); await client.aclose()") == ["9"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_kept_without_outputs(path: Path) -> None:
    """`make docs` runs the notebooks; without outputs they cannot become stale or hold a key."""
    cells = json.loads(path.read_text())["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert code
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
