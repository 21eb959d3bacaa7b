"""Tokens of jobs that a stranger made."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

from cmsapi.sandbox import Sandbox


def forged(sandbox: Sandbox, **changes: Any) -> str:
    """Make a token with a right checksum, which the source tells how to compute."""
    document = {
        "kind": "keyword_analysis",
        "target": sandbox.keyword_ids[0],
        "job": None,
        "launched": None,
        "watched": False,
        "at": sandbox.base_url,
        **changes,
    }
    return sealed(json.dumps(document).encode())


def sealed(body: bytes) -> str:
    """Make a token of any bytes."""
    payload = base64.urlsafe_b64encode(body).rstrip(b"=").decode()
    check = hashlib.blake2b(payload.encode(), digest_size=6, person=b"cmsapi-token").hexdigest()
    return f"cmsjob1.{payload}.{check}"
