"""Certificates of servers that the tests start."""

from __future__ import annotations

import ssl
from pathlib import Path

import anyio


async def certificate(place: Path, name: str = "localhost") -> ssl.SSLContext:
    """Make a certificate of a host, and return the context of its server; `certificate.pem` is its authority."""
    words = f"req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN={name} -addext subjectAltName=DNS:{name}"
    await anyio.run_process(["openssl", *words.split(), "-keyout", "key.pem", "-out", "certificate.pem"], cwd=place)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(place / "certificate.pem", place / "key.pem")
    return context
