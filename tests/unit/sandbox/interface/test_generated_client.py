"""A client that a generator makes of `/openapi.json` works against the served sandbox."""

from __future__ import annotations

import asyncio
import importlib
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from cmsapi.sandbox import Fixed, Limits, Sandbox
from cmsapi.sandbox.interface.openapi import document

pytest.importorskip("openapi_python_client", reason="without openapi-python-client no client is generated")
pytestmark = [pytest.mark.enable_socket, pytest.mark.slow]

PACKAGE = "generated_client"


async def generate(box: Sandbox, folder: Path) -> dict[str, Any]:
    """Generate a client from the served description, and return its operations by name.

    A warning, as for an operation that is left out, is a failure.
    """
    config = folder / "config.yaml"
    # Nothing formats the code.
    config.write_text("post_hooks: []\n")
    where = folder / PACKAGE
    options = ("--meta", "none", "--config", config, "--output-path", where, "--fail-on-warning")
    generator = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "openapi_python_client", "generate", "--url", f"{box.base_url}/openapi.json", *options),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    told, _ = await generator.communicate()
    assert generator.returncode == 0, told.decode()
    paths = [path for path in (where / "api").glob("*/*.py") if path.stem != "__init__"]
    return {path.stem: importlib.import_module(f"{PACKAGE}.api.{path.parent.name}.{path.stem}") for path in paths}


async def until(read: Callable[[], Awaitable[Any]], reached: Callable[[Any], bool]) -> Any:
    """Poll until the answer is as wanted."""
    for _ in range(200):
        if reached(answer := await read()):
            return answer
        await asyncio.sleep(0.05)
    pytest.fail("the job does not end")


async def test_a_generated_client_writes_and_deletes_an_article(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It creates, analyses, generates, polls, confirms, meets a conflict and deletes, with models for all of it."""
    monkeypatch.syspath_prepend(tmp_path)
    async with Sandbox(durations=Fixed(0.2), limits=Limits.unlimited()) as box:
        operations = await generate(box, tmp_path)
        described = [each for item in document()["paths"].values() for each in item.values()]
        assert operations.keys() == {each["operationId"] for each in described}
        models = importlib.import_module(f"{PACKAGE}.models")
        session = importlib.import_module(f"{PACKAGE}.client").AuthenticatedClient(
            base_url=box.base_url, token=box.api_key, raise_on_unexpected_status=True
        )

        async def call(name: str, *ids: str, **arguments: Any) -> Any:
            return await operations[name].asyncio(*ids, client=session, **arguments)

        async with session:
            (workspace,) = (await call("list_workspaces")).data
            page = await call("import_page", workspace.id, body=models.NewPage(url=f"{workspace.website_url}/trail"))
            keyword = await call("add_keyword", page.id, body=models.NewKeyword(keyword="trail shoes"))
            await call("analyze_keyword", keyword.id)
            await until(lambda: call("get_keyword", keyword.id), lambda now: now.analysis_status == "success")
            draft = models.NewContent(title="Trail shoes", page_id=page.id)
            content = await call("create_content", workspace.id, body=draft)
            assert (content.type_, content.is_started) == (models.ContentType.DRAFT, False)

            settings = models.GenerationSettings(fact_checking_enabled=True)
            launched = await call("generate_content", content.id, body=models.GenerationRequest(settings=settings))
            assert launched.status == "queued"
            await until(lambda: call("get_generation", content.id), lambda now: now.status == "review")
            assert (await call("confirm_generation", content.id)).id == launched.id
            written = await call("get_content", content.id)
            assert (written.is_started, written.last_generation.id) == (True, launched.id)

            stale = models.ContentChanges(version=content.version, title="Other shoes")
            refused = await operations["update_content"].asyncio_detailed(content.id, client=session, body=stale)
            assert (refused.status_code, refused.parsed.error.code) == (409, models.ErrorCode.CONFLICT)
            fresh = models.ContentChanges(version=written.version, title="Other shoes", meta_description=None)
            assert (await call("update_content", content.id, body=fresh)).title == "Other shoes"
            report = await call("score_keyword", keyword.id, body=models.ContentToScore(content_id=content.id))
            assert 0 < report.score <= 1

            statuses = (await call("list_content_statuses", workspace.id)).data
            for wanted, count in (([content.content_status.id], 1), ([each.id for each in statuses[1:]], 0)):
                found = (await call("list_contents", workspace.id, content_status_id=wanted)).data
                assert sum(item.id == content.id for item in found) == count
            usages = await call("list_credit_usages", type_=models.CreditType.AI_WRITING)
            assert [usage.keyword.keyword for usage in usages.data] == ["trail shoes"]

            assert await call("delete_content", content.id) is None
            assert (await call("get_content", content.id)).error.code == models.ErrorCode.NOT_FOUND
    assert not [entry for entry in box.ledger if entry.outcome not in ("ok", "conflict", "not_found")]
