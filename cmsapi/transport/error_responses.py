"""Exceptions for error responses (specification 7).

If the body has an ``error.code`` that the specification lists, this code determines the exception. Otherwise, the HTTP
status determines it. The service's message does not matter, because its wording may change.
"""

from __future__ import annotations

import json
from typing import Any

from cmsapi.config import HOUR
from cmsapi.errors import BY_CODE, BY_STATUS, APIError, ServerError
from cmsapi.messages import Request, Response
from cmsapi.wire.operations import Operation

_SHOWN = 2000  # bytes of a body that an error keeps

_ADVICE = {
    401: "Check the key: it may be mistyped or revoked.",
    403: "The key has the permissions of the user who created it.",
    404: "It does not exist, or is not visible to this key.",
    409: "Read the resource again, apply the change to it, and repeat the request.",
    429: "The key's limit per hour or per second is used up, here or by other programs.",
}


def error_of(response: Response, request: Request, operation: Operation | None) -> APIError:
    """Return the exception for a response with a status of 300 or more. An API key in the response is masked."""
    key = request.headers["Authorization"].removeprefix("Bearer ")
    headers = {name: value.replace(key, "sk_***") for name, value in response.headers.items()}
    response = Response(response.status, headers, response.body.replace(key.encode(), b"sk_***"))
    code, message = _specified(response)
    path = request.url.split("?", 1)[0].split("/", 3)[-1]
    text = f"{response.status} {code or 'without an error code'}: {request.method} /{path}"
    if message:
        text += f" says {message!r}"
    if response.status < 400:
        text += ". The service has no redirects, and cmsapi follows none: check base_url"
    advice = "It may have been carried out nevertheless." if response.status >= 500 and request.method != "GET" else ""
    for addition in (_ADVICE.get(response.status, advice), operation.caveat if operation else ""):
        text += f". {addition}".rstrip(".") if addition else ""
    if request_id := response.request_id:
        text += f" (request {request_id})"
    default = ServerError if response.status >= 500 else APIError
    kind = BY_CODE.get(code or "") or BY_STATUS.get(response.status, default)
    return kind(
        text,
        status=response.status,
        code=code,
        message=message,
        retry_after=retry_after(response),
        operation=request.operation,
        headers=response.headers,
        body=response.body[:_SHOWN].decode(errors="replace"),
    )


def retry_after(response: Response) -> float | None:
    """Return the seconds in the ``Retry-After`` header, at most an hour; None if it is missing or not a number."""
    try:
        value = float(response.headers.get("retry-after", ""))
    except ValueError:
        return None
    return min(value, HOUR) if value >= 0 else None  # a larger number can only be a point in time


def _specified(response: Response) -> tuple[str | None, str]:
    """Return the code and message of an error response; None and an empty text if it is not in the service's format."""
    try:
        error: Any = json.loads(response.body)["error"]
        code, message = error["code"], error.get("message")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None, ""
    return (code, message if isinstance(message, str) else "") if isinstance(code, str) and code else (None, "")
