"""The server of a state in Postgres: what it refuses, what becomes of an outage, and who waits for whom."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import psycopg
import pytest

from cmsapi.errors import StateError
from cmsapi.state import session
from cmsapi.state.entry import Entry, Lease
from cmsapi.state.postgres import PostgresState
from cmsapi.state.session import STOPPING, TIMEOUT
from tests.support.places import emptied_postgres
from tests.support.postgres import Postgres, running_postgres, why_no_postgres

pytestmark = [
    pytest.mark.enable_socket,
    pytest.mark.skipif(why_no_postgres() is not None, reason=f"NOT TESTED: {why_no_postgres()}"),
]

SCOPE = "scope"
ENTRY = Entry(kind="generation", target="cnt_1", asked_at=1.0)
ACCOUNT = "0123456789abcdef"


def counted(document: str | None, clock: float) -> tuple[str, int]:
    """Count by one."""
    number = int(document or 0) + 1
    return str(number), number


@pytest.fixture
async def url(postgres: Postgres) -> str:
    """The URL of an empty database of the server of all tests."""
    return await emptied_postgres(postgres)


@pytest.fixture
async def state(url: str) -> AsyncIterator[PostgresState]:
    """A state there."""
    async with aclosing(PostgresState(url)) as state:
        yield state


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[psycopg.AsyncConnection[tuple[Any, ...]]]:
    """Be something else that uses the database."""
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as db:
        yield db


async def test_another_version_is_left_alone(url: str, state: PostgresState) -> None:
    """A state of another version gets a clear error, whatever is asked, and nothing in it changes."""
    await state.begin(Lease(SCOPE, "key"), ENTRY)
    await state.update_limits(ACCOUNT, counted)
    async with connected(url) as db:
        await db.execute("UPDATE cmsapi.documents SET text = '3' WHERE name = 'version'")
        for attempt in (
            state.begin(Lease(SCOPE, "another"), ENTRY),
            state.entries(SCOPE),
            state.heartbeat(SCOPE),
            state.compare_and_set(SCOPE, "salt", None, "x"),
            state.update_limits(ACCOUNT, counted),
        ):
            with pytest.raises(StateError, match=r"made by another version .*\(its layout is 3, this one's is 1\)"):
                await attempt
        counts = "SELECT (SELECT count(*) FROM cmsapi.journal), (SELECT count(*) FROM cmsapi.documents), document"
        assert await (await db.execute(f"{counts} FROM cmsapi.limits")).fetchall() == [(1, 1, "1")]


async def test_an_old_server_is_refused(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that is older than what the state needs is named with its version."""
    monkeypatch.setattr(session, "OLDEST", 99)
    async with aclosing(PostgresState(url)) as state:
        with pytest.raises(StateError, match=r"is PostgreSQL \d+; the shared state needs 99 or later"):
            await state.heartbeat(SCOPE)


async def test_a_server_that_takes_no_writes(url: str, state: PostgresState) -> None:
    """A read-only server, such as the copy of another one, is told; nothing was written."""
    await state.begin(Lease(SCOPE, "key"), ENTRY)
    async with aclosing(PostgresState(f"{url}?options=-c%20default_transaction_read_only%3Don")) as copy:
        with pytest.raises(StateError, match=r"in a read-only transaction\)\. Nothing was written.*takes writes"):
            await copy.begin(Lease(SCOPE, "another"), ENTRY)


async def test_what_a_user_needs(url: str, state: PostgresState) -> None:
    """A user who may not make the schema is told so; one who may write to tables that are there needs no more."""
    user = url.replace("cmsapi@", "clerk@")
    async with connected(url) as db:
        await db.execute("DROP ROLE IF EXISTS clerk")
        await db.execute("CREATE ROLE clerk LOGIN")
        try:
            async with aclosing(PostgresState(user)) as clerk:
                with pytest.raises(StateError, match=r"permission denied for database.*Nothing was written"):
                    await clerk.begin(Lease(SCOPE, "key"), ENTRY)
                await state.heartbeat(SCOPE)
                await db.execute("GRANT USAGE ON SCHEMA cmsapi TO clerk")
                await db.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA cmsapi TO clerk")
                assert await clerk.begin(Lease(SCOPE, "key"), ENTRY) is None
                assert await clerk.update_limits(ACCOUNT, counted) == 1
        finally:
            await db.execute("DROP OWNED BY clerk")
            await db.execute("DROP ROLE clerk")


async def test_a_password_is_asked_for() -> None:
    """The right password opens the state; a wrong one is refused, and no error shows it."""
    with running_postgres() as server:
        async with connected(server.url) as db:
            await db.execute("ALTER ROLE cmsapi PASSWORD 'hunter2'")
        server.end()
        server.ask_for_passwords()
        server.start()
        async with aclosing(PostgresState(server.url.replace("@", ":hunter2@"))) as state:
            assert await state.begin(Lease(SCOPE, "key"), ENTRY) is None
        async with aclosing(PostgresState(server.url.replace("@", ":swordfish@"))) as wrong:
            with pytest.raises(StateError, match=r"password authentication failed.*Nothing was written") as caught:
                await wrong.heartbeat(SCOPE)
        assert "swordfish" not in str(caught.value) + repr(caught.value) + repr(caught.value.__cause__)


async def test_a_schema_that_is_dropped_is_made_again(url: str, state: PostgresState) -> None:
    """A state that is removed while it is used begins anew, as one whose rows are lost does."""
    await state.begin(Lease(SCOPE, "key"), ENTRY)
    await emptied_postgres_of(url)
    with pytest.raises(StateError, match=r"UndefinedTable.*Nothing was written"):
        await state.entries(SCOPE)
    assert await state.entries(SCOPE) == {}
    assert await state.begin(Lease(SCOPE, "key"), ENTRY) is None


async def emptied_postgres_of(url: str) -> None:
    """Drop the schema."""
    async with connected(url) as db:
        await db.execute("DROP SCHEMA cmsapi CASCADE")


async def test_a_server_whose_transactions_are_stricter(url: str) -> None:
    """Where the database asks for another isolation, what another process wrote meanwhile is seen all the same."""
    strict = f"{url}?options=-c%20default_transaction_isolation%3Dserializable"
    async with aclosing(PostgresState(strict)) as one, aclosing(PostgresState(strict)) as other:
        numbers = await asyncio.gather(*(each.update_limits(ACCOUNT, counted) for each in (one, other) * 10))
        assert sorted(numbers) == list(range(1, 21))
        begun = await asyncio.gather(*(each.begin(Lease(SCOPE, "key"), ENTRY) for each in (one, other) * 10))
        assert begun.count(None) == 1


async def test_what_something_else_wrote(url: str, state: PostgresState) -> None:
    """An entry, an owner or a document that cannot be read is a clear error; who holds the entry can end it."""
    lease = Lease(SCOPE, "key")
    await state.begin(lease, ENTRY)
    await state.compare_and_set(SCOPE, "salt", None, "x")
    async with connected(url) as db:
        await db.execute("UPDATE cmsapi.journal SET entry = '{\"kind\": 7}'")
        await db.execute("INSERT INTO cmsapi.owners SELECT scope, 'x', '[]', 'infinity' FROM cmsapi.owners")
        await db.execute("UPDATE cmsapi.documents SET text = 'NaN' WHERE name = 'salt'")
    for attempt in (state.entries(SCOPE), state.heartbeat(SCOPE), state.get_document(SCOPE, "salt")):
        with pytest.raises(StateError, match="cannot be read"):
            await attempt
    await state.end(lease)
    assert await state.entries(SCOPE) == {}


@asynccontextmanager
async def losing_answers(url: str, lose: list[bytes]) -> AsyncIterator[str]:
    """Relay to a server; once it got one of the statements, keep its answer, end the connection and clear them."""
    host, _, port = url.partition("@")[2].partition("/")[0].partition(":")

    ends = []

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_server, to_server = await asyncio.open_connection(host, int(port))
        ends.extend([writer, to_server])
        lost = False

        async def back() -> None:
            while (data := await from_server.read(1 << 16)) and not lost:
                writer.write(data)

        answers = asyncio.create_task(back())
        while data := await reader.read(1 << 16):
            lost = any(statement in data for statement in lose)
            to_server.write(data)
            if lost:
                lose.clear()
                break
        if not lost:
            to_server.close()
        # It ends with the answer that is lost, or with the connection.
        await answers
        for each in (writer, to_server):
            each.close()

    async with await asyncio.start_server(relay, "127.0.0.1", 0) as listener:
        yield url.replace(f"{host}:{port}", f"127.0.0.1:{listener.sockets[0].getsockname()[1]}")
    for each in ends:
        await each.wait_closed()


async def test_a_lost_answer_changes_the_limits_once(url: str) -> None:
    """Where the connection breaks after the server has written, the change is not made a second time."""
    lose: list[bytes] = []
    async with losing_answers(url, lose) as relay, aclosing(PostgresState(relay)) as state:
        assert await state.update_limits(ACCOUNT, counted) == 1
        lose.append(b"COMMIT")
        assert await state.update_limits(ACCOUNT, counted) == 2
        assert lose == []
        assert await state.update_limits(ACCOUNT, counted) == 3


async def test_a_cancelled_operation_leaves_the_state_usable(url: str, state: PostgresState) -> None:
    """One that waits for what another process has locked ends when it is cancelled, and the next one goes on."""
    await state.begin(Lease(SCOPE, "key"), ENTRY)
    async with connected(url) as db:
        await db.execute("BEGIN")
        await db.execute("LOCK TABLE cmsapi.journal")
        began = time.monotonic()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await state.begin(Lease(SCOPE, "another"), ENTRY)
        assert time.monotonic() - began < STOPPING + 1.0
        await db.execute("ROLLBACK")
    assert await state.begin(Lease(SCOPE, "another"), ENTRY) is None


async def test_loops_of_several_threads(url: str) -> None:
    """Each loop has a state of its own, and together they count as one."""

    def in_a_thread() -> list[int]:
        async def count() -> list[int]:
            async with aclosing(PostgresState(url)) as state:
                return [await state.update_limits(ACCOUNT, counted) for _ in range(10)]

        return asyncio.run(count())

    numbers = await asyncio.gather(*(asyncio.to_thread(in_a_thread) for _ in range(3)))
    assert sorted(number for each in numbers for number in each) == list(range(1, 31))


FROZEN = """
import asyncio, os, signal, sys
from cmsapi.state.postgres import PostgresState

def freeze(document, clock):
    print("frozen", flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)
    return "7", None

async def main():
    state = PostgresState(sys.argv[1])
    await state.update_limits(sys.argv[2], freeze)
    await state.aclose()

asyncio.run(main())
"""


@pytest.mark.slow
async def test_a_process_that_is_frozen_in_a_change_holds_no_other_up(url: str, state: PostgresState) -> None:
    """The server ends its transaction in time for those who wait; when it wakes, its change comes after theirs."""
    assert await state.update_limits(ACCOUNT, counted) == 1
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", FROZEN, url, ACCOUNT, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    assert await process.stdout.readline() == b"frozen\n"
    try:
        began = time.monotonic()
        assert await state.update_limits(ACCOUNT, counted) == 2
        assert time.monotonic() - began < TIMEOUT
        for _ in range(2):
            # It repeats its change on another connection, in which it freezes again.
            process.send_signal(signal.SIGCONT)
            await asyncio.sleep(0.5)
        assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
    assert await state.update_limits(ACCOUNT, counted) == 8


FORK = """
import asyncio, gc, os, sys
from cmsapi.state.entry import Entry, Lease
from cmsapi.state.postgres import PostgresState

ENTRY = Entry(kind="generation", target="cnt_1", asked_at=1.0)

async def main(name):
    state = PostgresState(sys.argv[1])
    lease = Lease("scope", name)
    assert await state.begin(lease, ENTRY) is None
    if name == "parent":
        if os.fork() == 0:
            # The connection is the parent's, and stays open when the child ends.
            del state
            gc.collect()
            os._exit(0)
        os.wait()
    await state.keep(lease)
    await state.aclose()
    print(name, flush=True)

asyncio.run(main("parent"))
"""


@pytest.mark.slow
async def test_a_fork_leaves_the_connection_to_the_parent(url: str) -> None:
    """A child that ends without having used a state does not end the connection of its parent."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", FORK, url, stdout=asyncio.subprocess.PIPE, env={**os.environ, "PYTHONWARNINGS": "ignore"}
    )
    said, _ = await process.communicate()
    assert (said, process.returncode) == (b"parent\n", 0)
