"""Keywords and prompts: lists, analyses, reports (specification 4.5)."""

from __future__ import annotations

from cmsapi.sandbox import documents
from cmsapi.sandbox.call import Call
from cmsapi.sandbox.documents import Document
from cmsapi.sandbox.html import count_words, sanitize, score
from cmsapi.sandbox.jobs import Outcome
from cmsapi.sandbox.refusal import Refusal
from cmsapi.sandbox.store import Record

PREVIEW = 120  # characters of a text that a report shows

PROMPT = ["id", "prompt", "analysisStatus", "lastAnalyzedAt"]


def list_keywords(call: Call) -> Document:
    """List the keywords of a page."""
    keywords = call.store.find("keywords", pageId=call.get("pages", "pageId")["id"])
    names = documents.KEYWORD_ITEMS[call.store.choices.keyword_items]
    return call.page(keywords, lambda keyword: documents.pick(keyword, names))


def add_keyword(call: Call) -> Document:
    """Track a keyword for a page."""
    page = call.get("pages", "pageId")
    workspace = call.store.tables["workspaces"][page["workspaceId"]]
    keyword = call.store.add(
        "keywords",
        workspaceId=workspace["id"],
        pageId=page["id"],
        keyword=call.body["keyword"],
        analysisStatus=None,
        lastAnalyzedAt=None,
        searchVolume=call.store.searches(),
        countryCode=workspace["countryCode"],
        languageCode=workspace["languageCode"],
    )
    return documents.pick(keyword, documents.KEYWORD)


def get_keyword(call: Call) -> Document:
    """Return a keyword."""
    return documents.pick(call.get("keywords", "keywordId"), documents.KEYWORD)


def analyze_keyword(call: Call) -> Document:
    """Launch an analysis."""
    keyword = call.get("keywords", "keywordId")
    return _analyze(call, "analysis", keyword, keyword["keyword"])


def score_keyword(call: Call) -> Document:
    """Score a text against the recommendations of an analysis; without one there are none to score against."""
    keyword = call.get("keywords", "keywordId")
    if keyword["lastAnalyzedAt"] is None:
        raise Refusal(409, "The keyword has no completed analysis.")
    return _report(call, keyword)


def list_prompts(call: Call) -> Document:
    """List the prompts of a keyword."""
    prompts = call.store.find("prompts", keywordId=call.get("keywords", "keywordId")["id"])
    return call.page(prompts, lambda prompt: documents.pick(prompt, PROMPT))


def add_prompt(call: Call) -> Document:
    """Track a prompt for a keyword."""
    keyword = call.get("keywords", "keywordId")
    prompt = call.store.add(
        "prompts",
        workspaceId=keyword["workspaceId"],
        keywordId=keyword["id"],
        prompt=call.body["prompt"],
        analysisStatus=None,
        lastAnalyzedAt=None,
    )
    return documents.pick(prompt, PROMPT)


def get_prompt(call: Call) -> Document:
    """Return a prompt."""
    return documents.pick(call.get("prompts", "promptId"), PROMPT)


def analyze_prompt(call: Call) -> Document:
    """Launch an analysis, which costs one analysis credit."""
    prompt = call.get("prompts", "promptId")
    return _analyze(call, "prompt", prompt, prompt["prompt"])


def score_prompt(call: Call) -> Document:
    """Score a text for a prompt; without an analysis there is no report."""
    prompt = call.get("prompts", "promptId")
    return {"chatgpt": _report(call, prompt) if prompt["lastAnalyzedAt"] else None}


def _analyze(call: Call, kind: str, record: Record, text: str) -> Document:
    store = call.store

    def stamp(record: Record, at: float, outcome: Outcome) -> None:
        if outcome.word == "success" or store.choices.failed_analysis_timestamp == "new":
            record["lastAnalyzedAt"] = store.clock.stamp(at)

    call.jobs.check(kind, record)
    call.jobs.launch(kind, record, user=call.user["id"], target=record["id"], keyword=text, finished=stamp)
    return {"message": "Analysis started."}


def _report(call: Call, record: Record) -> Document:
    html = call.body.get("html", "")
    if "contentId" in call.body:
        identifier = call.referenced("contents", "contentId", record["workspaceId"])
        html = call.store.tables["contents"][identifier or ""]["html"]
    text = sanitize(html)
    source = {"category": "guide", "domain": "example.com", "organicPosition": 1, "position": 1, "title": None}
    return {
        "score": (score(count_words(text)) or 0) / 100,
        "recommendations": ["Answer the question in the first paragraph.", "Compare at least three products."],
        "sources": [{**source, "type": "article", "url": "https://example.com/guide"}],
        "brands": [{"category": None, "count": 2, "name": "Northwind"}],
        "preview": text[:PREVIEW] or None,
    }
