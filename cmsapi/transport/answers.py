"""Read answers: the document, the error, the limits and the service's clock; without I/O.

Each rule names the section of the specification that it serves.
"""

from __future__ import annotations

import asyncio
import email.message
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from cmsapi import errors
from cmsapi.api.operations import Operation
from cmsapi.api.wire.jsontext import loads
from cmsapi.api.wire.mismatch import excerpt
from cmsapi.errors import APIError, DecodeError, ServerError, ValidationError
from cmsapi.message import Request, Response
from cmsapi.observability.redaction import masked, masked_text
from cmsapi.ratelimit.permits import Quota

_DAY = 86_400.0
# No timer runs for longer.
_CENTURY = 100 * 365 * _DAY
# A date from then on is no time that a clock shows.
_END_OF_TIME = datetime(2200, 1, 1, tzinfo=UTC).timestamp()
_LONGEST_DATE = 100
# Bytes of a body that an error may show.
_SHOWN = 100
# Characters of the service's message and code that an error repeats; its `response` has more.
_LONGEST_MESSAGE = 2_000
_LONGEST_CODE = 100
# Bytes of a body that an error keeps.
_KEPT = 64 * 1024
# Headers in which services and gateways name a request, the most telling first.
_REQUEST_ID_HEADERS = (
    "x-request-id",
    "request-id",
    "x-correlation-id",
    "x-amzn-requestid",
    "x-amz-request-id",
    "x-ms-request-id",
    "x-trace-id",
    "cf-ray",
)
_LONGEST_REQUEST_ID = 200
# Seconds further off than cutting, travelling and several machines explain: the service's clock was set.
CLOCK_JUMP = 5.0
_CUT = 1.0

# Specification 7. `code` is stable and machine-readable, and comes before the status.
_ERRORS: Sequence[tuple[int, str, type[APIError]]] = (
    (400, "bad_request", errors.BadRequestError),
    (401, "unauthorized", errors.UnauthorizedError),
    (403, "forbidden", errors.ForbiddenError),
    (404, "not_found", errors.NotFoundError),
    (409, "conflict", errors.ConflictError),
    (422, "validation_error", errors.ValidationError),
    (429, "rate_limited", errors.RateLimitedError),
    (500, "internal_error", errors.InternalServerError),
    (502, "bad_gateway", errors.BadGatewayError),
    (503, "service_unavailable", errors.ServiceUnavailableError),
)
_BY_CODE = {code: cls for _, code, cls in _ERRORS}
_BY_STATUS = {status: cls for status, _, cls in _ERRORS}

# Statuses that tell nothing about whether the route is right.
_NOT_OF_THE_ROUTE = frozenset({401, 403, 409, 429, 500, 502, 503})

# What the common servers say to plain HTTP at their TLS port.
_SPEAKS_TLS = re.compile(rb"plain HTTP|HTTP request to an HTTPS server")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def without_key(text: bytes, request: Request) -> bytes:
    """Mask the key of a request in a text that repeats it, as pages of proxies and debugging servers do."""
    return masked(text, _key(request).encode())


def text_without_key(text: str, request: Request) -> str:
    """Mask the key of a request in a text that repeats it."""
    return masked_text(text, _key(request))


def _key(request: Request) -> str:
    return request.headers.get("authorization", "").rpartition(" ")[2]


def read_document(
    response: Response, operation: Operation, request: Request, attempts: int = 1, *, or_text: bool = False
) -> Any:
    """Read the JSON of an answer to a request; an empty body reads as None, and so does that of a deletion.

    With `or_text`, a body that is not JSON and does not call itself so reads as a text.

    Raises:
        APIError: The answer is not a 2xx.
        DecodeError: The body is not JSON, or not as strict as JSON is.
    """
    if not 200 <= response.status < 300:
        raise error_from(response, operation, request, attempts=attempts)
    # A deletion succeeds with any body (specification 4.2, 4.3).
    if not response.body or operation.method == "DELETE":
        return None
    try:
        return loads(response.body)
    except DecodeError as error:
        if or_text and (text := _text_of(response)) is not None:
            return text
        error.operation, error.request_id = operation.name, read_request_id(response.headers.folded, request)
        safe = without_key(response.body, request)
        if safe != response.body:
            error.args, error.excerpt = ("Expected JSON",), excerpt(safe[:_SHOWN])
        raise


def _text_of(response: Response) -> str | None:
    """Return the body as a text, or None where its type is JSON or not told."""
    content = email.message.Message()
    content["content-type"] = said = response.headers.get("content-type", "")
    if not said or re.fullmatch(r"application/(.+\+)?json", content.get_content_type()):
        return None
    try:
        return response.body.decode(content.get_content_charset("utf-8"), "replace")
    except LookupError:
        return response.body.decode(errors="replace")


def read_quota(headers: Mapping[str, str]) -> Quota | None:
    """Read the three limit headers (specification 8, rule 2); None unless all are there and make sense."""
    try:
        limit = int(headers["x-ratelimit-limit"])
        remaining = int(headers["x-ratelimit-remaining"])
        reset = float(headers["x-ratelimit-reset"])
    except (KeyError, ValueError):
        return None
    if not (limit > 0 and 0 <= remaining <= limit and 0 <= reset <= _DAY):
        return None
    return Quota(limit, remaining, reset)


def read_retry_after(headers: Mapping[str, str]) -> float | None:
    """Read `Retry-After` in seconds (specification 8, rule 4), a century at most; None when it says no time.

    A date is compared with the `Date` of the same answer, or with this machine's clock.
    """
    said = headers.get("retry-after")
    if said is None:
        return None
    try:
        seconds = float(said)
    except ValueError:
        if (until := _posix(said)) is None:
            return None
        now = read_date(headers)
        seconds = max(0.0, until - (time.time() if now is None else now))
    return min(seconds, _CENTURY) if seconds >= 0 else None


def read_date(headers: Mapping[str, str]) -> float | None:
    """Read the service's clock from `Date`, as a POSIX timestamp, exact to a second; None when it says no sane time."""
    said = headers.get("date")
    return None if said is None else _posix(said)


def _posix(date: str) -> float | None:
    if len(date) > _LONGEST_DATE:
        return None
    try:
        moment = parsedate_to_datetime(date)
        # "-0000" is UTC as well.
        seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    return seconds if 0.0 <= seconds < _END_OF_TIME else None


def error_from(response: Response, operation: Operation, request: Request, *, attempts: int) -> APIError:
    """Make the error that an answer to a request stands for (specification 7)."""
    code, message = _error_body(response, request)
    cls = _BY_CODE.get(code or "") or _BY_STATUS.get(response.status)
    if cls is None:
        cls = ServerError if response.status >= 500 else APIError
    hint = None if response.status in _NOT_OF_THE_ROUTE else operation.hint
    if 300 <= response.status < 400:
        hint = "The interface has no redirects, and following one could show the key to another host: check base_url."
    elif response.status == 404:
        # It shows a wrong identifier, swapped arguments, and a base URL with a wrong path. A query holds no identifier.
        hint = operation.hint_of_absence if code == "not_found" else hint
        sent = f"The request was {request.method} {text_without_key(request.url.partition('?')[0], request)}"
        hint = f"{sent}\n{hint}" if hint else sent
    elif response.status == 400 and code is None and _SPEAKS_TLS.search(response.body[:_KEPT]):
        hint = "A TLS server answers there: base_url must begin with https://."
    details: dict[str, Any] = {
        "status": response.status,
        "code": code,
        "message": message,
        "operation": operation.name,
        "retry_after": read_retry_after(response.headers.folded),
        "attempts": attempts,
        "hint": hint,
        "response": _shown(response, request),
        "request_id": read_request_id(response.headers.folded, request),
    }
    if cls is ValidationError:
        return ValidationError(field=_named_field(message, request), **details)
    return cls(**details)


def _shown(response: Response, request: Request) -> Response:
    """Return an answer as an error shows it: without the key, and of a long body only the beginning."""
    headers = {name: text_without_key(value, request) for name, value in response.headers.items()}
    return Response(response.status, headers, without_key(response.body, request)[:_KEPT])


def read_request_id(headers: Mapping[str, str], request: Request) -> str | None:
    """Read what the service calls a request, None when no header of the answer tells."""
    for name in _REQUEST_ID_HEADERS:
        if (said := headers.get(name)) and said.isprintable():
            return text_without_key(said, request)[:_LONGEST_REQUEST_ID]
    return None


def _error_body(response: Response, request: Request) -> tuple[str | None, str]:
    try:
        match loads(without_key(response.body, request)):
            case {"error": {"code": str(code), **rest}}:
                message = rest.get("message")
                return code[:_LONGEST_CODE], _cut(message) if isinstance(message, str) else ""
    except DecodeError:
        pass
    # Never quoted: a proxy's error page may repeat the request, key included.
    kind = response.headers.get("content-type", "no content type").split(";")[0][:_SHOWN]
    return None, f"the body is not the service's error document ({len(response.body)} bytes, {kind})"


def _cut(message: str) -> str:
    """Cut a message that is too long to be read, and too long to be reworded for a shell or an assistant."""
    if len(message) <= _LONGEST_MESSAGE:
        return message
    return f"{message[:_LONGEST_MESSAGE]}… ({len(message):,} characters)"


def _named_field(message: str, request: Request) -> str | None:
    """Return the first word of a message that names a field of a request."""
    names = set(_field_names(loads(request.body))) if request.body else set()
    # A bracket after the name of a parameter says which values match, or that there are several.
    names |= {name.partition("[")[0] for name, _ in parse_qsl(urlsplit(request.url).query)}
    return next((word for word in _WORD.findall(message) if word in names), None)


def _field_names(body: Any) -> Iterator[str]:
    """Name the fields of a body, those of nested objects instead of the objects."""
    for name, value in body.items() if isinstance(body, dict) else ():
        if isinstance(value, dict):
            yield from _field_names(value)
        else:
            yield name


class ServerClock:
    """Learn the service's time.

    Comparisons with the service's timestamps must not use the clock of this machine, which may be wrong by hours.
    `Date` is cut to a second and takes its time to arrive, and not every machine of a service has the same time. So the
    clock is an interval.
    """

    __slots__ = ("_bounds", "_seen")

    def __init__(self) -> None:
        # By how many seconds it is ahead of the loop's, at least and at most, as far as all answers agree.
        self._bounds: tuple[float, float] | None = None
        self._seen: str | None = None

    def learn(self, headers: Mapping[str, str], sent_at: float) -> None:
        """Take the `Date` of an answer that has just arrived, to a request that left at a loop time."""
        said = headers.get("date")
        # Most answers repeat a second, and the first of each second is the exact one.
        if said == self._seen:
            return
        self._seen = said
        if (seconds := read_date(headers)) is None:
            return
        low, high = seconds - asyncio.get_running_loop().time(), seconds + _CUT - sent_at
        if self._bounds is not None:
            known_low, known_high = self._bounds
            if high >= known_low - CLOCK_JUMP and low <= known_high + CLOCK_JUMP:
                low, high = max(low, known_low), min(high, known_high)
        self._bounds = low, high

    def _ahead(self) -> tuple[float, float] | None:
        """Return by how many seconds the service's clock is ahead of the loop's, at least and at most."""
        if self._bounds is None:
            return None
        low, high = self._bounds
        # Answers that contradict each other come from machines whose clocks differ: the slowest and the fastest.
        return (low, high) if low <= high + _CUT else (high - _CUT, low + _CUT)

    def at(self, loop_time: float) -> datetime | None:
        """Return the earliest time that the service may have had at a moment of the loop; None before it is known."""
        ahead = self._ahead()
        return None if ahead is None else datetime.fromtimestamp(ahead[0] + loop_time, UTC)

    def latest_at(self, loop_time: float) -> datetime | None:
        """Return the latest time that the service may have had at a moment of the loop; None before it is known."""
        ahead = self._ahead()
        return None if ahead is None else datetime.fromtimestamp(ahead[1] + loop_time, UTC)

    def datetime_at(self, loop_time: float) -> datetime:
        """Return a moment of the loop on the service's clock, or on this machine's before that is known."""
        if (known := self.at(loop_time)) is not None:
            return known
        passed = loop_time - asyncio.get_running_loop().time()
        return datetime.fromtimestamp(datetime.now(UTC).timestamp() + passed, UTC)
