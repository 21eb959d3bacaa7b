"""Call other programs back when a fan-out ends: signed as Standard Webhooks describe it, and repeated until it arrives.

The service of cmsapi has no webhooks; these are sent by the web service itself.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import logging
import random
import time
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from answers import RefusedError

import cmsapi

logger = logging.getLogger(__name__)

# Seconds between two attempts: twice as many each time, from the first to the last number; given up after a day.
FIRST, LAST, GIVEN_UP = 1.0, 3600.0, 86_400.0
# A signature that is older may be a repetition by a stranger.
TOLERANCE = 300.0
LOCAL = (("http", "localhost"), ("http", "127.0.0.1"), ("http", "::1"))


class Callbacks:
    """Send signed callbacks to hosts that are allowed.

    Args:
        secret: What this service and the receivers know, as `whsec_` and base64.
        hosts: The hosts that may be called. A URL comes from a browser, and must not reach what only this machine can.
    """

    def __init__(self, secret: str, hosts: Collection[str]) -> None:
        self._secret = secret
        self._hosts = hosts

    def check(self, url: str | None) -> None:
        """Refuse a URL that may not be called."""
        if url is None:
            return
        parts = urlsplit(url)
        if parts.hostname not in self._hosts:
            raise RefusedError(422, f"callback: the host must be one of {sorted(self._hosts)}")
        if parts.scheme != "https" and (parts.scheme, parts.hostname) not in LOCAL:
            raise RefusedError(422, "callback: the URL must begin with https://")

    async def tell(self, url: str | None, status: cmsapi.BatchStatus) -> None:
        """Tell a URL, if there is one, that a fan-out is finished; a repetition has the same `webhook-id`."""
        if url is None:
            return
        message = {"type": "fan_out.finished", "timestamp": datetime.now(UTC).isoformat(), "data": status.to_dict()}
        if not await self.deliver(url, f"msg_{status.name}_{status.done_at:%Y%m%dT%H%M%S}", message):
            logger.error("The callback of %s is given up", status.name)

    async def deliver(self, url: str, message_id: str, message: Mapping[str, Any]) -> bool:
        """Send a message until the receiver has it; tell whether it has.

        The receiver may get it twice, with the same `webhook-id`.
        """
        body, began, pause = json.dumps(message).encode(), time.monotonic(), FIRST
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(10)) as session:
            while time.monotonic() - began < GIVEN_UP:
                headers = signed(self._secret, message_id, int(time.time()), body)
                try:
                    async with session.post(url, data=body, headers=headers, allow_redirects=False) as answer:
                        status = answer.status
                except (aiohttp.ClientError, TimeoutError) as error:
                    logger.warning("The callback to %s failed: %s", url, str(error) or type(error).__name__)
                else:
                    if 200 <= status < 300:
                        return True
                    logger.warning("The callback to %s was answered with %d", url, status)
                    if status == 410:  # gone: the receiver wants no more
                        return False
                await asyncio.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311  it spreads load and hides nothing
                pause = min(2 * pause, LAST)
        return False


def signed(secret: str, message_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """Return the headers of a message."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    digest = hmac.digest(key, f"{message_id}.{timestamp}.".encode() + body, hashlib.sha256)
    return {
        "Content-Type": "application/json",
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": f"v1,{base64.b64encode(digest).decode()}",
    }


def verified(secret: str, headers: Mapping[str, str], body: bytes) -> bool:
    """Tell whether a message is recent and signed with the secret; for the receiver."""
    try:
        timestamp = int(headers["webhook-timestamp"])
        expected = signed(secret, headers["webhook-id"], timestamp, body)["webhook-signature"]
    except (KeyError, ValueError):
        return False
    recent = abs(time.time() - timestamp) <= TOLERANCE
    given = headers.get("webhook-signature", "").split()
    return recent and any(hmac.compare_digest(expected, signature) for signature in given)
