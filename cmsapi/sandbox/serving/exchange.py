"""One exchange, whatever carries it: delay, fault or effect, delay. The transport and the socket share it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from cmsapi.sandbox.faults.spoiling import BELOW_HTTP, SPOILINGS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cmsapi.sandbox.faults.injector import FaultInjector
    from cmsapi.sandbox.faults.rules import Fault
    from cmsapi.sandbox.messages.answers import Answer
    from cmsapi.sandbox.service.service import Service


class Exchange:
    """Carry requests to the service through the weather.

    Args:
        service: What answers.
        injector: What happens on the way.
    """

    def __init__(self, service: Service, injector: FaultInjector) -> None:
        self._service = service
        self.injector = injector

    async def answer(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> Answer | None:
        """Return the answer, or None when the connection breaks instead.

        Args:
            method: HTTP method.
            target: Path and query, percent-encoded.
            headers: Request headers, looked up without regard to case.
            body: Whole body.
        """
        path, _, query = target.partition("?")
        # Without latency this still lets other tasks run, as every real request does.
        await asyncio.sleep(self.injector.draw_latency())
        at = self._service.world.clock.seconds()
        if step := self.injector.due_clock_step(at):
            self._service.world.clock.step(step)
        fault = self.injector.fault_for(method, path, at)

        def arrive() -> Answer | None:
            return self._arrive(fault, method, path, query, headers, body)

        if fault is None or fault.late is None:
            answer = arrive()
        else:
            later = self._later(fault.late, arrive)
            answer = self._broken(fault, path, headers) if fault.replaces_answer else await later
        if delay := self.injector.draw_latency() + (fault.slow or 0.0 if fault else 0.0):
            await asyncio.sleep(delay)
        return answer

    def unreadable(self, status: int, message: str) -> Answer:
        """Return the answer to what is no request: it has no key, counts nowhere and is in no ledger."""
        return self._service.gateway_error(status, message, "", {})

    def _later(self, seconds: float, arrive: Callable[[], Answer | None]) -> asyncio.Future[Answer | None]:
        """Let a request arrive later, whether or not its client still waits for the answer then."""
        loop = asyncio.get_running_loop()
        arrived: asyncio.Future[Answer | None] = loop.create_future()

        def effect() -> None:
            answer = arrive()
            if not arrived.done():
                arrived.set_result(answer)

        loop.call_later(seconds, effect)
        return arrived

    def _arrive(
        self, fault: Fault | None, method: str, path: str, query: str, headers: Mapping[str, str], body: bytes
    ) -> Answer | None:
        if fault is None or fault.slow is not None or (fault.late is not None and not fault.replaces_answer):
            return self._service.handle(method, path, query, headers, body)
        if fault.spoil is not None:
            return self._spoiled(fault.spoil, self._service.handle(method, path, query, headers, body))
        if fault.when != "before":
            self._service.handle(method, path, query, headers, body)
        answer = self._broken(fault, path, headers)
        status, outcome = (answer.status, answer.code or "ok") if answer else (None, "dropped")
        if fault.when == "before":
            self._service.record_fault(method, path, headers, status, outcome)
        else:
            self._service.ledger.amend_last(status=status, outcome=outcome)
        return answer

    def _spoiled(self, name: str, answer: Answer) -> Answer | None:
        # An error says the same in any words.
        if answer.code is not None:
            return answer
        if name in BELOW_HTTP:
            self._service.ledger.amend_last(status=None, outcome=name)
            return None
        self._service.ledger.amend_last(status=answer.status, outcome=name)
        return SPOILINGS[name](answer)

    def _broken(self, fault: Fault, path: str, headers: Mapping[str, str]) -> Answer | None:
        if fault.status is None:
            return None
        answer = self._service.gateway_error(fault.status, "a fault of the sandbox", path, headers)
        if fault.retry_after is not None:
            answer.headers["Retry-After"] = str(fault.retry_after)
        return answer
