"""Keywords and their analysis (specification, sections 2.8 and 4.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cmsapi.sandbox.domain import analyses, reports
from cmsapi.sandbox.messages.resources import show
from cmsapi.sandbox.world import drafts
from cmsapi.sandbox.world.refusal import Refusal

if TYPE_CHECKING:
    from cmsapi.sandbox.messages.call import Call
    from cmsapi.sandbox.messages.resources import Document
    from cmsapi.sandbox.world.history import Seen
    from cmsapi.sandbox.world.jobs import Job
    from cmsapi.sandbox.world.records import Keyword
    from cmsapi.sandbox.world.world import World

KIND = "keyword_analysis"


def list_keywords(call: Call) -> Document:
    """List the keywords of a page."""
    page = call.find(call.store.pages, "pageId")
    return call.page(call.store.keywords.of(page.id), lambda keyword: _item(call.world, call.view(keyword)))


def add_keyword(call: Call) -> Document:
    """Track a search term for a page."""
    page = call.find(call.store.pages, "pageId")
    keyword = call.world.add_keyword(page, call.body["keyword"], call.world.now)
    call.target_id = keyword.id
    return _show(call.world, call.world.history.present(keyword))


def get_keyword(call: Call) -> Document:
    """Show one keyword with its `analysisStatus`."""
    return _show(call.world, call.view(call.find(call.store.keywords, "keywordId")))


def analyze_keyword(call: Call) -> Document:
    """Launch an analysis; it costs one analysis credit."""
    keyword = call.find(call.store.keywords, "keywordId")
    return analyses.launch(call, KIND, keyword, keyword, 1)


def score_keyword(call: Call) -> Document:
    """Score a content or a text against the recommendations of a completed analysis."""
    keyword = call.find(call.store.keywords, "keywordId")
    text = reports.text_of(call, keyword.workspace_id)
    if not keyword.analyzed:
        raise Refusal(409, "the keyword has no completed analysis")
    return reports.report(call.world, keyword.id, keyword.keyword, text)


def complete(world: World, job: Job) -> None:
    """End a keyword's analysis and score the contents of its page again."""
    keyword = world.store.keywords[job.target_id]
    analyses.end(world, keyword, job)
    for content in world.store.contents.of(keyword.page_id):
        content.score = drafts.score_content(world, content)


def _show(world: World, seen: Seen[Keyword]) -> Document:
    return show("Keyword", seen.record, analysis_status=analyses.status(world, seen))


def _item(world: World, seen: Seen[Keyword]) -> Document:
    document = _show(world, seen)
    if world.behaviour.keyword_items != "full":
        del document["lastAnalyzedAt"]
    if world.behaviour.keyword_items == "bare":
        del document["analysisStatus"]
    return document
