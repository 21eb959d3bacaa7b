"""The table of operations (specification, section 4), and the search for the operation of a request."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import attrs

from cmsapi.sandbox.domain import (
    contents,
    folders,
    generations,
    ideas,
    keywords,
    knowledge,
    organisation,
    pages,
    prompts,
    usages,
)
from cmsapi.sandbox.messages.call import Call
from cmsapi.sandbox.world.refusal import Refusal

PAGING = ("page", "limit")
CONTENT_FILTERS = (
    "assignedToId",
    "contentScore",
    "contentScore[gte]",
    "contentScore[lte]",
    "contentStatusId",
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@attrs.frozen(eq=False)
class Route:
    """One operation.

    Args:
        method: HTTP method.
        template: Path with parameters in braces.
        handler: The handler, whose name is the operation's name.
        answers: Schema of the answer: `X`, `page of X` for an envelope, `list of X`, or None for a deletion.
        status: Status of success.
        body: Name of the schema of the request body; None for an operation without one.
        optional_body: Whether the body may be absent.
        query: Names of the query parameters.
    """

    method: str
    template: str
    handler: Callable[[Call], Any]
    answers: str | None
    status: int = 200
    body: str | None = None
    optional_body: bool = False
    query: tuple[str, ...] = ()
    pattern: re.Pattern[str] = attrs.field(
        init=False, default=attrs.Factory(lambda route: _pattern(route.template), takes_self=True)
    )

    @property
    def name(self) -> str:
        """The operation's name."""
        return self.handler.__name__

    @property
    def parameters(self) -> list[str]:
        """The names of the path parameters."""
        return list(self.pattern.groupindex)


def _pattern(template: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", template))


_W = "/v1/workspaces/{workspaceId}"
_C = "/v1/contents/{contentId}"
_P = "/v1/pages/{pageId}"
_K = "/v1/keywords/{keywordId}"
_Q = "/v1/prompts/{promptId}"
_D = "knowledge-documents"
_S = "content-idea-searches"
_SEARCH = f"/v1/{_S}/{{contentIdeaSearchId}}"

ROUTES: tuple[Route, ...] = (
    Route("GET", "/v1/me", organisation.get_me, "User"),
    Route("GET", "/v1/users", organisation.list_users, "page of Member", query=PAGING),
    Route("GET", "/v1/workspaces", organisation.list_workspaces, "page of Workspace", query=PAGING),
    Route("GET", _W, organisation.get_workspace, "Workspace"),
    Route("GET", f"{_W}/users", organisation.list_workspace_members, "page of WorkspaceMember", query=PAGING),
    Route("GET", f"{_W}/content-statuses", organisation.list_content_statuses, "list of ContentStatus"),
    Route("GET", f"{_W}/folders", folders.list_folders, "list of Folder"),
    Route("POST", f"{_W}/folders", folders.create_folder, "Folder", 201, "NewFolder"),
    Route("DELETE", "/v1/folders/{folderId}", folders.delete_folder, None),
    Route("GET", f"{_W}/contents", contents.list_contents, "page of ShortContent", query=CONTENT_FILTERS + PAGING),
    Route("POST", f"{_W}/contents", contents.create_content, "Content", 201, "NewContent"),
    Route("GET", _C, contents.get_content, "Content"),
    Route("PATCH", _C, contents.update_content, "Content", body="ContentChanges"),
    Route("DELETE", _C, contents.delete_content, None),
    Route("POST", f"{_C}/publish", contents.publish_content, "Content", body="Publication", optional_body=True),
    Route("POST", f"{_C}/atomic", generations.generate_content, "Generation", 202, "GenerationRequest"),
    Route("GET", f"{_C}/generation", generations.get_generation, "Generation"),
    Route("POST", f"{_C}/generation/confirm", generations.confirm_generation, "Generation"),
    Route("POST", f"{_C}/generation/cancel", generations.cancel_generation, "Generation"),
    Route("GET", f"{_W}/pages", pages.list_pages, "page of Page", query=PAGING),
    Route("POST", f"{_W}/pages", pages.import_page, "Page", 201, "NewPage"),
    Route("GET", _P, pages.get_page, "Page"),
    Route("DELETE", _P, pages.delete_page, None),
    Route("POST", f"{_P}/crawl", pages.crawl_page, "Message", 202),
    Route("GET", f"{_P}/keywords", keywords.list_keywords, "page of KeywordItem", query=PAGING),
    Route("POST", f"{_P}/keywords", keywords.add_keyword, "Keyword", 201, "NewKeyword"),
    Route("GET", _K, keywords.get_keyword, "Keyword"),
    Route("POST", f"{_K}/analyze", keywords.analyze_keyword, "Message", 202),
    Route("POST", f"{_K}/report", keywords.score_keyword, "Report", body="ReportRequest"),
    Route("GET", f"{_K}/prompts", prompts.list_prompts, "page of Prompt", query=PAGING),
    Route("POST", f"{_K}/prompts", prompts.add_prompt, "Prompt", 201, "NewPrompt"),
    Route("GET", _Q, prompts.get_prompt, "Prompt"),
    Route("POST", f"{_Q}/analyze", prompts.analyze_prompt, "Message", 202),
    Route("POST", f"{_Q}/report", prompts.score_prompt, "PromptReport", body="ReportRequest"),
    Route("GET", f"{_W}/brand-voices", organisation.list_brand_voices, "page of BrandVoice", query=PAGING),
    Route("GET", "/v1/brand-voices/{brandVoiceId}", organisation.get_brand_voice, "BrandVoice"),
    Route("GET", f"{_W}/{_D}", knowledge.list_knowledge_documents, "page of KnowledgeDocument", query=PAGING),
    Route("POST", f"{_W}/{_D}", knowledge.create_knowledge_document, "KnowledgeDocument", 201, "NewKnowledgeDocument"),
    Route("GET", f"/v1/{_D}/{{knowledgeDocumentId}}", knowledge.get_knowledge_document, "KnowledgeDocument"),
    Route("POST", f"{_W}/{_S}", ideas.start_content_idea_search, "ContentIdeaSearch", 202, "NewContentIdeaSearch"),
    Route("GET", _SEARCH, ideas.get_content_idea_search, "ContentIdeaSearch"),
    Route("GET", f"{_SEARCH}/content-ideas", ideas.list_content_ideas, "page of ContentIdea", query=PAGING),
    Route("GET", "/v1/credit-usages", usages.list_credit_usages, "page of CreditUsage", query=("type", "q", *PAGING)),
)


def find(routes: tuple[Route, ...], method: str, path: str) -> tuple[Route, dict[str, str]]:
    """Return the operation of a method and a path, and its decoded path parameters.

    Raises:
        Refusal: The operation does not exist (404), or a parameter cannot be decoded (400).
    """
    found = [(route, match) for route in routes if (match := route.pattern.fullmatch(path))]
    for route, match in found:
        if route.method == method:
            return route, {name: _decoded(text) for name, text in match.groupdict().items()}
    if found:
        # Section 7 does not list 405: an operation that section 4 does not list does not exist.
        raise Refusal(404, f"no such operation; this path has {', '.join(sorted(route.method for route, _ in found))}")
    raise Refusal(404, "no such path")


def _decoded(text: str) -> str:
    try:
        value = unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise Refusal(400, "path: must be percent-encoded UTF-8") from None
    if _CONTROL.search(value):
        raise Refusal(400, "path: a parameter must not contain control characters")
    return value
