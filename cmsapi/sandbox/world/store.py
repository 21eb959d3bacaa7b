"""The records of the service by identifier, in order of creation."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Protocol, TypeVar

from cmsapi.sandbox.randomness.identifiers import Identifiers

if TYPE_CHECKING:
    from cmsapi.sandbox.world import records


class InWorkspace(Protocol):
    """A record of a workspace."""

    id: str
    workspace_id: str


_Record = TypeVar("_Record", bound=InWorkspace)


class Table(dict[str, _Record]):
    """Keep records by identifier, and index them by owner.

    Args:
        owner: Returns the identifier of a record's owner, which never changes.
    """

    def __init__(self, owner: Callable[[_Record], str]) -> None:
        super().__init__()
        self._owner = owner
        self._owned: dict[str, dict[str, _Record]] = {}

    def __setitem__(self, id_: str, record: _Record) -> None:
        super().__setitem__(id_, record)
        self._owned.setdefault(self._owner(record), {})[id_] = record

    def __delitem__(self, id_: str) -> None:
        del self._owned[self._owner(self[id_])][id_]
        super().__delitem__(id_)

    def of(self, owner_id: str) -> list[_Record]:
        """Return the records of an owner, in order of creation."""
        return list(self._owned.get(owner_id, {}).values())


class Store:
    """Keep the records; a deletion includes the dependent records.

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
        self.keywords: Table[records.Keyword] = Table(attrgetter("page_id"))
        self.prompts: Table[records.Prompt] = Table(attrgetter("keyword_id"))
        self.contents: Table[records.Content] = Table(attrgetter("page_id"))
        self.idea_searches: dict[str, records.IdeaSearch] = {}
        self.brand_voices: dict[str, records.BrandVoice] = {}
        self.knowledge_documents: dict[str, records.KnowledgeDocument] = {}
        self.usages: dict[str, list[records.Usage]] = {"analysis": [], "ai_writing": [], "content_idea_search": []}

    @staticmethod
    def of_workspace(table: dict[str, _Record], workspace_id: str) -> list[_Record]:
        """Return the records of a workspace."""
        return [record for record in table.values() if record.workspace_id == workspace_id]

    def analyzed_keyword(self, page_id: str) -> records.Keyword | None:
        """Return the first keyword of a page with a completed analysis."""
        return next((keyword for keyword in self.keywords.of(page_id) if keyword.analyzed), None)

    def delete_page(self, page_id: str) -> None:
        """Delete a page with its contents, its keywords and their prompts."""
        for content in self.contents.of(page_id):
            del self.contents[content.id]
        for keyword in self.keywords.of(page_id):
            for prompt in self.prompts.of(keyword.id):
                del self.prompts[prompt.id]
            del self.keywords[keyword.id]
        del self.pages[page_id]

    def delete_folder(self, folder_id: str, *, new_parent: str | None) -> None:
        """Delete a folder: its contents have no folder then (section 4.2), and its sub-folders move to another parent.

        Args:
            folder_id: The folder.
            new_parent: Parent of its sub-folders; None for the top level.
        """
        for content in self.contents.values():
            if content.folder_id == folder_id:
                content.folder_id = None
        for folder in self.folders.values():
            if folder.parent_id == folder_id:
                folder.parent_id = new_parent
        del self.folders[folder_id]
