"""One exchange of a request and its answer, with the delays and faults on the way.

The transport and the socket share it.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from cmsapi.sandbox.faults.spoiling import BELOW_HTTP, SPOILINGS
from cmsapi.sandbox.messages.request import Request
from cmsapi.sandbox.service.exchange_log import ExchangeLog

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cmsapi.sandbox.faults.injector import FaultInjector
    from cmsapi.sandbox.faults.rules import Fault
    from cmsapi.sandbox.messages.answers import Answer
    from cmsapi.sandbox.randomness.identifiers import RequestIds
    from cmsapi.sandbox.service.service import Service


class Exchange:
    """Exchange requests and answers with the service.

    Args:
        service: The service.
        injector: Delays and faults on the way.
        request_ids: Makes the `X-Request-Id` of each answer.
    """

    def __init__(self, service: Service, injector: FaultInjector, request_ids: RequestIds) -> None:
        #: What the latest requests and answers said.
        self.log: ExchangeLog = ExchangeLog()
        self._service = service
        self._injector = injector
        self._request_ids = request_ids

    async def answer(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> Answer | None:
        """Return the answer to a request; None means that the connection breaks.

        Args:
            method: HTTP method.
            target: Path and query, percent-encoded.
            headers: Request headers, whose names ignore case.
            body: Whole body.
        """
        path, _, query = target.partition("?")
        request = Request(method, path, query, headers, body, self._request_ids.new())
        # Other tasks run here even without latency, as they do during each real request.
        await asyncio.sleep(self._injector.draw_latency())
        clock = self._service.world.clock
        at = clock.seconds()
        if step := self._injector.due_clock_step(at):
            clock.step(step)
        fault = self._injector.fault_for(method, path, at)
        if fault is None or fault.late is None:
            answer = self._deliver(request, fault)
        else:
            delivered = self._deliver_later(fault.late, lambda: self._deliver(request, fault))
            answer = self._fault_answer(request, fault) if fault.replaces_answer else await delivered
        if delay := self._injector.draw_latency() + (fault.slow or 0.0 if fault else 0.0):
            await asyncio.sleep(delay)
        self.log.add(request, answer, None if fault is None else fault.kind)
        return None if answer is None else _named(answer, request)

    def answer_unreadable(self, status: int, message: str) -> Answer:
        """Return the answer to bytes that are not a request: it does not count, and the ledger has no entry."""
        request = Request("", "", "", {}, b"", self._request_ids.new())
        return _named(self._service.gateway_error(request, status, message), request)

    def _deliver(self, request: Request, fault: Fault | None) -> Answer | None:
        """Let a request reach the service, and break it or its answer as a fault says."""
        if fault is None or fault.slow is not None or (fault.late is not None and not fault.replaces_answer):
            return self._service.handle(request)
        if fault.spoil is not None:
            return self._spoil(fault.spoil, self._service.handle(request))
        if fault.when != "before":
            self._service.handle(request)
        answer = self._fault_answer(request, fault)
        status, outcome = (answer.status, answer.code or "ok") if answer else (None, "dropped")
        if fault.when == "before":
            self._service.record_fault(request, status, outcome)
        else:
            self._service.ledger.amend_last(status=status, outcome=outcome)
        return answer

    @staticmethod
    def _deliver_later(seconds: float, deliver: Callable[[], Answer | None]) -> asyncio.Future[Answer | None]:
        """Deliver a request later, even if its client has stopped waiting by then."""
        loop = asyncio.get_running_loop()
        delivered: asyncio.Future[Answer | None] = loop.create_future()

        def effect() -> None:
            answer = deliver()
            if not delivered.done():
                delivered.set_result(answer)

        loop.call_later(seconds, effect)
        return delivered

    def _spoil(self, name: str, answer: Answer) -> Answer | None:
        # Errors stay as they are.
        if answer.code is not None:
            return answer
        if name in BELOW_HTTP:
            self._service.ledger.amend_last(status=None, outcome=name)
            return None
        self._service.ledger.amend_last(status=answer.status, outcome=name)
        return SPOILINGS[name](answer)

    def _fault_answer(self, request: Request, fault: Fault) -> Answer | None:
        """Return the answer that a fault gives instead of the service; None means that the connection breaks."""
        if fault.status is None:
            return None
        answer = self._service.gateway_error(request, fault.status, "a fault of the sandbox")
        if fault.retry_after is not None:
            answer.headers["Retry-After"] = str(fault.retry_after)
        return answer


def _named(answer: Answer, request: Request) -> Answer:
    answer.headers["X-Request-Id"] = request.id
    return answer
