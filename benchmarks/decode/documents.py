"""The two answers that are read: a content in full, and a page of a hundred credit usages."""

from __future__ import annotations

import json
from typing import Any

_BODY = (
    "<h1>Running shoes for beginners</h1><p>Most people start with running shoes, and most of them start too late. "
    "A year on the road teaches what no brochure does: the price of a shoe says less than its maker would like.</p>"
    "<h2>Fit</h2><p>Leave a thumb's width in front of the longest toe, and try both feet.</p>"
)

CONTENT: dict[str, Any] = {
    "id": "ct_8f14e45fceea167a",
    "title": "Running shoes for beginners",
    "type": "DRAFT",
    "contentScore": 71,
    "wordsCount": 64,
    "createdAt": "2026-03-02T08:15:30.000Z",
    "updatedAt": "2026-03-09T17:45:01.250Z",
    "contentUpdatedAt": "2026-03-09T17:45:01.250Z",
    "publishedAt": None,
    "dueDate": "2026-04-01T00:00:00.000Z",
    "assignedTo": {
        "id": "us_c4ca4238a0b92382",
        "firstName": "Zoë",
        "lastName": "Lindqvist",
        "email": "zoe@example.com",
        "profileImageUrl": None,
    },
    "contentStatus": {
        "id": "st_a87ff679a2f3e71d",
        "label": "In review",
        "color": "#f5a623",
        "position": 2,
        "isReadOnly": False,
    },
    "folder": {"id": "fo_e4da3b7fbbce2345", "name": "Spring campaign"},
    "page": {"id": "pg_1679091c5a880faf", "url": "https://www.example.com/shoes", "lastStatusCode": 200},
    "contentUpdatedBy": {"id": "us_c4ca4238a0b92382", "firstName": "Zoë", "lastName": "Lindqvist"},
    "publishedBy": None,
    "html": _BODY.replace("<h1>", '<h1 data-block="1">'),
    "htmlSanitized": _BODY,
    "isStarted": True,
    "metaDescription": "How to choose the first pair without paying for the name.",
    "lastGeneration": {"id": "ge_c9f0f895fb98ab91", "status": "applied", "type": "optimize"},
    "version": 14,
}

USAGES: dict[str, Any] = {
    "data": [
        {
            "id": f"cu_{number:016x}",
            "createdAt": f"2026-03-{1 + number % 28:02d}T{number % 24:02d}:15:30.000Z",
            "amount": 1,
            "remainingCredits": 5000 - number,
            "type": ("analysis", "ai_writing", "content_idea_search")[number % 3],
            "keyword": {"keyword": f"running shoes {number}", "countryCode": "US", "languageCode": "en"},
            "user": {"id": "us_c4ca4238a0b92382", "firstName": "Zoë", "lastName": "Lindqvist"},
            "workspace": {"id": "ws_45c48cce2e2d7fbd", "name": "Spring"},
        }
        for number in range(100)
    ],
    "pagination": {"page": 1, "limit": 100, "total": 2500, "hasMore": True},
}


def compact(document: dict[str, Any]) -> bytes:
    """Write a document as most services do: in UTF-8, without spaces."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def spaced(document: dict[str, Any]) -> bytes:
    """Write a document with a space after each comma and colon, as Python does unless told otherwise."""
    return json.dumps(document, ensure_ascii=False).encode()
