"""Build requests, in which no value leads to another resource or host than the caller means."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias
from urllib.parse import quote, unquote, urlencode

from cmsapi.api.arguments import text as check_text, wrong
from cmsapi.api.operations import UNLIMITED_PATHS
from cmsapi.api.wire.jsontext import dumps
from cmsapi.api.wire.mismatch import excerpt
from cmsapi.api.wire.shape import python_name
from cmsapi.config import Account
from cmsapi.message import Headers, Request

#: Characters of an identifier at the most: a launch is recorded with several of them.
LONGEST_ID = 1000
# No service reads a longer line of a request.
_LONGEST_PATH = 8192

# Characters that a written path must not hold, unless they are percent-encoded.
_UNWRITTEN = re.compile(r"[\x00-\x20\x7f-\x9f\\?#\ud800-\udfff]|%(?![0-9A-Fa-f]{2})")
# What identifiers look like as a rule: nothing to refuse and nothing to encode.
_PLAIN = re.compile(rf"[A-Za-z0-9_-]{{1,{LONGEST_ID}}}")

Query: TypeAlias = Mapping[str, Any] | Sequence[tuple[str, Any]]


class RequestBuilder:
    """Build requests of one account.

    Args:
        account: The account.
        version: The version of the SDK, for the `User-Agent`.
        headers: Headers that the program adds to each request, with names in lower case.
    """

    def __init__(self, account: Account, version: str, headers: Mapping[str, str] = {}) -> None:
        self._base_url = account.base_url
        self.headers: Mapping[str, str] = headers
        # Specification 5, rule 1, and 1, general convention 1.
        common = {
            "accept": "application/json",
            "user-agent": f"cmsapi/{version} Python/{platform.python_version()}",
            **headers,
        }
        key = {"authorization": f"Bearer {account.api_key}"}
        with_body = {**common, "content-type": "application/json"}
        # Of requests without a body, and with one.
        self._headers = Headers({**key, **common}), Headers({**key, **with_body})
        self._headers_without_key = Headers(common), Headers(with_body)

    def build(self, method: str, path: str, query: Query | None = None, body: Any = None) -> Request:
        """Build a request; a body of None sends none. A path that needs no key gets none."""
        url = self._base_url + path
        if query is not None and (encoded := query_string(query)):
            url = f"{url}?{encoded}"
        plain, with_body = self._headers_without_key if path in UNLIMITED_PATHS else self._headers
        if body is None:
            return Request(method, url, plain)
        try:
            return Request(method, url, with_body, dumps(body))
        except ValueError as error:
            raise wrong("json", "be a JSON document", error) from error


def expand(template: str, values: Mapping[str, Any]) -> str:
    """Fill a path template; identifiers are percent-encoded, so that each stays one segment.

    Raises:
        ArgumentError: A value is no text, is empty, or is a dot segment, which means another path however it is
            encoded.
    """
    path = template
    for name, value in values.items():
        segment = value
        if not isinstance(value, str) or not _PLAIN.fullmatch(value):
            parameter = python_name(name)
            identifier = check_text(parameter, value, 1, LONGEST_ID)
            if identifier in (".", ".."):
                raise wrong(parameter, "be an identifier", f"the dot segment {identifier!r}")
            segment = quote(identifier, safe="")
        path = path.replace(f"{{{name}}}", segment)
    return path


def check_path(path: str) -> str:
    """Check the path of a free request: it must stay at the service, because the key travels with it.

    The caller percent-encodes what an identifier in it holds besides letters and digits.

    Raises:
        ArgumentError: It is a URL, names a host, or would mean another path once it is normalised.
    """
    segments = path.split("/")[1:] if isinstance(path, str) and path.startswith("/") else []
    if not segments:
        hint = " A whole URL is refused, because the key would go to its host."
        raise wrong("path", "begin with one slash, as in '/v1/me'", excerpt(path), hint)
    if len(path) > _LONGEST_PATH or _UNWRITTEN.search(path):
        raise wrong(
            "path",
            f"have at most {_LONGEST_PATH} characters, and no white space, backslash, query or percent sign that "
            "encodes nothing",
            excerpt(path),
            " Give a query as `params`, and encode an identifier with urllib.parse.quote(id, safe='').",
        )
    try:
        texts = [unquote(segment, errors="strict") for segment in segments]
    except UnicodeDecodeError:
        raise wrong("path", "be percent-encoded UTF-8", excerpt(path)) from None
    if any(text in ("", ".", "..") for text in texts):
        raise wrong("path", "have no empty and no dot segments, encoded or not", excerpt(path))
    return "".join(f"/{quote(text, safe='')}" for text in texts)


def query_string(values: Query) -> str:
    """Encode query parameters; None is left out, a list becomes `name[]` once per value.

    Raises:
        ArgumentError: It is neither a mapping nor a list of pairs, or a name or a value has no form in a query.
    """
    pairs: list[tuple[str, str]] = []
    for name, value in values.items() if isinstance(values, Mapping) else _pairs(values):
        if not isinstance(name, str):
            raise wrong("params", "have strings as names", excerpt(name))
        check_text("params", name, 0)
        if isinstance(value, list | tuple):
            pairs.extend((f"{name}[]", _query_value(name, item)) for item in value)
        elif value is not None:
            pairs.append((name, _query_value(name, value)))
    return urlencode(pairs, quote_via=quote)


def _pairs(values: object) -> Iterable[tuple[object, object]]:
    if not isinstance(values, list | tuple) or not all(isinstance(each, tuple) and len(each) == 2 for each in values):
        raise wrong("params", "be a mapping, or a list of (name, value) tuples", excerpt(values))
    return values


def _query_value(name: str, value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return check_text(name, value, 0)
    try:
        if isinstance(value, int | float):
            return str(value)
    except ValueError:  # more digits than Python writes
        pass
    raise wrong(name, "be a string, a number, a truth value or a list of these", excerpt(value))
