"""Build requests, read answers, map errors: the HTTP contract as plain functions, without I/O.

Each rule names the section of the specification that it serves.
"""

from __future__ import annotations

import platform
import re
import string
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from cmsapi import errors
from cmsapi.api.operations import UNLIMITED_PATHS, Operation
from cmsapi.api.wire.jsontext import dumps, loads
from cmsapi.api.wire.mismatch import excerpt
from cmsapi.config import Account
from cmsapi.errors import APIError, DecodeError, ServerError, ValidationError
from cmsapi.ratelimit.permits import Quota
from cmsapi.transport.message import Headers, Request, Response
from cmsapi.transport.urls import Query, query_string

# So much of a key tells which one it is.
_TRACE = 10
_DAY = 86_400.0
# A date from then on is no time that a clock shows.
_END_OF_TIME = datetime(2200, 1, 1, tzinfo=UTC).timestamp()
_LONGEST_DATE = 100
# Bytes of a body that an error may show.
_SHOWN = 100

# Specification 7: `code` is stable and machine-readable, and comes before the status.
_BY_CODE: Mapping[str, type[APIError]] = {
    "bad_request": errors.BadRequestError,
    "unauthorized": errors.UnauthorizedError,
    "forbidden": errors.ForbiddenError,
    "not_found": errors.NotFoundError,
    "conflict": errors.ConflictError,
    "validation_error": errors.ValidationError,
    "rate_limited": errors.RateLimitedError,
    "internal_error": errors.InternalServerError,
    "bad_gateway": errors.BadGatewayError,
    "service_unavailable": errors.ServiceUnavailableError,
}
_BY_STATUS: Mapping[int, type[APIError]] = {
    400: errors.BadRequestError,
    401: errors.UnauthorizedError,
    403: errors.ForbiddenError,
    404: errors.NotFoundError,
    409: errors.ConflictError,
    422: errors.ValidationError,
    429: errors.RateLimitedError,
    500: errors.InternalServerError,
    502: errors.BadGatewayError,
    503: errors.ServiceUnavailableError,
}

# Statuses that tell nothing about whether the route is right.
_NOT_OF_THE_ROUTE = frozenset({401, 403, 429, 500, 502, 503})

_WORDY = b"_-" + (string.ascii_letters + string.digits).encode()
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


# Requests


class RequestBuilder:
    """Build requests of one account.

    Args:
        account: Key and base URL.
        version: Version of the SDK, for the `User-Agent`.
    """

    def __init__(self, account: Account, version: str) -> None:
        self._base_url = account.base_url
        self._key = account.api_key.encode()
        # Specification 5, rule 1, and 1, general convention 1.
        common = {
            "Accept": "application/json",
            "User-Agent": f"cmsapi/{version} Python/{platform.python_version()}",
        }
        key = {"Authorization": f"Bearer {account.api_key}"}
        with_body = {**common, "Content-Type": "application/json"}
        # Of requests without a body, and with one.
        self._headers = Headers({**key, **common}), Headers({**key, **with_body})
        self._headers_without_key = Headers(common), Headers(with_body)

    def conceal(self, excerpt: str) -> str:
        """Return the excerpt of an answer without the key, or parts of it, that it may repeat."""
        return masked(excerpt.encode(errors="replace"), self._key).decode()

    def build(
        self,
        method: str,
        path: str,
        query: Query | None = None,
        body: Any = None,
    ) -> Request:
        """Build a request; a body of None sends none. A path that needs no key gets none."""
        url = self._base_url + path
        if query is not None and (encoded := query_string(query)):
            url = f"{url}?{encoded}"
        plain, with_body = self._headers_without_key if path in UNLIMITED_PATHS else self._headers
        if body is None:
            return Request(method, url, plain)
        return Request(method, url, with_body, dumps(body))


# Answers


def without_key(response: Response, request: Request) -> Response:
    """Mask the key in an answer that repeats its request, as pages of proxies and debugging servers do."""
    key = request.headers.get("authorization", "").rpartition(" ")[2].encode()
    body = masked(response.body, key)
    return response if body == response.body else Response(response.status, response.headers, body)


def masked(text: bytes, key: bytes) -> bytes:
    """Mask a key in a text, also one that was cut short at either end."""
    begins, ends = key[:_TRACE], key[-_TRACE:]
    if not key or (begins not in text and ends not in text):
        return text
    parts: list[bytes] = []
    done = 0
    for found in re.finditer(rb"(%s[\w-]*)|%s" % (re.escape(begins), re.escape(ends)), text):
        before = text[done : found.start()]
        # Not by a pattern that begins with any number of letters: on a long word that takes the square of its length.
        parts += (before if found[1] else before.rstrip(_WORDY), b"sk_***")
        done = found.end()
    return b"".join((*parts, text[done:]))


def read_document(response: Response, operation: str, request: Request) -> Any:
    """Read the JSON of a 2xx answer to a request; an empty body reads as None.

    Raises:
        DecodeError: The body is not JSON, or not as strict as JSON is.
    """
    if not response.body:
        return None
    try:
        return loads(response.body)
    except DecodeError as error:
        error.operation = operation
        safe = without_key(response, request)
        if safe is not response:
            error.args, error.excerpt = ("Expected JSON",), excerpt(safe.body[:_SHOWN])
        raise


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
    """Read `Retry-After` in seconds (specification 8, rule 4), at most a day; None when it is missing or says no time.

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
    return min(seconds, _DAY) if seconds >= 0 else None


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


def error_from(response: Response, operation: Operation, *, attempts: int, sent: Iterable[str] = ()) -> APIError:
    """Make the error that an answer stands for (specification 7).

    Args:
        response: The answer.
        operation: What was called.
        attempts: Requests spent on the call.
        sent: Names that the request carried, among which a validation message is searched for its field.
    """
    code, message = _error_body(response)
    cls = _BY_CODE.get(code or "") or _BY_STATUS.get(response.status)
    if cls is None:
        cls = ServerError if response.status >= 500 else APIError
    hint = None if response.status in _NOT_OF_THE_ROUTE else operation.hint
    if 300 <= response.status < 400:
        hint = "The interface has no redirects, and following one could show the key to another host: check base_url."
    details: dict[str, Any] = {
        "status": response.status,
        "code": code,
        "message": message,
        "operation": operation.name,
        "retry_after": read_retry_after(response.headers),
        "attempts": attempts,
        "hint": hint,
    }
    if cls is ValidationError:
        return ValidationError(field=_named_field(message, sent), **details)
    return cls(**details)


def _error_body(response: Response) -> tuple[str | None, str]:
    try:
        match loads(response.body):
            case {"error": {"code": str(code), **rest}}:
                message = rest.get("message")
                return code, message if isinstance(message, str) else ""
    except DecodeError:
        pass
    # Never quoted: a proxy's error page may repeat the request, key included.
    kind = response.headers.get("content-type", "no content type").split(";")[0][:_SHOWN]
    return None, f"the body is not the service's error document ({len(response.body)} bytes, {kind})"


def _named_field(message: str, sent: Iterable[str]) -> str | None:
    names = set(sent)
    return next((word for word in _WORD.findall(message) if word in names), None)
