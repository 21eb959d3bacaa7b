"""One exchange, whatever carries it: delay, fault or effect, delay. The transport and the socket share it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from cmsapi.sandbox import answers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cmsapi.sandbox.answers import Answer
    from cmsapi.sandbox.faults import Fault, Weather
    from cmsapi.sandbox.service import Service


class Exchange:
    """Carry requests to the service through the weather.

    Args:
        service: What answers.
        weather: What happens on the way.
    """

    def __init__(self, service: Service, weather: Weather) -> None:
        self._service = service
        self.weather = weather

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
        await asyncio.sleep(self.weather.delay())
        answer = self._arrive(method, path, query, headers, body)
        if delay := self.weather.delay():
            await asyncio.sleep(delay)
        return answer

    def _arrive(self, method: str, path: str, query: str, headers: Mapping[str, str], body: bytes) -> Answer | None:
        fault = self.weather.strike(method, path)
        if fault is None:
            return self._service.handle(method, path, query, headers, body)
        answer = self._broken(fault)
        status, outcome = (answer.status, answer.code or "ok") if answer else (None, "dropped")
        if fault.when == "before":
            self._service.record_fault(method, path, headers, status, outcome)
        else:
            self._service.handle(method, path, query, headers, body)
            self._service.ledger.amend_last(status=status, outcome=outcome)
        return answer

    def _broken(self, fault: Fault) -> Answer | None:
        if fault.status is None:
            return None
        headers = {"Date": self._service.date()}
        if fault.retry_after is not None:
            headers["Retry-After"] = str(fault.retry_after)
        return answers.error(fault.status, "a fault of the sandbox", headers)
