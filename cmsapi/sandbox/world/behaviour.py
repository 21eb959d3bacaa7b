"""What the specification does not show, decided by name.

Each setting has the default that the project documents and the alternatives that a client should survive.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import attrs

_one_of = attrs.validators.in_


SPELLINGS = frozenset({"lower", "trimmed", "nfc", "cut"})


def _names(names: Iterable[str]) -> frozenset[str]:
    return frozenset(names)


def _clocks(offsets: float | Iterable[float]) -> tuple[float, ...]:
    return (float(offsets),) if isinstance(offsets, int | float) else tuple(offsets)


@attrs.frozen(kw_only=True)
class Behaviour:
    """Decide what the specification does not show.

    Args:
        refused_launch: Status when credits are exhausted, a job is already running, the keyword has no completed
            analysis, or a generation is decided outside `review`.
        ideas_before_success: What reading the ideas of an unfinished search gives: a 409 or an empty page.
        generation_running: Word of a generation that has begun; the specification shows none but `queued`.
        applied, discarded, generation_failed: Words of a generation after confirm, cancel and failure.
        failed_analysis_timestamp: Whether a failed analysis moves `lastAnalyzedAt`.
        keyword_items: Whether items of a keyword list carry `analysisStatus` and `lastAnalyzedAt`, only the status, or
            neither.
        charged: When analyses and generations cost their credit. A search costs it at launch always (section 4.6).
        refunded: Whether the credit of a failed job comes back.
        prompt_analysis_credits: Analysis credits that a prompt analysis costs.
        amounts: Sign of `amount` in a usage entry.
        order: Order of lists.
        count_client_errors: Whether 4xx answers count in the rate windows (401 never does).
        count_rejected: Whether 429 answers do.
        rate_headers: Whether every answer carries the rate headers, as section 8, rule 2, says, or only those of the
            service to a valid key: neither a 401 nor an answer that a fault gives instead. Paths without limits never
            carry them.
        malformed_query: Status for a query parameter out of its range or not of its type.
        unknown_reference: Status for an unknown `folderId`, `pageId`, `assignedToId` and the like in a body.
        foreign_workspace: Status for what lies in a workspace the user does not belong to (section 5, rules 6 and 7).
        recommendations: Shape of the recommendations in a report: a list, or an object by term.
        deletion: Answer to a deletion: 200 with `null`, or 204 without a body.
        admin_only: Names of the operations that a Member may not call.
        identifiers: Whether identifiers are letters and digits, or hold spaces, slashes, percent signs, question marks
            and letters beyond ASCII besides.
        subfolders: Where sub-folders of a deleted folder go: to the top level, or to its parent.
        date_ahead: Seconds by which the `Date` of answers is ahead of the clock that the sandbox keeps. Several numbers
            stand for several machines, which answer in turn.
        stamps_ahead: The same for `createdAt` of usages and `lastAnalyzedAt`. With several numbers, usages are listed
            by their stamps.
        usage_keyword: How a usage writes its keyword: any of `lower`, `trimmed`, `nfc` and `cut` (to 255 characters).
        usage_country: How a usage writes its country: as the keyword has it, or in lower case.
    """

    refused_launch: Literal[409, 422] = attrs.field(default=409, validator=_one_of((409, 422)))
    ideas_before_success: Literal["conflict", "empty"] = attrs.field(
        default="conflict", validator=_one_of(("conflict", "empty"))
    )
    generation_running: str = "queued"
    applied: str = "applied"
    discarded: str = "discarded"
    generation_failed: str = "failed"
    failed_analysis_timestamp: Literal["unchanged", "new"] = attrs.field(
        default="unchanged", validator=_one_of(("unchanged", "new"))
    )
    keyword_items: Literal["full", "status", "bare"] = attrs.field(
        default="full", validator=_one_of(("full", "status", "bare"))
    )
    charged: Literal["launch", "completion"] = attrs.field(
        default="launch", validator=_one_of(("launch", "completion"))
    )
    refunded: bool = False
    prompt_analysis_credits: int = attrs.field(default=1, validator=attrs.validators.ge(0))
    amounts: Literal["positive", "negative"] = attrs.field(
        default="positive", validator=_one_of(("positive", "negative"))
    )
    order: Literal["newest", "oldest"] = attrs.field(default="newest", validator=_one_of(("newest", "oldest")))
    count_client_errors: bool = True
    count_rejected: bool = False
    rate_headers: Literal["every", "valid_key"] = attrs.field(
        default="every", validator=_one_of(("every", "valid_key"))
    )
    malformed_query: Literal[400, 422] = attrs.field(default=400, validator=_one_of((400, 422)))
    unknown_reference: Literal[422, 404] = attrs.field(default=422, validator=_one_of((422, 404)))
    foreign_workspace: Literal[404, 403] = attrs.field(default=404, validator=_one_of((404, 403)))
    recommendations: Literal["list", "by_term"] = attrs.field(default="list", validator=_one_of(("list", "by_term")))
    deletion: Literal["null", "empty"] = attrs.field(default="null", validator=_one_of(("null", "empty")))
    admin_only: frozenset[str] = attrs.field(
        default=frozenset({"delete_page", "delete_folder", "list_users"}), converter=_names
    )
    identifiers: Literal["plain", "odd"] = attrs.field(default="plain", validator=_one_of(("plain", "odd")))
    subfolders: Literal["top_level", "parent"] = attrs.field(
        default="top_level", validator=_one_of(("top_level", "parent"))
    )
    date_ahead: tuple[float, ...] = attrs.field(
        default=(0.0,), converter=_clocks, validator=attrs.validators.min_len(1)
    )
    stamps_ahead: tuple[float, ...] = attrs.field(
        default=(0.0,), converter=_clocks, validator=attrs.validators.min_len(1)
    )
    usage_keyword: frozenset[str] = attrs.field(
        default=frozenset(), converter=_names, validator=attrs.validators.deep_iterable(_one_of(SPELLINGS))
    )
    usage_country: Literal["same", "lower"] = attrs.field(default="same", validator=_one_of(("same", "lower")))
