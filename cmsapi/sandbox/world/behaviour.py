"""Settings for behaviour that the specification leaves open.

Each setting has the default that the project documents, and alternatives that a client should survive.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args, get_origin

import attrs

SPELLINGS = frozenset({"lower", "trimmed", "nfc", "cut"})
ItemId = Literal["absent", "null", "number"]


def check_words(settings: Any) -> None:
    """Check that each setting whose type lists its values has one of them.

    Raises:
        ValueError: One has another value.
    """
    for field in attrs.fields(attrs.resolve_types(type(settings))):
        value, words = getattr(settings, field.name), get_args(field.type)
        if get_origin(field.type) is Literal and value not in words:
            raise ValueError(f"`{field.name}` must be one of {', '.join(map(repr, words))}, got {value!r}")


def _names(names: Iterable[str]) -> frozenset[str]:
    return frozenset(names)


def _clocks(offsets: float | Iterable[float]) -> tuple[float, ...]:
    return (float(offsets),) if isinstance(offsets, int | float) else tuple(offsets)


def _copied_words(words: Mapping[str, str | None]) -> Mapping[str, str | None]:
    return dict(words)


def _copied_ids(ids: Mapping[str, ItemId]) -> Mapping[str, ItemId]:
    return dict(ids)


@attrs.frozen(kw_only=True)
class Behaviour:
    """Choose the behaviour that the specification does not show.

    Args:
        refused_launch: Status when credits are exhausted, a job is already running, the keyword has no completed
            analysis, or a generation is decided outside `review`.
        ideas_before_success: Answer to a request for the ideas of an unfinished search: a 409 or an empty page.
        generation_running: Status word of a running generation; the specification shows only `queued`.
        applied, discarded, generation_failed: Status words of a generation after confirm, cancel and failure.
        failed_analysis_timestamp: Whether a failed analysis moves `lastAnalyzedAt`.
        keyword_items: Whether items of a keyword list have `analysisStatus` and `lastAnalyzedAt`, only the status, or
            neither.
        charged: When analyses and generations are charged. A search is always charged at its launch (section 4.6).
        refunded: Whether the credit of a failed job is refunded.
        prompt_analysis_credits: Analysis credits that a prompt analysis costs.
        amounts: Sign of `amount` in a usage entry.
        order: Order of lists.
        count_client_errors: Whether 4xx answers count against the rate limits (a 401 never does).
        count_rejected: Whether 429 answers count against the rate limits.
        rate_headers: Whether every answer has the rate headers, as section 8, rule 2, says, or only the service's own
            answers to a valid key. Then neither a 401 nor the answer of a fault has them. Paths without limits never
            have them.
        malformed_query: Status for a query parameter of the wrong type or out of its range.
        unknown_reference: Status for an unknown `folderId`, `pageId`, `assignedToId` and the like in a body.
        foreign_workspace: Status for resources of a workspace without the user (section 5, rules 6 and 7).
        recommendations: Shape of the recommendations in a report: a list, or an object by term.
        deletion: Answer to a deletion: 200 with `null`, or 204 without a body.
        admin_only: Names of the operations that a Member may not call.
        identifiers: Whether identifiers consist of letters and digits, or also contain spaces, slashes, percent signs,
            question marks and letters beyond ASCII.
        subfolders: New parent of the sub-folders of a deleted folder: the top level, or the folder's parent.
        date_ahead: Seconds by which the `Date` of answers is ahead of the sandbox's clock. Several numbers mean several
            machines, which answer in turn.
        stamps_ahead: The same for `createdAt` of usages and `lastAnalyzedAt`. With several numbers, usages are listed
            by their stamps.
        usage_keyword: Changes to the keyword of a usage: any of `lower`, `trimmed`, `nfc`, `cut` (to 255 characters).
        usage_country: Country code of a usage: the same as the keyword's, or in lower case.
        replica_lag: Seconds by which a replica is behind. It shows the generation of a content, the analysis of a
            keyword or prompt, a search with its ideas, and a knowledge document as they were that long ago; what was
            launched since then is a 404, or the work before it.
        replica_share: Share of the reads that the replica answers, drawn from the seed; with 1 all of them.
        ideas: Number of ideas that a search finds; None for 5 to 40, drawn from the seed.
        ideas_lag: Seconds from the success of a search to its complete list of ideas, which begins empty and grows.
            The search tells the complete number at once.
        ideas_cap: Number of ideas after which the list of a search ends, whatever the search tells; None for all.
        words: Other writings of status words, by the word: `{"success": "COMPLETED", "pending": " Running "}`.
            None shows null.
        item_ids: What items of a list have instead of their `id`, by operation: `{"list_content_ideas": "absent"}`.
            Also `null`, and `number` for a number.
        has_more: Whether pages have `hasMore`: a boolean, null, or not at all.
        total: Whether pages have `total`.
        endless_lists: Names of the operations whose lists never end: each page is full and `hasMore` is true. After the
            true items the list repeats them with other identifiers; `total` stays true.
    """

    refused_launch: Literal[409, 422] = 409
    ideas_before_success: Literal["conflict", "empty"] = "conflict"
    generation_running: str = "queued"
    applied: str = "applied"
    discarded: str = "discarded"
    generation_failed: str = "failed"
    failed_analysis_timestamp: Literal["unchanged", "new"] = "unchanged"
    keyword_items: Literal["full", "status", "bare"] = "full"
    charged: Literal["launch", "completion"] = "launch"
    refunded: bool = False
    prompt_analysis_credits: int = attrs.field(default=1, validator=attrs.validators.ge(0))
    amounts: Literal["positive", "negative"] = "positive"
    order: Literal["newest", "oldest"] = "newest"
    count_client_errors: bool = True
    count_rejected: bool = False
    rate_headers: Literal["every", "valid_key"] = "every"
    malformed_query: Literal[400, 422] = 400
    unknown_reference: Literal[422, 404] = 422
    foreign_workspace: Literal[404, 403] = 404
    recommendations: Literal["list", "by_term"] = "list"
    deletion: Literal["null", "empty"] = "null"
    admin_only: frozenset[str] = attrs.field(
        default=frozenset({"delete_page", "delete_folder", "list_users"}), converter=_names
    )
    identifiers: Literal["plain", "odd"] = "plain"
    subfolders: Literal["top_level", "parent"] = "top_level"
    date_ahead: tuple[float, ...] = attrs.field(
        default=(0.0,), converter=_clocks, validator=attrs.validators.min_len(1)
    )
    stamps_ahead: tuple[float, ...] = attrs.field(
        default=(0.0,), converter=_clocks, validator=attrs.validators.min_len(1)
    )
    usage_keyword: frozenset[str] = attrs.field(
        default=frozenset(),
        converter=_names,
        validator=attrs.validators.deep_iterable(attrs.validators.in_(SPELLINGS)),
    )
    usage_country: Literal["same", "lower"] = "same"
    replica_lag: float = attrs.field(default=0.0, validator=attrs.validators.ge(0))
    replica_share: float = attrs.field(
        default=1.0, validator=attrs.validators.and_(attrs.validators.ge(0), attrs.validators.le(1))
    )
    ideas: int | None = attrs.field(default=None, validator=attrs.validators.optional(attrs.validators.ge(0)))
    ideas_lag: float = attrs.field(default=0.0, validator=attrs.validators.ge(0))
    ideas_cap: int | None = attrs.field(default=None, validator=attrs.validators.optional(attrs.validators.ge(0)))
    words: Mapping[str, str | None] = attrs.field(factory=dict, converter=_copied_words)
    item_ids: Mapping[str, ItemId] = attrs.field(
        factory=dict,
        converter=_copied_ids,
        validator=attrs.validators.deep_mapping(
            attrs.validators.instance_of(str), attrs.validators.in_(get_args(ItemId))
        ),
    )
    has_more: Literal["told", "null", "absent"] = "told"
    total: Literal["told", "absent"] = "told"
    endless_lists: frozenset[str] = attrs.field(default=frozenset(), converter=_names)

    def __attrs_post_init__(self) -> None:
        """Check the words.

        Raises:
            ValueError: A setting has a value that its type does not list.
        """
        check_words(self)
