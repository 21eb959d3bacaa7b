"""The table of operations: their routes, where each route comes from, and which operations may be repeated.

The specification leaves out some methods and paths. The `Provenance` of a row tells where its route comes from:
the specification, a public reference of the same interface, or an assumption. A route can be replaced::

    Client(operations=OPERATIONS.override(confirm_generation="POST /v1/contents/{contentId}/confirm"))
"""

from __future__ import annotations

import re
from enum import Enum

from attrs import evolve, field, frozen

from cmsapi.errors import ConfigError
from cmsapi.wire.arguments import identifier


class Provenance(Enum):
    """Where an operation's route comes from."""

    SPEC = "the specification"
    PUBLISHED = "a public reference of the interface"
    ASSUMED = "assumed by cmsapi"
    OVERRIDDEN = "OPERATIONS.override"


@frozen
class Operation:
    """One row of the table of operations."""

    name: str
    method: str
    path: str
    provenance: Provenance
    repeatable: bool  # True if it only reads, or has the same effect when sent twice: a lost response does no harm
    parameters: tuple[str, ...] = field(init=False, repr=False, eq=False)  # of its path, as names of arguments
    template: str = field(init=False, repr=False, eq=False)  # its path with unnamed parameters

    def __attrs_post_init__(self) -> None:
        names = (re.sub(r"([A-Z])", r"_\1", name).lower() for name in re.findall(r"\{(\w+)\}", self.path))
        object.__setattr__(self, "parameters", tuple(names))
        object.__setattr__(self, "template", re.sub(r"\{\w+\}", "{}", self.path))

    def fill(self, ids: tuple[object, ...]) -> str:
        """Return the path with ``ids`` as its parameters, in order. Raise `ArgumentError` if an id is invalid."""
        return self.template.format(*map(identifier, self.parameters, ids))

    @property
    def caveat(self) -> str:
        """Text to add to this operation's errors if its route is assumed; else empty."""
        if self.provenance is not Provenance.ASSUMED:
            return ""
        return (
            f"The specification does not show this route: {self.method} {self.path} is assumed. If the service has it "
            f'elsewhere, pass Client(operations=OPERATIONS.override({self.name}="METHOD /v1/...")).'
        )


class OperationTable(dict[str, Operation]):
    """Dictionary of operations by name; `override` returns a copy with other routes."""

    def override(self, **routes: str) -> OperationTable:
        """Return a copy of the table with new routes for some operations.

        Args:
            **routes: ``name="METHOD /v1/path"``. The path must keep its ``{parameters}``, in the same order.

        Raises:
            ConfigError: There is no operation of that name, or the route is malformed or has more or fewer parameters.
        """
        changed = OperationTable(self)
        for name, route in routes.items():
            old = self.get(name)
            if old is None:
                raise ConfigError(f"OPERATIONS has no {name!r}; its names are {', '.join(self)}")
            if not re.fullmatch(r"(GET|POST|PUT|PATCH|DELETE) /v1(/([\w.~-]+|\{\w+\}))+", str(route)):
                raise ConfigError(f'override({name}=) must look like "{old.method} {old.path}", got {route!r}')
            method, path = route.split()
            new = evolve(old, method=method, path=path, provenance=Provenance.OVERRIDDEN)
            if len(new.parameters) != len(old.parameters):
                raise ConfigError(f"override({name}=) must have the parameters of {old.path}, got {route!r}")
            changed[name] = new
        return changed


_A, _P, _S = Provenance.ASSUMED, Provenance.PUBLISHED, Provenance.SPEC
_REPEATABLE, _ONCE = True, False

OPERATIONS = OperationTable(
    (row[0], Operation(*row))
    for row in (
        ("get_me", "GET", "/v1/me", _S, _REPEATABLE),
        ("list_users", "GET", "/v1/users", _S, _REPEATABLE),
        ("list_workspaces", "GET", "/v1/workspaces", _S, _REPEATABLE),
        ("get_workspace", "GET", "/v1/workspaces/{workspaceId}", _S, _REPEATABLE),
        ("list_workspace_members", "GET", "/v1/workspaces/{workspaceId}/users", _P, _REPEATABLE),
        ("list_content_statuses", "GET", "/v1/workspaces/{workspaceId}/content-statuses", _A, _REPEATABLE),
        ("list_folders", "GET", "/v1/workspaces/{workspaceId}/folders", _S, _REPEATABLE),
        ("create_folder", "POST", "/v1/workspaces/{workspaceId}/folders", _P, _ONCE),
        ("delete_folder", "DELETE", "/v1/folders/{folderId}", _S, _REPEATABLE),
        ("list_contents", "GET", "/v1/workspaces/{workspaceId}/contents", _P, _REPEATABLE),
        ("create_content", "POST", "/v1/workspaces/{workspaceId}/contents", _S, _ONCE),
        ("get_content", "GET", "/v1/contents/{contentId}", _A, _REPEATABLE),
        ("update_content", "PATCH", "/v1/contents/{contentId}", _A, _ONCE),
        ("publish_content", "POST", "/v1/contents/{contentId}/publish", _P, _ONCE),
        ("delete_content", "DELETE", "/v1/contents/{contentId}", _S, _REPEATABLE),
        ("generate_content", "POST", "/v1/contents/{contentId}/atomic", _S, _ONCE),
        ("get_generation", "GET", "/v1/contents/{contentId}/generation", _S, _REPEATABLE),
        ("confirm_generation", "POST", "/v1/contents/{contentId}/generation/confirm", _A, _ONCE),
        ("cancel_generation", "POST", "/v1/contents/{contentId}/generation/cancel", _A, _ONCE),
        ("list_pages", "GET", "/v1/workspaces/{workspaceId}/pages", _A, _REPEATABLE),
        ("import_page", "POST", "/v1/workspaces/{workspaceId}/pages", _A, _ONCE),
        ("get_page", "GET", "/v1/pages/{pageId}", _A, _REPEATABLE),
        ("crawl_page", "POST", "/v1/pages/{pageId}/crawl", _A, _ONCE),
        ("delete_page", "DELETE", "/v1/pages/{pageId}", _S, _REPEATABLE),
        ("list_keywords", "GET", "/v1/pages/{pageId}/keywords", _A, _REPEATABLE),
        ("add_keyword", "POST", "/v1/pages/{pageId}/keywords", _A, _ONCE),
        ("get_keyword", "GET", "/v1/keywords/{keywordId}", _S, _REPEATABLE),
        ("analyze_keyword", "POST", "/v1/keywords/{keywordId}/analyze", _S, _ONCE),
        ("score_keyword", "POST", "/v1/keywords/{keywordId}/report", _A, _REPEATABLE),
        ("list_prompts", "GET", "/v1/keywords/{keywordId}/prompts", _A, _REPEATABLE),
        ("add_prompt", "POST", "/v1/keywords/{keywordId}/prompts", _P, _ONCE),
        ("get_prompt", "GET", "/v1/prompts/{promptId}", _P, _REPEATABLE),
        ("analyze_prompt", "POST", "/v1/prompts/{promptId}/analyze", _A, _ONCE),
        ("score_prompt", "POST", "/v1/prompts/{promptId}/report", _P, _REPEATABLE),
        ("list_brand_voices", "GET", "/v1/workspaces/{workspaceId}/brand-voices", _A, _REPEATABLE),
        ("get_brand_voice", "GET", "/v1/brand-voices/{brandVoiceId}", _P, _REPEATABLE),
        ("list_knowledge_documents", "GET", "/v1/workspaces/{workspaceId}/knowledge-documents", _A, _REPEATABLE),
        ("create_knowledge_document", "POST", "/v1/workspaces/{workspaceId}/knowledge-documents", _A, _ONCE),
        ("get_knowledge_document", "GET", "/v1/knowledge-documents/{knowledgeDocumentId}", _S, _REPEATABLE),
        ("start_content_idea_search", "POST", "/v1/workspaces/{workspaceId}/content-idea-searches", _S, _ONCE),
        ("get_content_idea_search", "GET", "/v1/content-idea-searches/{searchId}", _S, _REPEATABLE),
        ("list_content_ideas", "GET", "/v1/content-idea-searches/{searchId}/content-ideas", _S, _REPEATABLE),
        ("list_credit_usages", "GET", "/v1/credit-usages", _S, _REPEATABLE),
    )
)
