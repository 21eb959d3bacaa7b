"""List what programs rely on besides Python names: commands, exit codes, variables, words of pytest, tools, formats."""

from __future__ import annotations

import asyncio
import tomllib
from collections.abc import Callable, Iterator
from typing import Any

import attrs
from cyclopts import App

import cmsapi
from cmsapi import config
from cmsapi.cli.app import app
from cmsapi.cli.running import ALLOW_HTTP, VERBOSITY
from cmsapi.cli.support.connecting import STATE_VARIABLE
from cmsapi.cli.support.schemas import SCHEMAS, schema_of
from cmsapi.cli.terminal.exit_codes import Exit
from cmsapi.jobs.token import PREFIX
from cmsapi.mcp.server import build_server
from cmsapi.ratelimit.shared_log import FORMAT
from cmsapi.sandbox import Sandbox
from cmsapi.state import scripts, session, sqlitefile
from cmsapi.state.entry import Entry
from cmsapi.testing import plugin
from tools.interface.public import ROOT


def commands(group: App = app, *words: str) -> Iterator[str]:
    """Give each command with its arguments and options."""
    for name in group:
        if not name.startswith("-"):
            yield from commands(group[name], *words, name)
    if group.default_command is None or not words:
        return
    yield " ".join(["cmsapi", *words])
    for argument in group.assemble_argument_collection():
        if argument.names == ("*",):
            continue
        name = "|".join(argument.names)
        if argument.field_info.is_positional:
            name = argument.names[0].lstrip("-").upper().replace("-", "_")
        yield f"    {name}" if argument.required else f"    [{name}]"


def common_options() -> Iterator[str]:
    """Give the options that each command takes."""
    yield from (ALLOW_HTTP, *VERBOSITY)


def documents() -> Iterator[str]:
    """Give the keys at the top of what each command prints with `--json`."""
    for name in SCHEMAS:
        schema = schema_of(name)
        record = schema.get("items", schema)
        record = schema.get("$defs", {}).get(record.get("$ref", "").rpartition("/")[2], record)
        yield name
        yield from (f"    {key}" for key in sorted(record.get("properties", ())))


def exit_codes() -> Iterator[str]:
    """Give the exit codes."""
    yield from (f"{code.value} {code.name}" for code in Exit)


def variables() -> Iterator[str]:
    """Give the variables of the environment that are read."""
    found = {value for name, value in vars(config).items() if name.endswith("_VARIABLE")}
    yield from sorted({*found, STATE_VARIABLE})


def words_of_pytest() -> Iterator[str]:
    """Give the fixtures and markers of the plugin."""
    yield "fixture cms_client"
    yield "fixture cms_sandbox"
    yield from (f"marker {marker.partition(':')[0]}" for marker in plugin._MARKERS)


def tools() -> Iterator[str]:
    """Give the tools and resources for assistants."""
    box = Sandbox()
    client = cmsapi.Client(box.api_key, base_url=box.base_url, transport=box.transport)
    server = build_server(client, max_credits=1)
    for tool in asyncio.run(server.list_tools()):
        required = tool.input_schema.get("required", ())
        names = tool.input_schema.get("properties", {})
        yield tool.name
        yield from (f"    {name}" if name in required else f"    [{name}]" for name in names)
    for template in asyncio.run(server.list_resource_templates()):
        yield str(template.uri_template)


def formats() -> Iterator[str]:
    """Give the versions of what outlasts a process, and the fields of an entry."""
    yield f"job token: {PREFIX}"
    yield f"SQLite schema: {sqlitefile.VERSION}"
    yield f"Redis layout: {scripts.VERSION}"
    yield f"Postgres layout: {session.VERSION}"
    yield f"request limits: {FORMAT}"
    yield "entry of the journal"
    yield from (f"    {field.name}" for field in attrs.fields(Entry))


def extras() -> Iterator[str]:
    """Give the extras, and the entry points."""
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    yield from project["optional-dependencies"]
    yield from (f"program {name}" for name in project["scripts"])
    yield from (f"plugin {group}: {name}" for group, names in project["entry-points"].items() for name in names)


#: The chapters of the record, which the page on versions has as rows.
CHAPTERS: dict[str, Callable[[], Iterator[str]]] = {
    "Commands": commands,
    "Options of all commands": common_options,
    "Keys of --json": documents,
    "Exit codes": exit_codes,
    "Environment": variables,
    "Fixtures and markers": words_of_pytest,
    "Tools for assistants": tools,
    "Formats": formats,
    "Extras and entry points": extras,
}
