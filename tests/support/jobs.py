"""What the tests of jobs share: boxes with exact durations, clients of them, and answers spoiled on their way."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import attrs

import cmsapi
from cmsapi.config import PollPolicy
from cmsapi.jobs.kinds.kind import JobHistory, JobKind
from cmsapi.jobs.kinds.registry import KINDS
from cmsapi.jobs.tracked import PollSettings, TrackedJob
from cmsapi.message import Request, Response
from cmsapi.sandbox import Behaviour, Books, Credits, Entry, Fault, Faults, Fixed, Limits, Sandbox

POLL_OPERATIONS = {
    "keyword_analysis": "get_keyword",
    "prompt_analysis": "get_prompt",
    "idea_search": "get_content_idea_search",
    "generation": "get_generation",
    "knowledge_document": "get_knowledge_document",
}


def box(
    seconds: float = 30.0,
    *,
    rules: Iterable[Fault] = (),
    latency: tuple[float, float] | None = None,
    credits: Credits | None = None,  # noqa: A002  the sandbox's word
    limits: Limits | None = None,
    behaviour: Behaviour | None = None,
    books: Books | None = None,
    keywords: int = 20,
) -> Sandbox:
    """Make a sandbox whose jobs all take the same time."""
    return Sandbox(
        durations=Fixed(seconds),
        faults=Faults(latency=latency, rules=tuple(rules)),
        credits=credits,
        limits=limits,
        behaviour=behaviour,
        books=books,
        keywords=keywords,
    )


def client_of(sandbox: Sandbox, *, seed: int | None = None, **options: Any) -> cmsapi.Client:
    """Make a client of a sandbox in the same process; with a seed it draws the same lots each time."""
    options.setdefault("transport", sandbox.transport)
    client = cmsapi.Client(options.pop("api_key", sandbox.api_key), base_url=sandbox.base_url, **options)
    if seed is not None:
        client._runtime.rng.seed(seed)
    return client


def polls(sandbox: Sandbox, kind: str, target: str | None = None) -> list[Entry]:
    """Return the polls that the sandbox has seen at jobs of a kind."""
    return [
        entry
        for entry in sandbox.ledger
        if entry.operation == POLL_OPERATIONS[kind] and (target is None or target in entry.path)
    ]


def tracked_job(
    kind: JobKind = JobKind.IDEA_SEARCH, target: str = "target", policy: PollPolicy | None = None, **state: Any
) -> TrackedJob:
    """Make a job without a client, in a state; it began at the loop time 0 unless `history` says otherwise."""
    caller: Any = None
    state.setdefault("history", JobHistory(began=0.0))
    return TrackedJob(KINDS[kind], target, settings=PollSettings(caller, policy or PollPolicy()), **state)


@attrs.frozen
class Spoiling:
    """Carry requests to a sandbox and change answers on their way back."""

    sandbox: Sandbox
    spoil: Callable[[Request, Response], Response]

    async def send(self, request: Request) -> Response:
        """Carry one request."""
        return self.spoil(request, await self.sandbox.transport.send(request))


def unreadable(method: str, ending: str, times: int = 1) -> Callable[[Request, Response], Response]:
    """Cut the bodies of some successful answers, so that they are no JSON."""
    left = [times]

    def spoil(request: Request, response: Response) -> Response:
        if request.method == method and request.url.endswith(ending) and response.status < 300 and left[0]:
            left[0] -= 1
            return attrs.evolve(response, body=response.body[:-2])
        return response

    return spoil


def changed(operation_part: str, **fields: Any) -> Callable[[Request, Response], Response]:
    """Change fields of the documents under a path."""

    def spoil(request: Request, response: Response) -> Response:
        if operation_part not in request.url or response.status >= 300:
            return response
        return attrs.evolve(response, body=json.dumps({**json.loads(response.body), **fields}).encode())

    return spoil
