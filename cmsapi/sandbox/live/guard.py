"""The guard of the live page: only the page itself, in a browser on this machine, may read it and press its buttons.

The page needs no key, so the guard relies on the headers of the browser. A foreign site in the same browser can send
requests to this machine. If its own name resolves to this machine (DNS rebinding), it can even read the answers.
Such a site cannot hide its name, which is in `Host`, in `Origin` or in `Sec-Fetch-Site`.
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping

_OWN_SITES = frozenset({None, "same-origin", "none"})


def is_loopback(host: str | None) -> bool:
    """Whether a host, without a port, is `localhost` or a loopback address, which needs no name resolution."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False


def host_refusal(headers: Mapping[str, str]) -> str | None:
    """Return the reason to hide the page from a request by its `Host`; None if the request may read it."""
    try:
        host = urlsplit(f"//{headers.get('Host', '')}").hostname
    except ValueError:
        host = None
    return None if is_loopback(host) else "Host: must be localhost or a loopback address"


def request_refusal(method: str, headers: Mapping[str, str]) -> str | None:
    """Return the reason to refuse a request that does not come from the page; None if it may come from there."""
    if refusal := host_refusal(headers):
        return refusal
    if headers.get("Origin", own := f"http://{headers['Host']}") != own:
        return "Origin: must be the page itself"
    if headers.get("Sec-Fetch-Site") not in _OWN_SITES:
        return "Sec-Fetch-Site: must be the page itself"
    # A form of a foreign site cannot send JSON, and a script there needs a preflight request, which fails.
    if method == "POST" and headers.get("Content-Type") != "application/json":
        return "Content-Type: must be application/json"
    return None
