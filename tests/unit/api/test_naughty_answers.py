"""Naughty strings as every string of an answer: they come out as they came in, and show themselves as harmless text."""

from __future__ import annotations

import csv
import io
import json
import unicodedata
from typing import Any

import attrs
import pytest

import cmsapi
from cmsapi import to_dict
from cmsapi.api.wire.converter import Converter
from cmsapi.api.wire.jsontext import loads
from cmsapi.cli.terminal.exit_codes import Exit
from cmsapi.sandbox import Fixed, Limits, Sandbox
from tests.support import strategies
from tests.support.command import command
from tests.support.markup import check
from tests.support.naughty.strings import LISTED, STRINGS
from tests.support.raw import RawServer, http
from tests.support.resources import Changing, client_of
from tests.support.terminal import terminal

SHORT = [value for value in STRINGS if len(value) < 10_000]


def filled(kind: Any, value: str) -> Any:
    """Make a document of a table in which every text is the same one."""
    kind = strategies.bare(kind)
    if isinstance(kind, dict):
        return {name: filled(each, value) for name, each in kind.items()} | {f"an unlisted key {value}": value}
    if isinstance(kind, list):
        return [filled(kind[0], value)]
    plain = {"int": 7, "number": 0.5, "bool": True, "time": "2026-01-01T00:00:00.000Z"}
    return value if isinstance(kind, tuple) else plain.get(kind, value)


def held(thing: object, value: str) -> int:
    """Count the fields of a model, and of those in it, that hold a text."""
    if isinstance(thing, cmsapi.Model):
        return sum(held(getattr(thing, each.name), value) for each in attrs.fields(type(thing)))
    if isinstance(thing, list | tuple):
        return sum(held(each, value) for each in thing)
    return int(isinstance(thing, str) and thing == value)


@pytest.mark.parametrize("model", strategies.TABLES, ids=lambda model: model.__name__)
def test_every_string_comes_out_as_it_came_in(model: type[cmsapi.Model]) -> None:
    """Escaped or not, a string is the same in the model and in its document; `repr` and HTML show it as text."""
    converter = Converter()
    table = strategies.TABLES[model]
    for value in SHORT:
        document = filled(table, value)
        for escaped in (True, False):
            body = json.dumps(document, ensure_ascii=escaped, separators=(",", ":")).encode()
            assert document == loads(body)
        read = converter.structure(document, model)
        assert document == to_dict(read)
        assert held(read, value) == held_in(table)
        assert repr(read).isprintable(), ascii(value)
        check(read._repr_html_())
    assert all(str(each).isprintable() for each in converter.drift.deviations())


def held_in(table: Any) -> int:
    """Count the places for texts in a table."""
    kind = strategies.bare(table)
    if isinstance(kind, dict):
        return sum(held_in(each) for each in kind.values())
    if isinstance(kind, list):
        return held_in(kind[0])
    return int(isinstance(kind, tuple) or kind in ("str", "any"))


@pytest.mark.looptime
async def test_every_string_survives_the_service() -> None:
    """A title, a body and a description that were stored are read back as they are, through a client."""
    sandbox = Sandbox(limits=Limits.unlimited())
    async with client_of(sandbox, limits=cmsapi.RateLimits.unlimited()) as client:
        for value in LISTED:
            sent = {"html": value, "meta_description": value, "title": value[:255]}
            saved = await client.contents.edit(sandbox.content_ids[0], lambda _, sent=sent: sent)  # type: ignore[misc]
            assert sent == {name: getattr(saved, name) for name in sent}
            assert saved == await client.contents.get(saved.id)


@pytest.mark.looptime
async def test_jobs_of_naughty_things_show_themselves_as_text() -> None:
    """A job, its token, its status and its errors are printable whatever they work for, and are found again."""

    def odd(request: cmsapi.Request, document: Any) -> Any:
        return document | {"status": "\x1b[31m\x9b\u202e"} if "/content-idea-searches/" in request.url else document

    sandbox = Sandbox(limits=Limits.unlimited(), durations=Fixed(1.0))
    async with client_of(
        sandbox,
        limits=cmsapi.RateLimits.unlimited(),
        polling=cmsapi.PollPolicy(give_up_after=60.0),
        transport=Changing(sandbox, odd),
    ) as client:
        jobs = [await client.content_ideas.search(sandbox.workspace_id, value) for value in LISTED]
        ends = [await _end(job) for job in jobs]
        for value, job, end in zip(LISTED, jobs, ends, strict=True):
            again = client.jobs.attach(job.token)
            assert again.target == job.target
            for shown in (job, job.token, job.status, again, end):
                assert f"{shown!r}".isprintable(), ascii(value)
            assert isinstance(end, cmsapi.UnknownJobStateError)
            assert str(end).isprintable()
        check(client.jobs.show()._repr_html_())


async def _end(job: cmsapi.Job[Any]) -> Any:
    try:
        return await job
    except cmsapi.JobError as error:
        return error


@pytest.mark.looptime
async def test_a_command_line_shows_text_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tables hold printable lines, JSON and CSV no control character; JSON and raw CSV lose nothing."""
    box = Sandbox(contents=len(LISTED))
    for content_id, value in zip(box.content_ids, LISTED, strict=True):
        box.touch_content(content_id, title=value)
    async with box:
        monkeypatch.setenv("CMSAPI_API_KEY", box.api_key)
        monkeypatch.setenv("CMSAPI_BASE_URL", box.base_url)
        shown = {}
        for form in ("", "--json", "--csv", "--raw-csv"):
            assert await command("contents", "list", box.workspace_id, "--limit", "1000", *[form] * bool(form)) == 0
            shown[form] = capsys.readouterr().out
    lines = shown[""].split("\n")
    assert len(lines) == len(LISTED) + 2
    assert all(line.isprintable() for line in lines)
    assert all(line.isprintable() for line in shown["--json"].split("\n"))
    expected = dict(zip(box.content_ids, LISTED, strict=True))
    assert expected == {each["id"]: each["title"] for each in json.loads(shown["--json"])}
    assert not [mark for mark in shown["--csv"].replace("\r\n", "") if unicodedata.category(mark) == "Cc"]
    rows = csv.DictReader(io.StringIO(shown["--raw-csv"], newline=""))
    assert expected == {row["id"]: row["title"] for row in rows}


@pytest.mark.slow
@pytest.mark.enable_socket
async def test_a_terminal_is_not_steered_by_a_table_for_programs() -> None:
    """CSV that goes to a terminal has its control characters escaped."""
    async with Sandbox() as box:
        box.touch_content(box.content_ids[0], title="\x1b[31mred\x9b2J")
        async with terminal(box, "contents", "list", box.workspace_id, "--csv") as shell:
            assert await shell.end() == Exit.DONE
            await shell.until(r"\x1b[31mred\x9b2J")


@pytest.mark.enable_socket
async def test_a_command_line_shows_what_the_service_says_as_text(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message of an error is on standard error, and cannot steer a terminal."""
    monkeypatch.setenv("CMSAPI_API_KEY", "sk_naughty_0123456789")
    for value in LISTED[::4]:
        body = json.dumps({"error": {"code": "not_found", "message": value}}).encode()
        async with RawServer(http(body, "404 Not Found")) as server:
            monkeypatch.setenv("CMSAPI_BASE_URL", server.url)
            assert await command("me") != Exit.DONE
        shown = capsys.readouterr()
        assert all(line.isprintable() for line in (shown.out + shown.err).split("\n")), ascii(value)
