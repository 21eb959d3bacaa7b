"""The schemas of `--json`: each command that has the option has one, and what it prints fits."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest
from cyclopts import App

import cmsapi
from cmsapi.cli.app import app
from cmsapi.cli.support.schemas import SCHEMAS, schema_of
from cmsapi.cli.terminal.exit_codes import Exit
from cmsapi.sandbox import Sandbox
from tests.support.command import command

pytestmark = pytest.mark.looptime


def commands(group: App, *words: str) -> Iterator[str]:
    """Give the commands that print JSON."""
    for name in group:
        if not name.startswith("-"):
            yield from commands(group[name], *words, name)
    if group.default_command is not None and words:
        options = {name for argument in group.assemble_argument_collection() for name in argument.names}
        if "--json" in options:
            yield " ".join(words)
            yield from [" ".join([*words, "--dry-run"])] if "--dry-run" in options else []


def test_each_command_with_json_has_a_schema() -> None:
    """No command is missing, and none is left over."""
    assert set(commands(app)) == set(SCHEMAS)


@pytest.mark.parametrize("name", SCHEMAS)
async def test_a_schema_is_printed(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`cmsapi schema` prints a valid schema with a title, which describes each key that is promised."""
    assert await command("schema", *name.split()) == Exit.DONE
    document = json.loads(capsys.readouterr().out)
    assert document == schema_of(name)
    jsonschema_rs.meta.validate(document)
    assert document["title"] == f"cmsapi {name} --json"
    for definition in document.get("$defs", {}).values():
        assert all("description" in each for each in definition["properties"].values()), definition


async def test_the_commands_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a command it lists them; a command without JSON is wrong usage."""
    assert await command("schema") == Exit.DONE
    assert capsys.readouterr().out.splitlines() == list(SCHEMAS)
    assert await command("schema", "demo") == Exit.USAGE
    assert "no schema of 'demo'" in capsys.readouterr().err


#: The command lines of each schema; `printed` gives the identifiers their values.
LINES = {
    "me": ["me"],
    "credits": ["credits"],
    "users": ["users"],
    "workspaces": ["workspaces"],
    "folders": ["folders WORKSPACE"],
    "pages list": ["pages list WORKSPACE"],
    "pages show": ["pages show PAGE"],
    "pages import": ["pages import WORKSPACE https://northwind.example/new"],
    "contents list": ["contents list WORKSPACE"],
    "contents show": ["contents show CONTENT", "contents show WRITTEN"],
    "contents create": ["contents create WORKSPACE Title"],
    "contents edit": ["contents edit CONTENT --title Other"],
    "keywords": ["keywords WORKSPACE"],
    "keywords add": ["keywords add PAGE trail"],
    "prompts": ["prompts PROMPTED"],
    "prompts add": ["prompts add KEYWORD question"],
    "brand-voices": ["brand-voices WORKSPACE"],
    "knowledge-documents": ["knowledge-documents WORKSPACE"],
    "analyze": ["analyze KEYWORD FAILING"],
    "analyze --dry-run": ["analyze KEYWORD --dry-run", "analyze KEYWORD --dry-run --max-credits 0"],
    "ideas": ["ideas WORKSPACE trail"],
    "ideas --dry-run": ["ideas WORKSPACE trail --dry-run"],
    "generate": ["generate CONTENT", "generate CONTENT2 --confirm", "generate nope"],
    "generate --dry-run": ["generate CONTENT --dry-run"],
    "jobs list": ["jobs list"],
    "jobs batches": ["jobs batches"],
    "jobs watch": ["jobs watch ANALYSIS SEARCH GENERATION FAILURE"],
    "jobs resume": ["jobs resume"],
    "jobs reviews": ["jobs reviews"],
    "doctor": ["doctor"],
}


@pytest.mark.parametrize("name", LINES)
async def test_what_is_printed_fits(
    name: str, box: Sandbox, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The real output of each command is valid, with results and with errors, and is not empty."""
    words = {
        "WORKSPACE": box.workspace_id,
        "PAGE": box.page_ids[0],
        "CONTENT": box.content_ids[0],
        "CONTENT2": box.content_ids[1],
        "KEYWORD": box.keyword_ids[0],
        "PROMPTED": box.analyzed_keyword_ids[0],
        "FAILING": box.keyword_ids[1],
        "WRITTEN": box.content_ids[2],
    }
    box.set_outcome(box.keyword_ids[1], "failed")
    if name.startswith("jobs") or "WRITTEN" in LINES[name][-1]:
        words |= await launched(box)
        await command("analyze", box.keyword_ids[0], "--batch", "nightly")
        capsys.readouterr()
    for line in LINES[name]:
        code = await command(*(words.get(word, word) for word in line.split()), "--json")
        printed = json.loads(capsys.readouterr().out)
        assert printed or "nope" in line, code
        jsonschema_rs.Draft202012Validator(schema_of(name), validate_formats=True).validate(printed)


async def test_a_diagnosis_without_a_client_fits(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The doctor's document has the same keys when the key is missing."""
    monkeypatch.delenv("CMSAPI_API_KEY", raising=False)
    assert await command("doctor", "--json") == Exit.USAGE
    jsonschema_rs.validate(schema_of("doctor"), json.loads(capsys.readouterr().out))


async def test_a_changed_document_does_not_fit(box: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    """A schema refuses a wrong type and a missing key, and takes an unlisted one."""
    await command("workspaces", "--json")
    (workspace,) = json.loads(capsys.readouterr().out)
    validator = jsonschema_rs.Draft202012Validator(schema_of("workspaces"))
    assert validator.is_valid([workspace | {"mood": "good"}])
    assert not validator.is_valid([workspace | {"name": 1}])
    assert not validator.is_valid([{name: value for name, value in workspace.items() if name != "id"}])


async def launched(box: Sandbox) -> dict[str, str]:
    """Launch a job of each kind, and return the tokens."""
    async with cmsapi.Client(box.api_key, base_url=box.base_url) as client:
        jobs: dict[str, cmsapi.Job[Any]] = {
            "ANALYSIS": await client.keywords.analyze(box.keyword_ids[0]),
            "FAILURE": await client.keywords.analyze(box.keyword_ids[1]),
            "SEARCH": await client.content_ideas.search(box.workspace_id, "trail"),
            "GENERATION": await client.contents.generate(box.content_ids[2]),
        }
        # Until the article waits for a decision.
        await asyncio.sleep(60)
        return {name: job.token for name, job in jobs.items()}
