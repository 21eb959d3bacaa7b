"""A hundred storms over everything a client can do; `make chaos` has thousands. `CHAOS_SEED` moves them all."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from cmsapi import OPERATIONS, Request, Response
from tests.chaos.run import chaos, chaos_on_loopback
from tests.chaos.seeds import FIRST, seeds

BATCH = 5


@pytest.mark.parametrize("first", seeds(100)[::BATCH])
def test_promises_are_kept_in_any_weather(first: int) -> None:
    """No hang, no false success, no lost job, nothing done twice, nothing left behind."""
    for seed in range(first, first + BATCH):
        report = chaos(seed)
        assert report.violated == (), f"CHAOS_SEED={seed} tells it again"
        assert report.calls


@pytest.mark.enable_socket
def test_promises_are_kept_byte_by_byte() -> None:
    """The same over a socket, in real time, where a proxy breaks the bytes."""
    report = chaos_on_loopback(FIRST + 1)
    assert report.violated == ()
    assert report.calls


def test_a_run_is_told_again_by_its_seed() -> None:
    """The same seed gives the same run, request for request."""
    assert chaos(FIRST).struck == chaos(FIRST).struck


def test_the_runs_are_varied() -> None:
    """A few runs are enough to meet most operations and most faults."""
    reports = [chaos(seed) for seed in range(8)]
    operations = {name for report in reports for name in report.calls}
    kinds = {name for report in reports for name in report.struck}
    assert len(operations & set(OPERATIONS)) > 25
    assert len(kinds) > 12


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
    found = " ".join(line for seed in range(12) for line in chaos(seed, carrier=carrier).violated)
    assert word in found
