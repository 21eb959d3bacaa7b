"""The table of operations: where each one is, who says so, and whether it may be repeated.

The specification leaves out some methods and paths. `Provenance` says for each row whether the specification states it,
a public reference of the same interface shows it, or cmsapi assumes it. A row can be replaced::

    Client(operations=OPERATIONS.override(confirm_generation="POST /v1/contents/{contentId}/confirm"))
"""

from __future__ import annotations

import re
from enum import Enum

from attrs import evolve, field, frozen

from cmsapi.errors import ArgumentError, ConfigError
from cmsapi.wire.arguments import identifier

_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


class Provenance(Enum):
    """Who says where an operation is."""

    SPEC = "the specification"
    PUBLISHED = "a public reference of the interface"
    ASSUMED = "assumed by cmsapi"
    OVERRIDDEN = "OPERATIONS.override"


class Repeat(Enum):
    """Whether an operation may be repeated after an attempt whose outcome is unknown."""

    ALWAYS = "it reads, or has the same effect when done twice"
    NEVER = "it might be done twice"


@frozen
class Operation:
    """One row of the table.

    Attributes:
        name: Name of the operation.
        method: HTTP method.
        path: Path with its parameters in braces.
        provenance: Who says so.
        repeat: Whether it may be repeated when an answer was lost.
        parameters: Names of the path's parameters, as arguments of methods are named.
    """

    name: str
    method: str
    path: str
    provenance: Provenance = Provenance.SPEC
    repeat: Repeat = Repeat.NEVER
    _parts: tuple[str, ...] = field(init=False, repr=False, eq=False)
    parameters: tuple[str, ...] = field(init=False, repr=False, eq=False)

    def __attrs_post_init__(self) -> None:
        parts = re.split(r"\{(\w+)\}", self.path)
        object.__setattr__(self, "_parts", tuple(parts[::2]))
        names = (re.sub(r"([A-Z])", r"_\1", name).lower() for name in parts[1::2])
        object.__setattr__(self, "parameters", tuple(names))

    def fill(self, ids: tuple[object, ...]) -> str:
        """Return the path with identifiers in the order of its parameters.

        Raises:
            ArgumentError: An identifier cannot be one.
        """
        if len(ids) != len(self.parameters):
            raise ArgumentError("ids", f"must be {len(self.parameters)} for {self.name}, got {len(ids)}")
        path = self._parts[0]
        for name, value, rest in zip(self.parameters, ids, self._parts[1:], strict=True):
            path += identifier(name, value) + rest
        return path

    @property
    def caveat(self) -> str:
        """What an error of this operation adds if its route is assumed."""
        if self.provenance is not Provenance.ASSUMED:
            return ""
        return (
            f"The specification does not show this route: {self.method} {self.path} is assumed. If the service has it "
            f'elsewhere, pass Client(operations=OPERATIONS.override({self.name}="METHOD /v1/...")).'
        )


class OperationTable(dict[str, Operation]):
    """Operations by name. `override` returns a copy with other routes."""

    def override(self, **routes: str) -> OperationTable:
        """Return a table with other routes.

        Args:
            **routes: ``name="METHOD /path"`` with as many parameters in braces as the row has, in the same order.

        Raises:
            ConfigError: There is no such operation, or the route does not fit it.
        """
        changed = OperationTable(self)
        for name, route in routes.items():
            old = self.get(name)
            if old is None:
                raise ConfigError(f"OPERATIONS has no {name!r}; its names are {', '.join(self)}")
            method, _, path = str(route).partition(" ")
            if method not in _METHODS or not re.fullmatch(r"/v1(/([\w.~-]+|\{\w+\}))+", path):
                raise ConfigError(f'override({name}=) must look like "{old.method} {old.path}", got {route!r}')
            new = evolve(old, method=method, path=path, provenance=Provenance.OVERRIDDEN)
            if len(new.parameters) != len(old.parameters):
                raise ConfigError(f"override({name}=) must have the parameters of {old.path}, got {route!r}")
            changed[name] = new
        return changed


_A, _P, _S = Provenance.ASSUMED, Provenance.PUBLISHED, Provenance.SPEC
_ALWAYS, _NEVER = Repeat.ALWAYS, Repeat.NEVER

OPERATIONS = OperationTable(
    (row[0], Operation(*row))
    for row in (
        ("get_me", "GET", "/v1/me", _S, _ALWAYS),
        ("list_users", "GET", "/v1/users", _S, _ALWAYS),
        ("list_workspaces", "GET", "/v1/workspaces", _S, _ALWAYS),
        ("get_workspace", "GET", "/v1/workspaces/{workspaceId}", _S, _ALWAYS),
        ("list_workspace_members", "GET", "/v1/workspaces/{workspaceId}/users", _P, _ALWAYS),
        ("list_content_statuses", "GET", "/v1/workspaces/{workspaceId}/content-statuses", _A, _ALWAYS),
        ("list_folders", "GET", "/v1/workspaces/{workspaceId}/folders", _S, _ALWAYS),
        ("create_folder", "POST", "/v1/workspaces/{workspaceId}/folders", _P, _NEVER),
        ("delete_folder", "DELETE", "/v1/folders/{folderId}", _S, _ALWAYS),
        ("list_contents", "GET", "/v1/workspaces/{workspaceId}/contents", _P, _ALWAYS),
        ("create_content", "POST", "/v1/workspaces/{workspaceId}/contents", _S, _NEVER),
        ("get_content", "GET", "/v1/contents/{contentId}", _A, _ALWAYS),
        ("update_content", "PATCH", "/v1/contents/{contentId}", _A, _NEVER),
        ("publish_content", "POST", "/v1/contents/{contentId}/publish", _P, _NEVER),
        ("delete_content", "DELETE", "/v1/contents/{contentId}", _S, _ALWAYS),
        ("generate_content", "POST", "/v1/contents/{contentId}/atomic", _S, _NEVER),
        ("get_generation", "GET", "/v1/contents/{contentId}/generation", _S, _ALWAYS),
        ("confirm_generation", "POST", "/v1/contents/{contentId}/generation/confirm", _A, _NEVER),
        ("cancel_generation", "POST", "/v1/contents/{contentId}/generation/cancel", _A, _NEVER),
        ("list_pages", "GET", "/v1/workspaces/{workspaceId}/pages", _A, _ALWAYS),
        ("import_page", "POST", "/v1/workspaces/{workspaceId}/pages", _A, _NEVER),
        ("get_page", "GET", "/v1/pages/{pageId}", _A, _ALWAYS),
        ("crawl_page", "POST", "/v1/pages/{pageId}/crawl", _A, _NEVER),
        ("delete_page", "DELETE", "/v1/pages/{pageId}", _S, _ALWAYS),
        ("list_keywords", "GET", "/v1/pages/{pageId}/keywords", _A, _ALWAYS),
        ("add_keyword", "POST", "/v1/pages/{pageId}/keywords", _A, _NEVER),
        ("get_keyword", "GET", "/v1/keywords/{keywordId}", _S, _ALWAYS),
        ("analyze_keyword", "POST", "/v1/keywords/{keywordId}/analyze", _S, _NEVER),
        ("score_keyword", "POST", "/v1/keywords/{keywordId}/report", _A, _ALWAYS),
        ("list_prompts", "GET", "/v1/keywords/{keywordId}/prompts", _A, _ALWAYS),
        ("add_prompt", "POST", "/v1/keywords/{keywordId}/prompts", _P, _NEVER),
        ("get_prompt", "GET", "/v1/prompts/{promptId}", _P, _ALWAYS),
        ("analyze_prompt", "POST", "/v1/prompts/{promptId}/analyze", _A, _NEVER),
        ("score_prompt", "POST", "/v1/prompts/{promptId}/report", _P, _ALWAYS),
        ("list_brand_voices", "GET", "/v1/workspaces/{workspaceId}/brand-voices", _A, _ALWAYS),
        ("get_brand_voice", "GET", "/v1/brand-voices/{brandVoiceId}", _P, _ALWAYS),
        ("list_knowledge_documents", "GET", "/v1/workspaces/{workspaceId}/knowledge-documents", _A, _ALWAYS),
        ("create_knowledge_document", "POST", "/v1/workspaces/{workspaceId}/knowledge-documents", _A, _NEVER),
        ("get_knowledge_document", "GET", "/v1/knowledge-documents/{knowledgeDocumentId}", _S, _ALWAYS),
        ("start_content_idea_search", "POST", "/v1/workspaces/{workspaceId}/content-idea-searches", _S, _NEVER),
        ("get_content_idea_search", "GET", "/v1/content-idea-searches/{searchId}", _S, _ALWAYS),
        ("list_content_ideas", "GET", "/v1/content-idea-searches/{searchId}/content-ideas", _S, _ALWAYS),
        ("list_credit_usages", "GET", "/v1/credit-usages", _S, _ALWAYS),
    )
)
