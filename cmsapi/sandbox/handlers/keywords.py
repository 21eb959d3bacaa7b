"""Pages of the tracked website, with keywords, prompts, analyses and reports (specification 2.8, 4.3, 4.5)."""

from __future__ import annotations

from cmsapi.sandbox import documents
from cmsapi.sandbox.call import Call
from cmsapi.sandbox.documents import Document
from cmsapi.sandbox.drafts import count_words, sanitize, score
from cmsapi.sandbox.jobs import Outcome
from cmsapi.sandbox.refusal import Refusal
from cmsapi.sandbox.store import NEVER_ANALYZED, Record

PREVIEW = 120  # number of characters that a report shows of a text


def import_page(call: Call) -> Document:
    """Import a page; its status code is null until it is crawled."""
    workspace = call.record["id"]
    page = call.store.add("pages", workspaceId=workspace, url=call.body["url"], lastStatusCode=None)
    return documents.page(call.store, page)


def crawl_page(call: Call) -> Document:
    """Pretend to crawl a page: set its status code to 200 at once, or to null if it has no URL."""
    page = call.record
    page["lastStatusCode"] = 200 if page["url"] else None
    return {"message": "Crawl started."}


def delete_page(call: Call) -> None:
    """Delete a page, its contents, its keywords and the prompts of those keywords."""
    page, tables = call.record["id"], call.store.tables
    for content in list(call.children("contents")):
        del tables["contents"][content["id"]]
    for keyword in list(call.children("keywords")):
        for prompt in list(call.store.find("prompts", keywordId=keyword["id"])):
            del tables["prompts"][prompt["id"]]
        del tables["keywords"][keyword["id"]]
    del tables["pages"][page]


def add_keyword(call: Call) -> Document:
    """Add a tracked keyword to a page."""
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
    """Launch the analysis of a keyword, which costs one analysis credit."""
    return _analyze(call, "analysis", call.record["keyword"])


def score_keyword(call: Call) -> Document:
    """Return the report on a text for a keyword; refuse with 409 if the keyword was never analyzed."""
    if call.record["lastAnalyzedAt"] is None:
        raise Refusal(409, "The keyword has no completed analysis.")
    return _report(call)


def add_prompt(call: Call) -> Document:
    """Add a tracked prompt to a keyword."""
    keyword = call.record
    place = {"workspaceId": keyword["workspaceId"], "keywordId": keyword["id"]}
    prompt = call.store.add("prompts", prompt=call.body["prompt"], **place, **NEVER_ANALYZED)
    return documents.prompt(call.store, prompt)


def analyze_prompt(call: Call) -> Document:
    """Launch the analysis of a prompt, which costs one analysis credit."""
    return _analyze(call, "prompt", call.record["prompt"])


def score_prompt(call: Call) -> Document:
    """Return the report on a text for a prompt; the report is null if the prompt was never analyzed."""
    return {"chatgpt": _report(call) if call.record["lastAnalyzedAt"] else None}


def _analyze(call: Call, kind: str, text: str) -> Document:
    record, store = call.record, call.store

    def stamp(record: Record, at: float, outcome: Outcome) -> None:
        if outcome.word == "success" or store.choices.failed_analysis_timestamp == "new":
            record["lastAnalyzedAt"] = store.clock.stamp(at)

    call.jobs.check(kind, record)
    call.jobs.launch(kind, record, user=call.user, target=record["id"], keyword=text, finished=stamp)
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
