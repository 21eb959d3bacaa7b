"""The description of the served sandbox, read by third-party programs: a validator, a fuzzer, a client generator."""

from __future__ import annotations

import asyncio
import importlib.resources
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from cmsapi.sandbox import Limits, Sandbox
from tests.support.spec import spec
from tests.support.wire import Wire

DESCRIPTION = json.loads(importlib.resources.files("cmsapi.sandbox").joinpath("openapi.json").read_text())
OPERATIONS = {each["operationId"] for methods in DESCRIPTION["paths"].values() for each in methods.values()}
UNLIMITED = Limits(per_second=10**6, per_hour=10**6)
# An identifier that names nothing is a 422 here, which a schema cannot say.
WITH_IDENTIFIERS = [
    "create_content",
    "create_folder",
    "update_content",
    "generate_content",
    "score_keyword",
    "score_prompt",
]


@pytest.fixture
async def served() -> AsyncIterator[Sandbox]:
    """Return a sandbox on a socket, without limits and with quick jobs."""
    sandbox = Sandbox(limits=UNLIMITED, durations=0.01)
    async with sandbox.serve():
        yield sandbox


async def run(module: str, *arguments: str, cwd: Path) -> str:
    """Run a Python module to its end while this loop keeps serving, and return its output."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", module, *arguments),
        cwd=cwd,
        env={**os.environ, "PATH": path},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    text = output.decode()
    assert process.returncode == 0, text
    return text


def functions(package: Path) -> set[str]:
    """Return the names of the modules in the packages of a package."""
    return {path.stem for path in package.glob("*/*.py")} - {"__init__"}


async def settings(sandbox: Sandbox) -> str:
    """Return the fuzzer's settings: the key, and identifiers of records in many states."""
    wire = Wire(sandbox)
    for content in sandbox.content_ids[:2]:
        await wire.post(f"/v1/contents/{content}/atomic", {"settings": {}})
        await wire.until(f"/v1/contents/{content}/generation", "status", "review")
    search = await wire.post(f"/v1/workspaces/{sandbox.workspace_id}/content-idea-searches", {"keyword": "shoes"})
    await wire.until(f"/v1/content-idea-searches/{search['id']}", "status", "success")
    identifiers = {
        "workspaceId": sandbox.workspace_id,
        "folderId": sandbox.folder_ids[0],
        "contentId": sandbox.content_ids[0],
        "pageId": sandbox.page_ids[0],
        "keywordId": sandbox.analyzed_keyword_ids[0],
        "promptId": sandbox.prompt_ids[0],
        "brandVoiceId": sandbox.brand_voice_ids[0],
        "knowledgeDocumentId": sandbox.knowledge_document_ids[0],
        "contentIdeaSearchId": search["id"],
    }
    # What these end is another record, so that the rest goes on.
    others = {
        "cancel_generation": ("contentId", sandbox.content_ids[1]),
        "delete_folder": ("folderId", sandbox.folder_ids[-1]),
        "delete_content": ("contentId", sandbox.content_ids[-1]),
        "delete_page": ("pageId", sandbox.page_ids[-1]),
    }
    lines = ["[auth.openapi.apiKey]", f'bearer = "{sandbox.api_key}"', "[parameters]"]
    lines += [f'"path.{name}" = "{value}"' for name, value in identifiers.items()]
    for operation in WITH_IDENTIFIERS:
        accepted = "checks.positive_data_acceptance.expected-statuses = [200, 201, 202, 404, 409, 422]"
        lines += ["[[operations]]", f'include-operation-id = "{operation}"', accepted]
    for operation, (name, value) in others.items():
        lines += ["[[operations]]", f'include-operation-id = "{operation}"', f'parameters."path.{name}" = "{value}"']
    return "\n".join(lines)


@spec("9.2")
def test_the_description_is_valid_openapi() -> None:
    """An OpenAPI 3.1 validator finds no error, and the version is that of the specification."""
    assert list(OpenAPIV31SpecValidator(DESCRIPTION).iter_errors()) == []
    assert DESCRIPTION["info"]["version"] == "1.0.0"


@pytest.mark.slow
@pytest.mark.timeout(300)
@spec("1.1", "1.2", "5.5", "7:400", "7:401", "7:422", "8.2")
async def test_a_fuzzer_finds_no_violation(served: Sandbox, tmp_path: Path) -> None:
    """A thousand requests, valid and not, are answered as described, and never with a server error."""
    config = tmp_path / "schemathesis.toml"
    config.write_text(await settings(served))
    seeded = ("--seed", "1", "--max-examples", "3", "--checks", "all", "--no-color")
    output = await run("schemathesis.cli", "run", f"{served.base_url}/openapi.json", *seeded, cwd=tmp_path)
    assert len(served.ledger.requests) >= 1000, output
    assert not [each for each in served.ledger.requests if (each.status or 500) >= 500]
    reached = {each.operation for each in served.ledger.requests if each.status is not None and each.status < 300}
    assert reached == OPERATIONS - {"update_content"}, output  # versions are not guessed


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_a_client_can_be_generated(served: Sandbox, tmp_path: Path) -> None:
    """The generator gives no warning and makes a function for each operation, and its client reads the user."""
    made = ("--output-path", "generated", "--meta", "none", "--fail-on-warning")
    url = f"{served.base_url}/openapi.json"
    await run("openapi_python_client", "generate", "--url", url, *made, cwd=tmp_path)
    assert functions(tmp_path / "generated" / "api") == OPERATIONS
    program = tmp_path / "read.py"
    program.write_text(
        "import sys\n"
        "from generated import AuthenticatedClient\n"
        "from generated.api.users import get_me\n"
        "print(get_me.sync(client=AuthenticatedClient(base_url=sys.argv[1], token=sys.argv[2])).email)\n"
    )
    user = await Wire(served).get("/v1/me")
    assert user["email"] in await run("read", served.base_url, served.api_key, cwd=tmp_path)
