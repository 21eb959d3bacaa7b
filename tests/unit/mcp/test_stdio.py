"""`cmsapi mcp` as clients of assistants start it: a process, with the official client at its standard streams."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from cmsapi.sandbox import Fixed, Sandbox
from tests.support.assistants import Assistant
from tests.support.terminal import terminal

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


@pytest.fixture
async def box() -> AsyncIterator[Sandbox]:
    """A sandbox on a socket, in real time, with short jobs."""
    async with Sandbox(durations=Fixed(2)) as box:
        yield box


@contextlib.asynccontextmanager
async def started(place: Path, *options: str, box: Sandbox | None = None) -> AsyncIterator[Assistant]:
    """Start a server whose state, process id and standard error are files of a directory."""
    line = shlex.join([sys.executable, "-m", "cmsapi", "mcp", *options])
    known = {"CMSAPI_API_KEY": box.api_key, "CMSAPI_BASE_URL": box.base_url} if box else {}
    server = StdioServerParameters(
        command="sh",
        args=["-c", f"echo $$ > pid; exec {line}"],
        cwd=place,
        env={**known, "XDG_STATE_HOME": str(place), "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    with (place / "stderr").open("a", encoding="utf-8") as log:
        async with Client(stdio_client(server, errlog=log)) as protocol:
            yield Assistant(protocol)


async def test_an_assistant_does_the_whole_work(box: Sandbox, tmp_path: Path) -> None:
    """It finds, plans, launches, waits with progress, decides; the key is in no answer, and standard error is empty."""
    answers = []
    async with started(tmp_path, "--max-credits", "3", box=box) as assistant:
        answers.append(assistant.protocol.instructions)
        (workspace,) = (await assistant.call("list_workspaces"))["workspaces"]
        keywords = await assistant.call("list_keywords", workspace_id=workspace["id"], unanalysed=True)
        ids = [keyword["id"] for keyword in keywords["keywords"][:2]]
        answers.append(await assistant.call("plan_jobs", kind="keyword_analysis", count=2))
        answers.append(await assistant.call("analyze_keywords", keyword_ids=ids))
        answers.append(await assistant.call("generate_article", content_id=box.content_ids[0]))
        waited = await assistant.call("wait_for_jobs", seconds=60)
        assert [job["state"] for job in waited["jobs"]] == ["succeeded", "succeeded", "review"]
        assert assistant.told[-1][0] == 3
        article = waited["jobs"][2]["article"]
        named = {name: article[name] for name in ("content_id", "generation_id")}
        answers += [waited, await assistant.call("confirm_article", **named)]
        answers.append(await assistant.refused("search_ideas", workspace_id=workspace["id"], keywords=["shoes"]))
        account = await assistant.call("show_account")
        assert account["bound"] == {"max_credits": 3, "spent": 3, "left": 0}
        use = await assistant.call("report_credits", days=1)
        assert use["by_type"] == {"analysis": 2, "ai_writing": 1}
        answers += [use, account, [tool.model_dump() for tool in (await assistant.protocol.list_tools()).tools]]
    assert len(box.ledger.launches()) == 3
    assert box.ledger.count(status=429) == 0
    assert (tmp_path / "stderr").read_text() == ""
    assert box.api_key not in str(answers)


async def test_a_killed_server_is_followed_by_one_that_joins(box: Sandbox, tmp_path: Path) -> None:
    """After `kill -9` the same calls of a new server have the same jobs, and nothing is paid again."""
    search = {"workspace_id": box.workspace_id, "keywords": ["trail running"]}
    analysis = {"keyword_ids": [box.keyword_ids[0]]}
    with contextlib.suppress(Exception):
        async with started(tmp_path, "--max-credits", "2", box=box) as assistant:
            await assistant.call("search_ideas", **search)
            await assistant.call("analyze_keywords", **analysis)
            os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    assert len(box.ledger.launches()) == 2
    async with started(tmp_path, "--max-credits", "2", box=box) as assistant:
        answers = [await assistant.call("search_ideas", **search), await assistant.call("analyze_keywords", **analysis)]
        assert [answer["credits_spent"] for answer in answers] == [0, 0]
        waited = await assistant.call("wait_for_jobs", seconds=60)
        assert all(job["state"] == "succeeded" for job in waited["jobs"])
    assert len(box.ledger.launches()) == 2


async def test_a_sandbox_needs_no_account(tmp_path: Path) -> None:
    """With `--sandbox` it works without a key, and tells the assistant that nothing is real."""
    async with started(tmp_path, "--sandbox") as assistant:
        assert "sandbox" in assistant.protocol.instructions
        assert (await assistant.call("show_account"))["balance"]["analysis"] > 0
    assert "to watch: http://127.0.0.1:" in (tmp_path / "stderr").read_text()


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        ([], 2, "set CMSAPI_API_KEY"),
        (["--sandbox", "--max-credits", "-1"], 2, "--max-credits"),
        (["--sandbox", "--max-credits", "1.5"], 2, "--max-credits"),
        (["--sandbox"], 0, "to watch"),
    ],
)
async def test_how_it_ends(options: list[str], code: int, said: str, tmp_path: Path) -> None:
    """A wrong start is told on standard error with code 2; the end of the input ends it; standard output is clean."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CMSAPI_")}
    command = [sys.executable, "-m", "cmsapi", "mcp", *options]
    environment["XDG_STATE_HOME"] = str(tmp_path)
    done = await anyio.run_process(command, input=b"", check=False, env=environment)
    assert (done.returncode, done.stdout) == (code, b"")
    assert said in done.stderr.decode()


async def test_a_person_is_told_what_it_waits_for(box: Sandbox) -> None:
    """In a terminal a line says that a program should talk to it, and Ctrl-C ends it at once."""
    async with terminal(box, "mcp", "--state", "memory:") as shown:
        await shown.until("Ctrl-C stops it")
        # Until it reads.
        await anyio.sleep(2)
        shown.type("\x03")
        with anyio.fail_after(5):
            assert await shown.process.wait() == -signal.SIGINT
