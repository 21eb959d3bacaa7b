"""Values with which the reference fills its fields: API keys, and an identifier for each parameter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cmsapi.sandbox.world.initial_data import InitialData


def examples(data: InitialData, keys: Mapping[str, str]) -> dict[str, Any]:
    """Return the keys by name, and the values by name of a parameter.

    Args:
        data: The identifiers of the initial data.
        keys: API keys by name.
    """
    identifiers = {
        "folderId": data.folder_ids,
        "contentId": data.content_ids,
        "pageId": data.page_ids,
        "keywordId": data.keyword_ids,
        "promptId": data.prompt_ids,
        "brandVoiceId": data.brand_voice_ids,
        "knowledgeDocumentId": data.knowledge_document_ids,
        "contentStatusId": data.content_status_ids,
        "assignedToId": data.user_ids,
    }
    values = {"workspaceId": data.workspace_id, **{name: ids[0] for name, ids in identifiers.items() if ids}}
    return {"keys": keys, "values": values}
