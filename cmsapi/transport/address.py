"""Checks of the service's address, the API key and added headers, before anything is sent."""

from __future__ import annotations

import os
from collections.abc import Mapping
from urllib.parse import urlsplit

from multidict import CIMultiDict

from cmsapi.errors import ConfigError

_OWN_HEADERS = frozenset({"authorization", "content-type", "content-length", "host", "transfer-encoding"})
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_TRUE = frozenset({"1", "true", "yes", "on"})


def check_api_key(value: str | None) -> str:
    """Return the API key: ``value``, or ``CMSAPI_API_KEY`` if ``value`` is None.

    Raises:
        ConfigError: The key is missing or malformed. The message does not contain the key.
    """
    key = os.environ.get("CMSAPI_API_KEY") if value is None else value
    if not key:
        raise ConfigError("no API key: pass Client(api_key=...) or set CMSAPI_API_KEY")
    if not isinstance(key, str) or not key.startswith("sk_"):
        raise ConfigError('api_key must be a str that begins with "sk_" (specification 5.2); nothing was sent')
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ConfigError("api_key has characters that no key has, such as spaces or line ends; nothing was sent")
    return key


def check_base_url(value: str | None, *, allow_http: bool) -> str:
    """Return the base URL without a trailing slash: ``value``, or ``CMSAPI_BASE_URL`` if ``value`` is None.

    Raises:
        ConfigError: The URL is missing or malformed, or would send the key unencrypted without ``allow_http``.
    """
    url = os.environ.get("CMSAPI_BASE_URL") if value is None else value
    if not url:
        raise ConfigError("no address: pass Client(base_url=...) or set CMSAPI_BASE_URL, e.g. https://api.example.com")
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except (ValueError, AttributeError, TypeError):
        raise ConfigError("base_url is not a URL; it looks like https://api.example.com") from None
    if parts.scheme not in ("http", "https") or not host or not url.isascii() or any(c.isspace() for c in url):
        raise ConfigError("base_url must be an http(s) URL such as https://api.example.com")
    if parts.username is not None or parts.query or parts.fragment:
        raise ConfigError("base_url must have no user, query or fragment")
    path = parts.path.rstrip("/")
    if path.endswith("/v1"):
        raise ConfigError("base_url ends before /v1: every path of the service already begins with it")
    allow_http = allow_http or os.environ.get("CMSAPI_ALLOW_HTTP", "").lower() in _TRUE
    if parts.scheme == "http" and host not in LOOPBACK and not allow_http:
        raise ConfigError("base_url would send the key unencrypted; use https, or pass Client(allow_http=True)")
    return f"{parts.scheme}://{parts.netloc}{path}"


def merge_headers(headers: Mapping[str, str], added: Mapping[str, str] | None) -> CIMultiDict[str]:
    """Return ``headers`` and ``added`` as one mapping; an added header replaces one of the same name, ignoring case.

    Raises:
        ConfigError: An added header is reserved for cmsapi, or its name or value cannot be sent.
    """
    merged = CIMultiDict(headers)  # aiohttp would convert any other mapping for each request
    for name, value in (added or {}).items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise ConfigError("headers must map names to text")
        if name.lower() in _OWN_HEADERS:
            raise ConfigError(f"headers must leave {name} to cmsapi")
        printable = value.isprintable() and name.isprintable() and name.isascii()
        if not printable or not name or any(c in name for c in " :"):
            raise ConfigError(f"headers: {name!r} or its value has characters that a header cannot carry")
        merged[name] = value
    return merged
