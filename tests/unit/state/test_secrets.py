"""Nothing secret lies in a state: the raw bytes are read."""

from __future__ import annotations

import hashlib
import traceback
from pathlib import Path

import psycopg
import pytest
import redis.asyncio as redis

import cmsapi
from cmsapi.config import Account
from cmsapi.runtime.accounts import accounts_of_loop
from cmsapi.sandbox import Sandbox
from cmsapi.state.entry import Entry, Lease, digest_of
from cmsapi.state.opening import open_state
from cmsapi.state.redaction import redact_url
from cmsapi.state.sqlite import SqliteState
from tests.support.places import shared_url
from tests.support.processes import ended, workers

pytestmark = pytest.mark.enable_socket

HTML = "<p>Our secret recipe</p>"
INSTRUCTIONS = "Mention no person by name"


@pytest.mark.parametrize("kind", ["sqlite", "redis", "postgres"])
async def test_no_secret_in_the_raw_state(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """After launches and requests by a real process neither key nor texts nor instructions can be found."""
    url = await shared_url(kind, request, tmp_path)
    async with Sandbox() as sandbox:
        async with workers(1, "saturate", url, sandbox.base_url, sandbox.api_key, 0.5, 5, 1000, 5.0) as (worker,):
            await worker.said()
            await ended(worker.process)
        account = Account(sandbox.api_key, sandbox.base_url)
        state = open_state(url)
        salt = await state.compare_and_set("scope", "salt", None, "pepper")
        settings = digest_of({"customInstructions": INSTRUCTIONS, "html": HTML, "n": 1}, salt)
        entry = Entry(kind="generation", target="cnt_1", asked_at=1.0, settings=settings, batch="b", item="i")
        lease = Lease("scope", "key")
        await state.begin(lease, entry)
        raw = await dump(url, tmp_path)
        await state.aclose()
        assert settings is not None
        assert settings.encode() in raw
        if isinstance(state, SqliteState):
            assert account.digest.encode() in raw
        unkeyed = hashlib.blake2b(INSTRUCTIONS.encode(), digest_size=16).hexdigest()
        for secret in (sandbox.api_key, sandbox.api_key[3:], HTML, INSTRUCTIONS, "secret recipe", unkeyed):
            assert secret.encode() not in raw


@pytest.mark.parametrize(
    "url",
    [
        "redis://:hunter2@127.0.0.1:1/0",
        "rediss://user:hunter2@127.0.0.1:1",
        "redis://user:hunter2%40@127.0.0.1:1/0",
        "redis://127.0.0.1:1/0?password=hunter2",
        "redis://127.0.0.1:1/0?password=x@hunter2",
        "postgresql://user:hunter2@127.0.0.1:1/database",
        "postgres://127.0.0.1:1/database?user=me&password=hunter2",
    ],
)
async def test_the_password_of_a_server_is_never_shown(url: str) -> None:
    """What the clients of a state hold and the errors of a server that does not answer say nothing of its password."""
    async with cmsapi.Client("sk_test", base_url="https://api.example.com", state=url) as client:
        accounts, state = accounts_of_loop(), open_state(url)
        shared = accounts.states[url]
        with pytest.raises(cmsapi.StateError) as caught:
            await state.entries("scope")
        await state.aclose()
        texts = [repr(client), repr(accounts), repr(state), repr(shared)]
        texts += [repr(vars(shared)), "".join(traceback.format_exception(caught.value))]
    assert "hunter2" not in "".join(texts)


def test_what_is_shown_of_a_url() -> None:
    """Server and database stay to be recognised; what cannot be told from a password does not."""
    assert redact_url("redis://host:6379/0") == "redis://host:6379/0"
    assert redact_url("redis://user:hunter2@host:6379/0?ssl=1") == "redis://***@host:6379/0"
    assert redact_url("redis://:hun#ter2@host") == "redis://***"
    assert redact_url("redis://:hunter2/@host") == "redis://***@host"
    assert redact_url("postgresql://user:hunter2@host/db?sslmode=verify-full") == "postgresql://***@host/db"
    assert redact_url("sqlite:////var/lib/me@work.db") == "sqlite:////var/lib/me@work.db"


async def dump(url: str, directory: Path) -> bytes:
    """Return every byte of a state."""
    if url.startswith("sqlite:"):
        return b"".join(path.read_bytes() for path in directory.glob("state.db*"))
    if url.startswith("postgresql:"):
        tables = ("journal", "owners", "outcomes", "documents", "limits")
        async with await psycopg.AsyncConnection.connect(url) as db:
            rows = [await (await db.execute(f"TABLE cmsapi.{table}".encode())).fetchall() for table in tables]
        return repr(rows).encode()
    client = redis.Redis.from_url(url)
    found = b""
    async for name in client.scan_iter():
        kind = await client.type(name)
        match kind:
            case b"hash":
                value: object = await client.hgetall(name)
            case b"list":
                value = await client.lrange(name, 0, -1)
            case b"zset":
                value = await client.zrange(name, 0, -1)
            case _:
                value = await client.get(name)
        found += name + repr(value).encode()
    await client.aclose()
    return found


def test_digests_of_settings() -> None:
    """Equal settings have equal digests whatever the order of their members; another salt gives another digest."""
    one = digest_of({"a": 1, "b": {"c": [True, None], "d": "x"}}, "salt")
    assert one == digest_of({"b": {"d": "x", "c": [True, None]}, "a": 1}, "salt")
    assert one != digest_of({"b": {"d": "x", "c": [None, True]}, "a": 1}, "salt")
    assert one != digest_of({"a": 1, "b": {"c": [True, None], "d": "x"}}, "pepper")


def test_an_entry_has_no_room_for_an_article() -> None:
    """Facts as large as a text are refused before anything is written."""
    entry = Entry(kind="generation", target="cnt_1", asked_at=1.0, facts={"html": "x" * 10_000})
    with pytest.raises(ValueError, match="at most 8,192 bytes"):
        entry.to_text()
