"""Generation of articles with AI, called Atomic Content (specification, sections 2.5, 3 and 4.4)."""

from __future__ import annotations

import attrs

from cmsapi.api.model import ASSUMED, Model, OpenEnum


class GenerationStatus(OpenEnum):
    """List the words of a generation's status.

    The specification states `queued` and `review` and calls the others "not shown"; `applied`, `discarded` and
    `failed` are assumed.
    """

    QUEUED = "queued"
    REVIEW = "review"
    APPLIED = "applied"
    DISCARDED = "discarded"
    FAILED = "failed"


@attrs.frozen(kw_only=True)
class Generation(Model):
    """Describe the current generation of a content.

    Args:
        id: Identifier, or None where the service shows none. A different one on the same content is a different
            generation.
        status: State.
        type: What was generated; stated only for the generation inside a content.
    """

    id: str | None = None
    status: GenerationStatus
    type: str | None = attrs.field(default=None, metadata=ASSUMED)


@attrs.frozen(kw_only=True)
class LastGeneration(Model):
    """Describe the last generation inside a content.

    Args:
        id: Identifier, or None where the service shows none.
        status: State.
        type: What was generated, for example a word that begins with `optimize`.
    """

    id: str | None = None
    status: GenerationStatus
    type: str


@attrs.frozen(kw_only=True)
class GenerationSettings(Model):
    """Describe how to generate an article; what is not set is not sent.

    Args:
        brand_voice_id: Brand voice to apply.
        custom_instructions: Further instructions; the maximum length is not shown.
        fact_checking_enabled: Whether to check facts.
        knowledge_base_enabled: Whether to use the knowledge documents.
        knowledge_files_enabled: Whether to use files among them.
        knowledge_web_search_enabled: Whether to search the web.
        knowledge_website_enabled: Whether to use the tracked website.
        extra: Unlisted settings by wire name; they are sent as they are.
    """

    brand_voice_id: str | None = None
    custom_instructions: str | None = None
    fact_checking_enabled: bool | None = None
    knowledge_base_enabled: bool | None = None
    knowledge_files_enabled: bool | None = None
    knowledge_web_search_enabled: bool | None = None
    knowledge_website_enabled: bool | None = None
