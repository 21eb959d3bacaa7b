"""The service's records, in one table per kind. A table maps identifiers to records, in order of creation.

A record is a dictionary of JSON fields, the identifiers of its parents (such as ``workspaceId``), and internal fields.
The module `documents` selects the fields that clients see.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from random import Random
from typing import Any, Literal, TypeAlias

from attrs import field, frozen
from attrs.validators import in_

from cmsapi.sandbox.clock import Clock

Record: TypeAlias = dict[str, Any]

IDENTIFIER_BITS = 110  # 22 characters of 5 bits, so that with 01hx an identifier has the 26 characters of a ULID
MOST_SEARCHES = 20_000  # upper bound of a keyword's monthly searches
ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
PREFIXES: Mapping[str, str] = {
    "users": "usr",
    "organizations": "org",
    "workspaces": "wsp",
    "statuses": "sta",
    "folders": "fld",
    "contents": "cnt",
    "generations": "gen",
    "pages": "pag",
    "keywords": "kwd",
    "prompts": "prm",
    "voices": "voi",
    "knowledge": "kdc",
    "searches": "cis",
    "usages": "cus",
}
# Fields of a keyword or prompt before its first analysis.
NEVER_ANALYZED: Mapping[str, None] = {"analysisStatus": None, "lastAnalyzedAt": None}


def _choice(*values: Any) -> Any:
    return field(default=values[0], validator=in_(values))


@frozen(kw_only=True)
class Choices:
    """Behaviour of the service where the specification is silent. The first value of each entry is the default.

    Args:
        ideas_before_success: Response while the search has not succeeded: ``conflict`` (a 409) or an ``empty`` page.
        failed_analysis_timestamp: ``lastAnalyzedAt`` after a failed analysis: ``unchanged``, or ``new`` (the end time).
        keyword_items: Analysis fields of listed keywords: ``full`` (status and time), ``status`` only, or ``neither``.
        charged: When to charge: at ``launch``, at successful ``completion``, or at launch but ``refunded`` on failure.
        malformed_query: HTTP status if a query parameter has the wrong type or is out of range: 400 or 422.
        deletion: HTTP status of a successful deletion: 200, or 204 without a body.
    """

    ideas_before_success: Literal["conflict", "empty"] = _choice("conflict", "empty")
    failed_analysis_timestamp: Literal["unchanged", "new"] = _choice("unchanged", "new")
    keyword_items: Literal["full", "status", "neither"] = _choice("full", "status", "neither")
    charged: Literal["launch", "completion", "refunded"] = _choice("launch", "completion", "refunded")
    malformed_query: Literal[400, 422] = _choice(400, 422)
    deletion: Literal[200, 204] = _choice(200, 204)


class Store:
    """All records of one service, with its clock and choices; ``seed`` determines identifiers and made-up values."""

    def __init__(self, seed: int, clock: Clock, choices: Choices) -> None:
        self.clock = clock
        self.choices = choices
        self.tables: dict[str, dict[str, Record]] = {table: {} for table in PREFIXES}
        self.rng: Random = Random(f"{seed} records")  # noqa: S311 - made-up data

    def new_id(self, prefix: str) -> str:
        """Return a new identifier that begins with ``prefix``, such as ``usr_01hx…``."""
        bits = self.rng.getrandbits(IDENTIFIER_BITS)
        return f"{prefix}_01hx" + "".join(ALPHABET[bits >> shift & 31] for shift in range(0, IDENTIFIER_BITS, 5))

    def add(self, table: str, **fields: Any) -> Record:
        """Insert a record into ``table`` with a new identifier, and return it; ``createdAt`` defaults to now."""
        record: Record = {"id": self.new_id(PREFIXES[table]), **fields}
        record.setdefault("createdAt", self.clock.stamp())
        self.tables[table][record["id"]] = record
        return record

    def find(self, table: str, **fields: Any) -> Iterator[Record]:
        """Return an iterator over the records of ``table`` whose fields have the given values, newest first."""
        wanted = fields.items()
        return (record for record in reversed(self.tables[table].values()) if wanted <= record.items())

    def search_volume(self) -> int:
        """Return a made-up monthly search volume."""
        return self.rng.randrange(MOST_SEARCHES)
