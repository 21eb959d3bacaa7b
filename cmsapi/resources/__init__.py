"""The classes behind a client's attributes, such as ``client.contents``: one for each resource of the service."""

# fmt: off
from cmsapi.resources.content_ideas import ContentIdeaSearches
from cmsapi.resources.contents import Contents
from cmsapi.resources.folders import Folders
from cmsapi.resources.keywords import Keywords, Pages, Prompts
from cmsapi.resources.knowledge import BrandVoices, KnowledgeDocuments
from cmsapi.resources.organization import CreditUsages, Users, Workspaces

__all__ = [
    "BrandVoices", "ContentIdeaSearches", "Contents", "CreditUsages", "Folders", "Keywords", "KnowledgeDocuments",
    "Pages", "Prompts", "Users", "Workspaces",
]
