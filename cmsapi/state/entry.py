"""The entries of the journal of launches, and the leases under which they may be written.

A launch costs a credit and has no idempotency key, so it is written down before it is sent and deleted when it is
over. What is written never holds a key, a text or an instruction: identifiers, words and times, and of the settings
only a digest whose key lies in the state.

Each entry is held under a *lease*, by one attempt of one process to work on it. Every write shows the lease, so that a
process that was frozen finds out that another one has taken over.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from enum import StrEnum
from functools import partial
from typing import Any, TypeAlias

import attrs
from attrs.validators import instance_of, optional

from cmsapi.state.text import write_text

Fact: TypeAlias = str | int | float | bool | None

# A time of an entry lies between 1970 and 2200; no number of its facts is larger than that of milliseconds since then.
_LATEST = 7_258_118_400.0
_LARGEST_FACT = 1e14

# Bytes of all facts: enough for a baseline and evidence; a text of an article does not fit by accident.
_LARGEST_FACTS = 8192


def _time(_: object, attribute: attrs.Attribute[Any], value: object) -> None:
    """Refuse what is no time of a clock; NaN fails the comparison."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _LATEST:
        raise ValueError(f"{attribute.name} is no time")


def _facts(_: object, attribute: attrs.Attribute[Any], value: object) -> None:
    if not isinstance(value, Mapping):
        raise TypeError(f"{attribute.name} are no mapping")
    for fact in value.values():
        number = isinstance(fact, int | float)
        if not (fact is None or isinstance(fact, str) or (number and -_LARGEST_FACT <= fact <= _LARGEST_FACT)):
            raise ValueError(f"{attribute.name} hold texts, numbers and truths only")


class EntryStatus(StrEnum):
    """Name how far a launch is, or how its item ended: words of the journal, apart from those of the service."""

    #: It was not sent yet.
    INTENT = "intent"
    #: It may have been sent, and there is no answer yet.
    SENDING = "sending"
    #: Its job runs, as far as the journal knows.
    RUNNING = "running"
    #: Its article waits for a decision.
    REVIEW = "review"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    #: Another launch has taken the place of its job.
    SUPERSEDED = "superseded"
    #: The service does not show its job any more.
    VANISHED = "vanished"
    #: It could not be told how its job ended.
    UNDECIDED = "undecided"
    #: It may have been launched, and there is no job.
    UNKNOWN = "unknown"


@attrs.frozen
class Lease:
    """Name the right to work on an entry.

    Args:
        scope: Whose journal: a digest or name of base URL and organisation.
        key: Which entry.
        id: Which attempt to work on it; no two are the same.
    """

    scope: str
    key: str
    id: str = attrs.field(factory=partial(secrets.token_hex, 8))


@attrs.frozen(kw_only=True)
class Entry:
    """Describe a launch.

    Args:
        kind: Kind of job.
        target: What it works on.
        asked_at: When the launch was asked for, in seconds since 1970 on this machine's clock.
        status: How far it is: an `EntryStatus`, or the word of a newer version.
        served_at: When it was launched on the service's clock, or None before that is known.
        job_id: The service's identifier of the job, or None where there is none yet.
        batch: The batch that it belongs to, or None.
        item: Its item within the batch; None without a batch.
        settings: Digest of its settings, from `digest_of`, or None without settings.
        decision: What was decided about its article, or None.
        facts: What else decides later: what was so before the launch, and what was seen since.
        ended_at: When it ended, on this machine's clock; None as long as it is open.
    """

    kind: str = attrs.field(validator=instance_of(str))
    target: str = attrs.field(validator=instance_of(str))
    asked_at: float = attrs.field(validator=_time)
    status: str = attrs.field(default=EntryStatus.INTENT.value, validator=instance_of(str))
    served_at: float | None = attrs.field(default=None, validator=optional(_time))
    job_id: str | None = attrs.field(default=None, validator=optional(instance_of(str)))
    batch: str | None = attrs.field(default=None, validator=optional(instance_of(str)))
    item: str | None = attrs.field(default=None, validator=optional(instance_of(str)))
    settings: str | None = attrs.field(default=None, validator=optional(instance_of(str)))
    decision: str | None = attrs.field(default=None, validator=optional(instance_of(str)))
    facts: Mapping[str, Fact] = attrs.field(factory=dict, validator=_facts)
    ended_at: float | None = attrs.field(default=None, validator=optional(_time))

    @property
    def over(self) -> bool:
        """Whether it has ended: it is the outcome of an item, and no longer open."""
        return self.ended_at is not None

    def to_text(self) -> str:
        """Write the entry as text, without what it does not say.

        Raises:
            ValueError: A fact has no form in JSON, or they are too many.
        """
        said = {name: value for name, value in attrs.asdict(self).items() if value is not None and value != {}}
        if len(write_text(dict(self.facts)).encode()) > _LARGEST_FACTS:
            raise ValueError(f"the facts of an entry of the journal take at most {_LARGEST_FACTS:,} bytes")
        return write_text(said)


def digest_of(settings: Mapping[str, Any], salt: str) -> str:
    """Return a digest of a launch's settings, keyed by a salt: equal for equal settings, telling nothing about them."""
    return hashlib.blake2b(write_text(settings).encode(), digest_size=16, key=salt.encode()[:64]).hexdigest()
