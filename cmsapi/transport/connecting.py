"""Say why there is no connection, and what to check."""

from __future__ import annotations

import socket
import ssl

_ADVICE = "Check base_url, the network and the proxy."


def no_connection(place: str, error: BaseException) -> str:
    """Say that there is no connection, and why.

    Args:
        place: Host and port of the service.
        error: What the network library raised.
    """
    inner = getattr(error, "certificate_error", None) or getattr(error, "os_error", None) or error
    name = type(error).__name__
    advice = _ADVICE
    if "Proxy" in name:
        place += " by way of the proxy"
    match inner:
        case ssl.SSLCertVerificationError():
            why = f"its certificate is not accepted: {inner.verify_message}"
            advice = "Check the host's name; the authority of a private certificate has to be in the TLS context."
        case ssl.SSLError() if inner.reason in _NOT_TLS:
            why = "what answers there does not speak TLS"
            advice = "Is it plain HTTP, at an address that begins with http://? Check base_url."
        case ssl.SSLError():
            why = f"TLS failed: {inner.reason or inner.strerror}"
        case _ if isinstance(inner, socket.gaierror) or "DNS" in name:
            why = "its name is not known (DNS)"
        case ConnectionRefusedError():
            why = "nothing is listening there"
        case TimeoutError():
            why = "it does not answer"
        case OSError(strerror=str(why)) if why:
            pass
        case _ if (status := getattr(inner, "status", 0)) and "Proxy" in name:
            why = f"the proxy answered {status}"
        case _:
            why = name
    return f"No connection to {place}: {why}. Nothing was sent, changed or charged. {advice}"


# Names that OpenSSL gives to bytes that are no TLS; they differ from version to version.
_NOT_TLS = {
    "WRONG_VERSION_NUMBER",
    "RECORD_LAYER_FAILURE",
    "PACKET_LENGTH_TOO_LONG",
    "HTTP_REQUEST",
    "UNKNOWN_PROTOCOL",
}
