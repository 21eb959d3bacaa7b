"""The texts of `/openapi.json`: what to know about the service, its resources, operations and errors."""

from __future__ import annotations

import re
from collections.abc import Callable
from inspect import getdoc

SERVICE = """\
AI-assisted content marketing and search optimisation. A sandbox serves this description: it behaves like the service,
and nothing in it costs money.

- **Key**: every request has the header `Authorization: Bearer sk_…`, except for `/health`, `/openapi.json` and `/docs`.
- **Limits**: a key may send 20 requests in any second and 1,000 in any 60 minutes. A further request gets a 429, with
  the seconds to wait in `Retry-After`.
- **Errors** have the form `{"error": {"code": "…", "message": "…"}}`. Repeat a request after 429, 500, 502 or 503, with
  exponential backoff. A launch may have cost a credit: read its target before you repeat it.
- **Collections** take `page` and `limit`, except folders and workflow statuses, which are complete.
- **Asynchronous work** has no events: poll it every 5 to 10 seconds."""

# By the noun of a path; `me` and `content-ideas` belong to other nouns.
TAGS = {
    "users": "The owner of the key, and the members of the organisation and of workspaces.",
    "workspaces": "Tracked websites, and their workflow statuses.",
    "folders": "A tree of contents in each workspace.",
    "contents": "Articles, their publication, and their generation with AI.",
    "pages": "URLs of the website, to which keywords and contents belong.",
    "keywords": "Search terms of a page, and their analysis.",
    "prompts": "Questions to AI answer engines, and their analysis.",
    "brand-voices": "Editorial identities for generations.",
    "knowledge-documents": "Texts and addresses that feed generations.",
    "content-idea-searches": "Searches for ideas from a seed keyword.",
    "credit-usages": "The history of consumed credits.",
    "service": "The service itself; these operations need no key and count in no limit.",
}
_TAG_OF = {"me": "users", "content-ideas": "content-idea-searches"}

DESCRIPTIONS = {
    "get_me": "Use it to verify a key. The organisation has the three credit balances.",
    "list_users": "Only an administrator may list them.",
    "list_workspaces": "A key sees the workspaces of its user only.",
    "get_workspace": "A workspace without the user is not found, or forbidden.",
    "list_workspace_members": "Roles in a workspace differ from the roles in the organisation.",
    "list_content_statuses": "The answer has all of them, without pagination.",
    "list_folders": "The answer is a flat list; rebuild the tree with `parentFolderId`.",
    "create_folder": "Without `parentFolderId` the folder is at the top level.",
    "delete_folder": "Only an administrator may delete a folder. Folders inside it stay.",
    "list_contents": "Items are without their text. All filters must hold.",
    "create_content": "The answer contains the page of the draft.",
    "get_content": "Publish `htmlSanitized`, not `html`, which may contain an editor's annotations.",
    "update_content": "Send the `version` that the changes are based on. After a 409 read the content again, reapply "
    "the changes, and send the new version.",
    "publish_content": "Moves the type to `PUBLISHED`, and writes the address to the page if there is one.",
    "delete_content": "It cannot be undone.",
    "generate_content": "It costs one AI writing credit. Poll `get_generation` until the status is `review`, then "
    "confirm or cancel the generation.",
    "get_generation": "A content has one current generation at most. Words other than `queued` and `review` may come.",
    "confirm_generation": "The text replaces the draft's, whose version rises.",
    "cancel_generation": "The draft stays as it is. The credit is not returned.",
    "list_pages": "Drafts without an address have a page without a URL.",
    "import_page": "A new page was never crawled, and has no keywords.",
    "get_page": "`lastStatusCode` tells whether the last crawl found the page.",
    "delete_page": "Only an administrator may delete a page. It cannot be undone.",
    "crawl_page": "The result is in `lastStatusCode` of the page.",
    "list_keywords": "Items have the state of the analysis, if the service shows it in lists.",
    "add_keyword": "The keyword has the country and the language of its workspace.",
    "get_keyword": "Poll it after a launch until `analysisStatus` is final and `lastAnalyzedAt` has changed.",
    "analyze_keyword": "Poll `get_keyword`; the analysis has no identifier of its own.",
    "score_keyword": "Send a content, or a title with HTML. It changes nothing and costs nothing.",
    "list_prompts": "Items have the state of their analysis.",
    "add_prompt": "A prompt is a question of at least one character.",
    "get_prompt": "Poll it after a launch until `analysisStatus` is final and `lastAnalyzedAt` has changed.",
    "analyze_prompt": "It costs analysis credits. Poll `get_prompt`; the analysis has no identifier of its own.",
    "score_prompt": "Send a content, or a title with HTML. It changes nothing and costs nothing.",
    "list_brand_voices": "A generation takes the identifier of one as `brandVoiceId`.",
    "get_brand_voice": "Its `status` is an open set of words.",
    "list_knowledge_documents": "A document has a summary when its processing has succeeded.",
    "create_knowledge_document": "Poll `get_knowledge_document` until `status` is `success` or `failed`.",
    "get_knowledge_document": "The summary is there when `status` is `success`.",
    "start_content_idea_search": "Poll `get_content_idea_search`, then read `list_content_ideas`. Other properties "
    "than the keyword are refused.",
    "get_content_idea_search": "The number of ideas is null until then.",
    "list_content_ideas": "Wait for the status `success` first.",
    "list_credit_usages": "The type is required, and one for each request.",
    "health": "The answer says only that the service can answer.",
    "openapi": "The version of the interface is in `info.version`.",
    "docs": "A page for browsers, which can send requests on a sandbox.",
}

CONFLICTS = {
    "update_content": "The content has another version: read it again, and reapply the changes.",
    "generate_content": "A generation runs or waits for a decision, the keyword has no completed analysis, or no "
    "credit is left.",
    "confirm_generation": "The generation does not wait for a decision.",
    "cancel_generation": "The generation does not wait for a decision.",
    "crawl_page": "The page has no URL.",
    "analyze_keyword": "An analysis of the keyword runs, or no credit is left.",
    "score_keyword": "The keyword has no completed analysis.",
    "analyze_prompt": "An analysis of the prompt runs, or no credit is left.",
    "start_content_idea_search": "No credit is left.",
    "list_content_ideas": "The search has not succeeded.",
}


def tag(path: str) -> str:
    """Return the tag of an operation: the last noun of its path that is a resource."""
    nouns = [_TAG_OF.get(noun, noun) for noun in path.split("/")[2:] if not noun.startswith("{")]
    return next((noun for noun in reversed(nouns) if noun in TAGS), nouns[0])


def title(tag: str) -> str:
    """Return the name of a tag as people read it."""
    return tag.replace("-", " ").capitalize()


def summary(handler: Callable[..., object]) -> str:
    """Return the first sentence of a handler's documentation, without the section of the specification."""
    sentence = (getdoc(handler) or handler.__name__).splitlines()[0].rstrip(".")
    return re.sub(r" \(section[^)]*\)", "", sentence)
