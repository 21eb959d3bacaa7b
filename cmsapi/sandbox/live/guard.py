"""The guard of the live page: only the page itself, in a browser on this machine, may read it and press its buttons.

The page needs no key, so the guard relies on the headers of the browser. A foreign site in the same browser can send
requests to this machine. If its own name resolves to this machine (DNS rebinding), it can even read the answers.
Such a site cannot hide its name, which is in `Host`, in `Origin` or in `Sec-Fetch-Site`.
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from cmsapi.sandbox.world.refusal import Refusal

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


def check_host(headers: Mapping[str, str]) -> None:
    """Check that a request may read the page.

    Raises:
        Refusal: 403: its `Host` is another machine's name.
    """
    try:
        host = urlsplit(f"//{headers.get('Host', '')}").hostname
    except ValueError:
        host = None
    if not is_loopback(host):
        raise Refusal(403, "Host: must be localhost or a loopback address")


def check_request(method: str, headers: Mapping[str, str]) -> None:
    """Check that a request may come from the page.

    Raises:
        Refusal: 403: it does not come from there.
    """
    check_host(headers)
    if headers.get("Origin", own := f"http://{headers['Host']}") != own:
        raise Refusal(403, "Origin: must be the page itself")
    if headers.get("Sec-Fetch-Site") not in _OWN_SITES:
        raise Refusal(403, "Sec-Fetch-Site: must be the page itself")
    # A form of a foreign site cannot send JSON, and a script there needs a preflight request, which fails.
    if method == "POST" and headers.get("Content-Type") != "application/json":
        raise Refusal(403, "Content-Type: must be application/json")
