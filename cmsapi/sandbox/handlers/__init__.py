"""Handlers for non-public operations, defined by `SHOWN`, by `LISTED`, or as functions named after their operations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import isfunction
from typing import Any, TypeAlias

from cmsapi.sandbox import documents
from cmsapi.sandbox.call import Call
from cmsapi.sandbox.documents import Show
from cmsapi.sandbox.handlers import contents, generations, ideas, keywords, workspaces

Handler: TypeAlias = Callable[[Call], Any]

# Operations that show the record in the path.
SHOWN: Mapping[str, Show] = {
    "get_workspace": documents.workspace,
    "get_content": documents.content,
    "get_page": documents.page,
    "get_keyword": documents.keyword,
    "get_prompt": documents.prompt,
    "get_brand_voice": documents.brand_voice,
    "get_knowledge_document": documents.knowledge_document,
    "get_content_idea_search": documents.search,
}
# Operations that list those records of a table that belong to the record in the path.
LISTED: Mapping[str, tuple[str, Show]] = {
    "list_pages": ("pages", documents.page),
    "list_keywords": ("keywords", documents.listed_keyword),
    "list_prompts": ("prompts", documents.prompt),
    "list_brand_voices": ("voices", documents.brand_voice),
    "list_knowledge_documents": ("knowledge", documents.knowledge_document),
}


def _shows(show: Show) -> Handler:
    return lambda call: show(call.store, call.record)


def _lists(table: str, show: Show) -> Handler:
    return lambda call: call.page(call.children(table), show)


HANDLERS: Mapping[str, Handler] = {
    **{name: _shows(show) for name, show in SHOWN.items()},
    **{name: _lists(*row) for name, row in LISTED.items()},
    **{
        name: value
        for module in (workspaces, contents, generations, keywords, ideas)
        for name, value in vars(module).items()
        if isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
    },
}
