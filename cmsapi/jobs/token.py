"""Name a job by text that outlives the process: without secrets, with a version and a checksum.

A token holds the kind, the identifier, the service and the launch time of a job. It gives no access: a client needs a
key to attach it.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
from datetime import UTC, datetime
from typing import Any

from cmsapi.api.wire.jsontext import dumps, loads
from cmsapi.api.wire.mismatch import excerpt
from cmsapi.errors import ArgumentError
from cmsapi.jobs.kinds.kind import JobHistory, JobKind, Kind
from cmsapi.jobs.kinds.registry import KINDS

PREFIX = "cmsjob1"
# A token with two identifiers of the greatest length, of four bytes a character, is shorter.
LONGEST = 128 * 1024
# Differences of times overflow near the first and the last year of a datetime.
_YEARS = (1970, 9998)


def write_token(kind: JobKind, target: str, history: JobHistory, base_url: str) -> str:
    """Write the token of a job of the service at a base URL."""
    document = {
        "kind": kind.value,
        "target": target,
        "job": history.job_id,
        "launched": history.launched_at.isoformat() if history.launched_at else None,
        "watched": history.watched,
        "at": base_url,
    }
    if history.before is not None:
        document["before"] = history.before
    payload = base64.urlsafe_b64encode(dumps(document)).rstrip(b"=").decode()
    return f"{PREFIX}.{payload}.{_check(payload)}"


def read_token(text: object, base_url: str) -> tuple[Kind, str, JobHistory]:
    """Read a token for a client of `base_url`: the kind of its job, its target, and what decides about its polls.

    Raises:
        ArgumentError: The text is not a token, was changed, or names a job of another service.
    """
    if not isinstance(text, str) or not text.isascii() or len(text) > LONGEST or text.count(".") != 2:
        raise _bad(
            "The text is not a job token; `job.token` gives one. `client.jobs.watch(kind, id)` finds a job without one."
        )
    prefix, payload, check = text.split(".")
    if prefix != PREFIX:
        raise _bad(f"The text is not a job token of this version ({PREFIX}).")
    if check != _check(payload):
        raise _bad("The job token was changed or cut on its way.")
    kind, target, history, at = _read(payload)
    if at != base_url:
        raise _bad(f"The job runs at {at}, but this client uses {base_url}.")
    return kind, target, history


def _read(payload: str) -> tuple[Kind, str, JobHistory, str]:
    document: Any = None
    # A text that is wrong in any other way names no job, either.
    with contextlib.suppress(ValueError, OverflowError):
        document = loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        match document:
            case {
                "kind": str(word),
                "target": str(target),
                "job": str() | None as job_id,
                "launched": str() | None as launched,
                "watched": bool(watched),
                "at": str(at),
            } if (kind := KINDS.get(word)) is not None:
                kind.check(target)
                launched_at = _moment(launched) if launched else None
                # Only tokens of jobs that replace another one have it.
                before = document.get("before")
                before = before if isinstance(before, str) else None
                history = JobHistory(launched_at=launched_at, watched=watched, job_id=job_id, before=before)
                return kind, target, history, at
    match document:
        case {"kind": str(word)} if word not in KINDS:
            raise _bad(f"The token names a job of a kind that this version of cmsapi does not know: {excerpt(word)}.")
    raise _bad("The job token cannot be read.")


def _moment(text: str) -> datetime:
    # Without an offset the time cannot be compared with times of the service.
    time = datetime.fromisoformat(text).astimezone(UTC)
    if not _YEARS[0] <= time.year <= _YEARS[1]:
        raise ValueError
    return time


def _check(payload: str) -> str:
    return hashlib.blake2b(payload.encode(), digest_size=6, person=b"cmsapi-token").hexdigest()


def _bad(message: str) -> ArgumentError:
    return ArgumentError(f"{message} Nothing was sent.", parameter="token")
