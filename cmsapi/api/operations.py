"""Every operation of the interface in one immutable table.

A row gives the route of an operation, the source that shows it, and the effect of a repeated request. Rows that no
source shows are named assumptions, and an assumption can be replaced in one place::

    Client(operations=OPERATIONS.override(confirm_generation="POST /v1/generations/{contentId}/confirm"))
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType

import attrs

from cmsapi.errors import ConfigError

# Specification 8, rule 3: no limit counts them. They need no key either.
UNLIMITED_PATHS = frozenset({"/health", "/openapi.json", "/docs"})


class Provenance(enum.Enum):
    """Say how well a route, a field or a word is known.

    The specification marks about half of the interface "not shown". What the SDK does there is a default with a
    provenance, so that a reader and an error message can tell a promise from a guess.
    """

    SPEC = "stated by the specification"
    PUBLISHED = "seen in a public reference of the same interface"
    ASSUMED = "shown nowhere; the most natural REST shape"


class Replay(enum.Enum):
    """Say what it means to send an operation again when the outcome of the first request is not known."""

    SAFE = "reading: repeat freely"
    IDEMPOTENT = "changing to a stated result: a repeat changes nothing more"
    CREATES = "making something: a repeat may make it twice"
    COSTS_CREDIT = "launching paid work: a repeat may be paid twice"


#: What it means for a method, where the operation is not known.
REPLAY_BY_METHOD: Mapping[str, Replay] = {
    "GET": Replay.SAFE,
    "PUT": Replay.IDEMPOTENT,
    "DELETE": Replay.IDEMPOTENT,
    "PATCH": Replay.CREATES,
    "POST": Replay.CREATES,
}


@attrs.frozen
class Operation:
    """Describe one operation.

    Args:
        name: Name in the table.
        method: HTTP method.
        path: Path template; `{names}` are path parameters.
        replay: What repeating means.
        provenance: How the route is known.
        success: Documented success codes. Any other 2xx is accepted too, and counted as drift when there are some.
        section: Section of the specification that it serves.
    """

    name: str
    method: str
    path: str
    replay: Replay = Replay.SAFE
    provenance: Provenance = Provenance.SPEC
    success: frozenset[int] = frozenset()
    section: str = "4"

    @property
    def route(self) -> str:
        """Give method and path template, as `override` takes them."""
        return f"{self.method} {self.path}"

    @property
    def hint(self) -> str | None:
        """Return how to replace the route, if it is assumed."""
        if self.provenance is not Provenance.ASSUMED:
            return None
        return f"The route {self.route} is assumed: the specification does not show it. {self._override}"

    @property
    def hint_of_absence(self) -> str | None:
        """Return the same where the service itself says that what was asked for does not exist: most are typos."""
        if self.provenance is not Provenance.ASSUMED:
            return None
        return f"Check the identifier. If it is right: the specification does not show {self.route}. {self._override}"

    @property
    def _override(self) -> str:
        return (
            f"If the service has another one, use Client(operations=OPERATIONS.override({self.name}='METHOD /v1/…'))."
        )


_ROUTE = re.compile(r"(GET|POST|PUT|PATCH|DELETE) (/v1(?:/(?:[\w.-]*[\w-]|\{\w+\}))+)", re.ASCII)
_PARAMETER = re.compile(r"\{(\w+)\}")


class OperationTable(Mapping[str, Operation]):
    """Look up operations by name; immutable."""

    __slots__ = ("rows",)

    def __init__(self, rows: Mapping[str, Operation]) -> None:
        #: The operations by name.
        self.rows: Mapping[str, Operation] = MappingProxyType(dict(rows))

    def __getitem__(self, name: str) -> Operation:
        return self.rows[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"<OperationTable of {len(self)} operations>"

    def override(self, **routes: str) -> OperationTable:
        """Make a table in which some operations have another route.

        Args:
            **routes: Operation name to `"METHOD /v1/path/{parameter}"`, with the same parameters as before.

        Raises:
            ConfigError: No such operation, not a route under `/v1`, or other parameters than the operation has.
        """
        rows = dict(self.rows)
        for name, route in routes.items():
            if name not in rows:
                raise ConfigError(f"There is no operation {name!r}; the table has: {', '.join(rows)}.")
            match = _ROUTE.fullmatch(route) if isinstance(route, str) else None
            # A whole URL or //host would send the key to another host.
            if match is None:
                raise ConfigError(
                    f"The route for {name} must have the form 'METHOD /v1/path/{{parameter}}', got {route!r}."
                )
            method, path = match.groups()
            expected, found = (set(_PARAMETER.findall(template)) for template in (rows[name].path, path))
            if expected != found:
                raise ConfigError(
                    f"The route for {name} must have the parameters {sorted(expected)}, got {sorted(found)}."
                )
            rows[name] = attrs.evolve(rows[name], method=method, path=path)
        return OperationTable(rows)


def _table() -> OperationTable:
    safe, idempotent, creates, costs = Replay
    spec, published, assumed = Provenance

    def row(
        name: str,
        route: str,
        replay: Replay = safe,
        provenance: Provenance = spec,
        section: str = "4.8",
        success: int | None = None,
    ) -> Operation:
        method, path = route.split(" ")
        codes = frozenset() if success is None else frozenset({success})
        return Operation(name, method, path, replay, provenance, codes, section)

    rows = [
        row("get_me", "GET /v1/me", section="4.1", success=200),
        row("list_users", "GET /v1/users"),
        row("list_workspaces", "GET /v1/workspaces"),
        row("get_workspace", "GET /v1/workspaces/{workspaceId}", section="4.2", success=200),
        row("list_workspace_members", "GET /v1/workspaces/{workspaceId}/users", safe, published),
        row("list_content_statuses", "GET /v1/workspaces/{workspaceId}/content-statuses", safe, assumed),
        row("list_folders", "GET /v1/workspaces/{workspaceId}/folders", section="4.2"),
        row("create_folder", "POST /v1/workspaces/{workspaceId}/folders", creates, published, success=201),
        row("delete_folder", "DELETE /v1/folders/{folderId}", idempotent, section="4.2"),
        row("list_contents", "GET /v1/workspaces/{workspaceId}/contents", safe, published),
        row("create_content", "POST /v1/workspaces/{workspaceId}/contents", creates, section="4.3"),
        row("get_content", "GET /v1/contents/{contentId}", safe, assumed),
        row("update_content", "PATCH /v1/contents/{contentId}", idempotent, assumed, "4.8, 9"),
        row("publish_content", "POST /v1/contents/{contentId}/publish", creates, published),
        row("delete_content", "DELETE /v1/contents/{contentId}", idempotent, section="4.3"),
        row("generate_content", "POST /v1/contents/{contentId}/atomic", costs, section="4.4"),
        row("get_generation", "GET /v1/contents/{contentId}/generation", section="4.4"),
        row("confirm_generation", "POST /v1/contents/{contentId}/generation/confirm", creates, assumed),
        row("cancel_generation", "POST /v1/contents/{contentId}/generation/cancel", creates, assumed),
        row("list_pages", "GET /v1/workspaces/{workspaceId}/pages", safe, assumed),
        row("import_page", "POST /v1/workspaces/{workspaceId}/pages", creates, assumed),
        row("get_page", "GET /v1/pages/{pageId}", safe, assumed),
        row("crawl_page", "POST /v1/pages/{pageId}/crawl", creates, assumed),
        row("delete_page", "DELETE /v1/pages/{pageId}", idempotent, section="4.3"),
        row("list_keywords", "GET /v1/pages/{pageId}/keywords", safe, assumed),
        row("add_keyword", "POST /v1/pages/{pageId}/keywords", creates, assumed),
        row("get_keyword", "GET /v1/keywords/{keywordId}", section="4.5"),
        row("analyze_keyword", "POST /v1/keywords/{keywordId}/analyze", costs, section="4.5"),
        # Scoring computes: it creates nothing that is shown, and section 1 does not list it among what costs credits.
        row("score_keyword", "POST /v1/keywords/{keywordId}/report", safe, assumed),
        row("list_prompts", "GET /v1/keywords/{keywordId}/prompts", safe, assumed),
        row("add_prompt", "POST /v1/keywords/{keywordId}/prompts", creates, published, success=201),
        row("get_prompt", "GET /v1/prompts/{promptId}", safe, published),
        row("analyze_prompt", "POST /v1/prompts/{promptId}/analyze", costs, assumed),
        row("score_prompt", "POST /v1/prompts/{promptId}/report", safe, published),
        row("list_brand_voices", "GET /v1/workspaces/{workspaceId}/brand-voices", safe, assumed),
        row("get_brand_voice", "GET /v1/brand-voices/{brandVoiceId}", safe, published),
        row("list_knowledge_documents", "GET /v1/workspaces/{workspaceId}/knowledge-documents", safe, assumed),
        row("create_knowledge_document", "POST /v1/workspaces/{workspaceId}/knowledge-documents", creates, assumed),
        row("get_knowledge_document", "GET /v1/knowledge-documents/{knowledgeDocumentId}", section="4.6b", success=200),
        row(
            "start_content_idea_search",
            "POST /v1/workspaces/{workspaceId}/content-idea-searches",
            costs,
            section="4.6",
            success=202,
        ),
        row("get_content_idea_search", "GET /v1/content-idea-searches/{contentIdeaSearchId}", section="4.6"),
        row("list_content_ideas", "GET /v1/content-idea-searches/{contentIdeaSearchId}/content-ideas", section="4.6"),
        row("list_credit_usages", "GET /v1/credit-usages", section="4.7"),
    ]
    return OperationTable({operation.name: operation for operation in rows})


OPERATIONS = _table()
