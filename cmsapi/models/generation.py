"""Generations of articles, which the service calls Atomic Content (specification 2.5, 4.4)."""

from __future__ import annotations

import reprlib

from attrs import field, frozen

from cmsapi.models.base import Model


@frozen(kw_only=True, slots=False)
class Generation(Model):
    """A generation of an article.

    Attributes:
        status: ``queued`` after the launch, ``review`` when the article waits for a decision; others are not listed.
        type: Kind of generation; only inside a content.
    """

    id: str | None = None
    status: str | None = None
    type: str | None = None


@frozen(kw_only=True, slots=False)
class GenerationSettings(Model):
    """Settings of a generation (specification 4.4). What is None is left to the service."""

    brand_voice_id: str | None = None
    custom_instructions: str | None = field(default=None, repr=reprlib.repr)
    fact_checking_enabled: bool | None = None
    knowledge_base_enabled: bool | None = None
    knowledge_files_enabled: bool | None = None
    knowledge_web_search_enabled: bool | None = None
    knowledge_website_enabled: bool | None = None
