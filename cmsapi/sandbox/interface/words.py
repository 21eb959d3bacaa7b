"""The words that the specification lists. Other fields may have any word."""

from __future__ import annotations

from cmsapi.sandbox.interface.shapes import Schema
from cmsapi.sandbox.messages.answers import CODES
from cmsapi.sandbox.world.billing import TYPES


def _words(description: str, *words: str) -> Schema:
    return {"type": "string", "enum": list(words), "description": description}


WORDS: dict[str, Schema] = {
    "ErrorCode": _words("The stable word for an error (section 7).", *CODES.values()),
    "ContentType": _words("The type of a content (section 2.4).", "DRAFT", "PUBLISHED", "ORIGINAL"),
    "ContentIdeaSearchStatus": _words("The status of a search (section 2.6).", "pending", "success", "failed"),
    "CreditType": _words("The balance that a usage draws on (section 2.7).", *TYPES),
    "KnowledgeDocumentStatus": _words("The status of the processing (section 2.5b).", "pending", "success", "failed"),
    "KnowledgeDocumentType": _words("The source of a knowledge document (section 2.5b).", "text", "url", "file"),
    "Role": _words("The role in the organisation (section 4.8).", "Admin", "Member"),
}
