"""Who may read the page and press its buttons: a browser on this machine that has the page itself open.

The page needs no key, so the browser's word is all there is. A foreign site that is open in the same browser can send
requests here, and with a name of its own that it lets point to this machine (DNS rebinding) even read the answers. What
such a site cannot do is leave away its own name: it is in `Host`, in `Origin`, or in `Sec-Fetch-Site`.
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping

_OWN_SITES = frozenset({None, "same-origin", "none"})


def is_loopback(host: str | None) -> bool:
    """Whether a host, without a port, is this machine by its very name: an address that needs no look-up."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False


def host_refusal(headers: Mapping[str, str]) -> str | None:
    """Return why whoever asks does not see the page, or None when nothing speaks against it."""
    try:
        host = urlsplit(f"//{headers.get('Host', '')}").hostname
    except ValueError:
        host = None
    return None if is_loopback(host) else "Host: only localhost or a loopback address has this page"


def request_refusal(method: str, headers: Mapping[str, str]) -> str | None:
    """Return why a request does not come from the page, or None when nothing speaks against it."""
    if refusal := host_refusal(headers):
        return refusal
    if headers.get("Origin", own := f"http://{headers['Host']}") != own:
        return "Origin: another site"
    if headers.get("Sec-Fetch-Site") not in _OWN_SITES:
        return "Sec-Fetch-Site: another site"
    # A form of a foreign site can send no JSON; a script there would have to ask first, and nobody answers.
    if method == "POST" and headers.get("Content-Type") != "application/json":
        return "Content-Type: only application/json"
    return None
