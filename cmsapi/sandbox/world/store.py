"""The records of the service by identifier, in order of creation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeVar

from cmsapi.sandbox.randomness.identifiers import Identifiers

if TYPE_CHECKING:
    from cmsapi.sandbox.world import records


class InWorkspace(Protocol):
    """A record of a workspace."""

    id: str
    workspace_id: str


class _OnPage(Protocol):
    page_id: str


_Record = TypeVar("_Record", bound=InWorkspace)
_Item = TypeVar("_Item", bound=_OnPage)


class Store:
    """Keep the records.

    Args:
        seed: Seed of the identifiers.
        odd_identifiers: Whether identifiers contain characters that must be percent-encoded in a path.
    """

    def __init__(self, seed: object, *, odd_identifiers: bool = False) -> None:
        self.new_id: Callable[[str], str] = Identifiers(seed, odd=odd_identifiers).new
        self.users: dict[str, records.User] = {}
        self.workspaces: dict[str, records.Workspace] = {}
        self.content_statuses: dict[str, records.ContentStatus] = {}
        self.folders: dict[str, records.Folder] = {}
        self.pages: dict[str, records.Page] = {}
        self.keywords: dict[str, records.Keyword] = {}
        self.prompts: dict[str, records.Prompt] = {}
        self.contents: dict[str, records.Content] = {}
        self.idea_searches: dict[str, records.IdeaSearch] = {}
        self.brand_voices: dict[str, records.BrandVoice] = {}
        self.knowledge_documents: dict[str, records.KnowledgeDocument] = {}
        self.usages: dict[str, list[records.Usage]] = {"analysis": [], "ai_writing": [], "content_idea_search": []}

    @staticmethod
    def of_workspace(table: dict[str, _Record], workspace_id: str) -> list[_Record]:
        """Return the records of a workspace."""
        return [record for record in table.values() if record.workspace_id == workspace_id]

    @staticmethod
    def of_page(table: dict[str, _Item], page_id: str) -> list[_Item]:
        """Return the contents or keywords of a page."""
        return [record for record in table.values() if record.page_id == page_id]

    def prompts_of(self, keyword_id: str) -> list[records.Prompt]:
        """Return the prompts of a keyword."""
        return [prompt for prompt in self.prompts.values() if prompt.keyword_id == keyword_id]

    def analyzed_keyword(self, page_id: str) -> records.Keyword | None:
        """Return the first keyword of a page with a completed analysis."""
        return next((keyword for keyword in self.of_page(self.keywords, page_id) if keyword.analyzed), None)
