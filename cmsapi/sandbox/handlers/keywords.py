"""Keywords and prompts: lists, analyses, reports (specification 4.5)."""

from __future__ import annotations

from cmsapi.sandbox import documents
from cmsapi.sandbox.call import Call
from cmsapi.sandbox.documents import Document
from cmsapi.sandbox.drafts import count_words, sanitize, score
from cmsapi.sandbox.jobs import Outcome
from cmsapi.sandbox.refusal import Refusal
from cmsapi.sandbox.store import NEVER_ANALYZED, Record

PREVIEW = 120  # characters of a text that a report shows


def add_keyword(call: Call) -> Document:
    """Track a keyword for a page."""
    page = call.record
    workspace = call.store.tables["workspaces"][page["workspaceId"]]
    keyword = call.store.add(
        "keywords",
        workspaceId=workspace["id"],
        pageId=page["id"],
        keyword=call.body["keyword"],
        searchVolume=call.store.search_volume(),
        countryCode=workspace["countryCode"],
        languageCode=workspace["languageCode"],
        **NEVER_ANALYZED,
    )
    return documents.keyword(call.store, keyword)


def analyze_keyword(call: Call) -> Document:
    """Launch an analysis."""
    return _analyze(call, "analysis", call.record["keyword"])


def score_keyword(call: Call) -> Document:
    """Score a text against the recommendations of an analysis; without one there are none to score against."""
    if call.record["lastAnalyzedAt"] is None:
        raise Refusal(409, "The keyword has no completed analysis.")
    return _report(call)


def add_prompt(call: Call) -> Document:
    """Track a prompt for a keyword."""
    keyword = call.record
    place = {"workspaceId": keyword["workspaceId"], "keywordId": keyword["id"]}
    prompt = call.store.add("prompts", prompt=call.body["prompt"], **place, **NEVER_ANALYZED)
    return documents.prompt(call.store, prompt)


def analyze_prompt(call: Call) -> Document:
    """Launch an analysis, which costs one analysis credit."""
    return _analyze(call, "prompt", call.record["prompt"])


def score_prompt(call: Call) -> Document:
    """Score a text for a prompt; without an analysis there is no report."""
    return {"chatgpt": _report(call) if call.record["lastAnalyzedAt"] else None}


def _analyze(call: Call, kind: str, text: str) -> Document:
    record, store = call.record, call.store

    def stamp(record: Record, at: float, outcome: Outcome) -> None:
        if outcome.word == "success" or store.choices.failed_analysis_timestamp == "new":
            record["lastAnalyzedAt"] = store.clock.stamp(at)

    call.jobs.check(kind, record)
    call.jobs.launch(kind, record, user=call.user["id"], target=record["id"], keyword=text, finished=stamp)
    return {"message": "Analysis started."}


def _report(call: Call) -> Document:
    html = call.body.get("html", "")
    if "contentId" in call.body:
        html = call.store.tables["contents"][call.referenced("contentId") or ""]["html"]
    text = sanitize(html)
    source = {"category": "guide", "domain": "example.com", "organicPosition": 1, "position": 1, "title": None}
    return {
        "score": (score(count_words(text)) or 0) / 100,
        "recommendations": ["Answer the question in the first paragraph.", "Compare at least three products."],
        "sources": [{**source, "type": "article", "url": "https://example.com/guide"}],
        "brands": [{"category": None, "count": 2, "name": "Northwind"}],
        "preview": text[:PREVIEW] or None,
    }
