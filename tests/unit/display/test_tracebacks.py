"""Errors below a cell: the lines of the user, and what happened, without the frames of the SDK."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

import cmsapi
from cmsapi.sandbox import Fault, Sandbox

pytestmark = pytest.mark.looptime

HIDDEN = "the frames inside cmsapi are hidden, %tb shows them"
INNER = "pipeline.py"


@pytest.fixture
def turning_loop() -> None:
    """Let the loop stand still: IPython looks for the sources of all loaded modules, slowly under coverage."""


@pytest.fixture
def shell(no_history: Config, sandbox: Sandbox, client: cmsapi.Client) -> Iterator[Any]:
    """An IPython shell whose cells know the client and the sandbox."""
    InteractiveShell.clear_instance()
    shell: Any = InteractiveShell.instance(config=no_history, colors="nocolor")
    shell.push({"client": client, "box": sandbox, "cmsapi": cmsapi})
    yield shell
    InteractiveShell.clear_instance()


async def shown(shell: Any, cell: str) -> str:
    """Run a cell and return what is shown below it."""
    with capture_output() as captured:
        await shell.run_cell_async(textwrap.dedent(cell), transformed_cell=shell.transform_cell(textwrap.dedent(cell)))
    assert "Unexpected exception formatting" not in captured.stdout, captured.stderr
    return str(captured.stdout)


async def test_a_missing_resource_shows_the_cell(shell: Any) -> None:
    """A 404 shows the line of the cell and the message, and no frame of the SDK."""
    text = await shown(shell, "one = 1\nawait client.keywords.get('kwd_missing')")
    assert "----> 2 await client.keywords.get('kwd_missing')" in text
    assert "NotFoundError: 404 not_found" in text
    assert HIDDEN in text
    assert INNER not in text
    assert "run_code" not in text


async def test_the_whole_traceback_is_a_command_away(shell: Any) -> None:
    """`%tb` in a later cell shows all frames, as often as it is asked for."""
    await shown(shell, "await client.keywords.get('kwd_missing')")
    for _ in range(2):
        text = await shown(shell, "%tb")
        assert INNER in text
        assert HIDDEN not in text
        assert "run_code" not in text


@pytest.mark.parametrize("mode", ["Plain", "Context", "Verbose", "Minimal"])
async def test_each_mode_of_tracebacks_works(shell: Any, mode: str) -> None:
    """Whatever `%xmode` says, the message is the end and no frame of the SDK is shown."""
    await shown(shell, f"%xmode {mode}")
    text = await shown(shell, "await client.keywords.get('kwd_missing')")
    assert INNER not in text
    assert text.rstrip().splitlines()[-1].startswith("Request id")
    await shown(shell, "%xmode Context")


async def test_functions_of_the_user_are_shown(shell: Any) -> None:
    """Functions between the cell and the SDK, and those that the SDK calls, keep their frames."""
    text = await shown(
        shell,
        """
        async def launch(id):
            return await client.keywords.analyze(id + "_missing")

        async def everything():
            async for outcome in client.jobs.map(launch, ["kwd"], errors="raise"):
                pass

        await everything()
        """,
    )
    assert "in everything()" in text
    assert "in launch(id)" in text
    assert "fan_out.py" not in text


async def test_what_broke_below_is_in_the_message(shell: Any, sandbox: Sandbox) -> None:
    """A broken connection shows no chain of errors of libraries; `%tb` does."""
    sandbox.add_fault(Fault(match="POST *", drop=True, when="after"))
    text = await shown(shell, "await client.contents.create(box.workspace_id, title='x')")
    assert "OutcomeUnknownError" in text
    assert "direct cause" not in text
    assert "ConnectionResetError" not in text.split("OutcomeUnknownError")[0]
    assert "ConnectionResetError" in await shown(shell, "%tb")


async def test_an_error_of_the_user_stays_in_the_chain(shell: Any) -> None:
    """An error that the user was handling has its frames, because they are of the user."""
    text = await shown(
        shell,
        """
        try:
            {}["absent"]
        except KeyError:
            await client.keywords.get("kwd_missing")
        """,
    )
    assert "KeyError: 'absent'" in text
    assert "NotFoundError" in text
    assert INNER not in text


async def test_reasons_show_only_frames_of_the_user(shell: Any) -> None:
    """An error of a function that the SDK has called is shown with that function, and without the way to it."""
    text = await shown(
        shell,
        """
        async def launch(id):
            raise ValueError("mine")

        try:
            async for outcome in client.jobs.map(launch, ["kwd"], errors="raise"):
                pass
        except ValueError:
            await client.keywords.get("kwd_missing")
        """,
    )
    assert "ValueError: mine" in text
    assert "in launch(id)" in text
    assert "NotFoundError" in text
    assert "fan_out.py" not in text
    assert "fan_out.py" in await shown(shell, "%tb")


async def test_errors_in_a_circle_are_shown(shell: Any) -> None:
    """Errors that are each other's reason do not keep the kernel busy."""
    text = await shown(
        shell,
        """
        try:
            raise KeyError("one")
        except KeyError as error:
            one = error
        two = cmsapi.CMSError("two")
        two.__cause__, one.__cause__ = one, two
        raise two
        """,
    )
    assert "CMSError: two" in text


async def test_nothing_of_the_error_changes(shell: Any) -> None:
    """Showing an error leaves its traceback and its chain as they were."""
    with pytest.raises(cmsapi.NotFoundError) as caught:
        await shell.user_ns["client"].keywords.get("kwd_missing")
    reason = caught.value.__cause__ = ValueError("reason")
    before = caught.value.__traceback__
    shell.push({"error": caught.value})
    await shown(shell, "raise error")
    assert caught.value.__cause__ is reason
    entries = []
    trace = caught.value.__traceback__
    while trace is not None:
        entries.append(trace)
        trace = trace.tb_next
    assert before in entries
