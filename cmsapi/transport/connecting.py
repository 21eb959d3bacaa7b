"""Explain why there is no connection, and what to do; the errors of a network library tell it in many ways."""

from __future__ import annotations

import errno
import socket
import ssl
from typing import TypeAlias
from urllib.parse import urlsplit

_Reason: TypeAlias = tuple[str, str]

# Names that OpenSSL gives to bytes that are no TLS; they differ from version to version.
_NOT_TLS = {
    "WRONG_VERSION_NUMBER",
    "RECORD_LAYER_FAILURE",
    "PACKET_LENGTH_TOO_LONG",
    "HTTP_REQUEST",
    "UNKNOWN_PROTOCOL",
}
# What OpenSSL says of a certificate: it is not valid at this time, or not for this host.
_OUT_OF_TIME, _OTHER_HOST = (9, 10), (62, 64)
_PROXY_ANSWERS = {
    403: "It does not allow this host: ask its operators.",
    407: "It asks for credentials: proxy='http://user:password@host:port'.",
}
# How aioresponses, which tests use, refuses a request for which no answer was added.
_UNMATCHED = "Connection refused: "
# aiohttp's own class hides which of Python's it was.
_CLOSED = (errno.ECONNRESET, errno.EPIPE)
_ERRNO: dict[int | None, _Reason] = {
    **dict.fromkeys(
        (errno.ENETUNREACH, errno.EHOSTUNREACH),
        ("there is no route to it", "Check the network of this machine, and its VPN."),
    ),
    **dict.fromkeys(
        (errno.EMFILE, errno.ENFILE),
        ("this machine has no file descriptor left", "Share one client, or raise the limit of open files."),
    ),
}


def no_connection(url: str, error: BaseException, *, by_proxy: bool) -> str:
    """Explain why there is no connection for a request, what that means, and what to do.

    Args:
        url: The URL of the request.
        error: What the network library raised.
        by_proxy: Whether the client has a proxy.
    """
    target = urlsplit(url)
    host = getattr(error, "host", None)
    at_proxy = "Proxy" in type(error).__name__ or (host is not None and host != target.hostname)
    setting = "proxy" if at_proxy else "base_url"
    why, advice = _proxy_answer(error) or _reason(error, setting, target.scheme)
    place = target.netloc + (" by way of the proxy" if at_proxy or by_proxy else "")
    return f"No connection to {place}: {why}. Nothing was sent, changed or charged. {advice}"


def no_answer(url: str, error: BaseException, *, answered: bool) -> str:
    """Describe that a request was sent and got no whole answer, and whether that server may speak TLS.

    Args:
        url: The URL of the request.
        error: What the network library raised.
        answered: Whether an earlier request had an answer, so that plain HTTP is not the reason.
    """
    name = type(error).__name__
    # A TLS server hangs up on plain HTTP, or sends an alert, of which aiohttp quotes the bytes.
    hung_up = isinstance(error, ConnectionError) or name in ("ServerDisconnectedError", "ClientOSError")
    if not answered and url.startswith("http:") and (hung_up or r"\x15\x03" in getattr(error, "message", "")):
        return (
            f"The request was sent, but no whole answer came back ({name}). If that server speaks TLS, base_url must "
            "begin with https://."
        )
    return f"The request was sent, but no whole answer came back ({name})."


def _proxy_answer(error: BaseException) -> _Reason | None:
    status = getattr(error, "status", 0)
    if not status:
        return None
    # aiohttp calls it a 400 when the proxy answered with what is no HTTP.
    if "Proxy" not in type(error).__name__:
        return "the proxy does not speak HTTP", "Check the address of the proxy."
    return f"the proxy answered {status}", _PROXY_ANSWERS.get(status, "Check whether the proxy reaches the service.")


def _reason(error: BaseException, setting: str, scheme: str) -> _Reason:
    inner = getattr(error, "certificate_error", None) or getattr(error, "os_error", None) or error
    if isinstance(inner, ssl.SSLError):
        return _tls_reason(inner, setting)
    if isinstance(inner, socket.gaierror) or "DNS" in type(error).__name__:
        return "its name is not known (DNS)", f"Check the host in {setting}, and the resolver of this machine."
    if isinstance(inner, ConnectionRefusedError):
        return "nothing is listening there", f"Check the port in {setting}, and whether a server runs there."
    if isinstance(inner, TimeoutError):
        silent = " A server that speaks plain HTTP does not answer TLS either." if scheme == "https" else ""
        advice = f"Check {setting}, firewalls and the network; `Timeouts(connect=)` is how long to wait.{silent}"
        return "it does not answer", advice
    if type(inner).__name__ == "ClientConnectionError" and str(inner).startswith(_UNMATCHED):
        advice = "Compare method, path and query with those of the mocks; without repeat=True a mock answers once."
        return f"{str(inner).removeprefix(_UNMATCHED)} may match no mock of aioresponses", advice
    number, text = getattr(inner, "errno", None), getattr(inner, "strerror", None)
    if isinstance(inner, ConnectionError) or number in _CLOSED or "Disconnected" in type(error).__name__:
        asks = " and which TLS versions and client certificates it asks for" if scheme == "https" else ""
        return "it closed the connection", f"Check what runs there{asks}."
    return _ERRNO.get(number) or (text or type(error).__name__, f"Check {setting} and the network.")


def _tls_reason(error: ssl.SSLError, setting: str) -> _Reason:
    if isinstance(error, ssl.SSLCertVerificationError):
        if error.verify_code in _OUT_OF_TIME:
            advice = "Check the clock of this machine; the service has to renew an expired certificate."
        elif error.verify_code in _OTHER_HOST:
            advice = f"Check the host in {setting}: the certificate is for another one."
        else:
            advice = "Load a private authority into a TLS context, and pass it as `ssl`."
        return f"its certificate is not accepted: {error.verify_message.rstrip('.')}", advice
    if error.reason in _NOT_TLS:
        advice = f"Is it plain HTTP, at an address that begins with http://? Check {setting}."
        return "what answers there does not speak TLS", advice
    advice = "Check which TLS versions and client certificates it asks for; `ssl` takes a context."
    return f"TLS failed: {error.reason or error.strerror or type(error).__name__}", advice
