"""Models of the data exchanged with the service: a class for each resource, and smaller ones for nested objects."""

# fmt: off
# ruff: noqa: I001  (the lists of names are packed, which the import sorter would undo)
from cmsapi.models.base import Model, Reference, UserReference
from cmsapi.models.content import Content, ContentStatus, ContentSummary, Generation, GenerationSettings
from cmsapi.models.content_idea import ContentIdea, ContentIdeas, ContentIdeaSearch
from cmsapi.models.folder import Folder, FolderTree
from cmsapi.models.keyword import Keyword, Prompt, PromptReport, Report, ReportBrand, ReportSource, WebPage
from cmsapi.models.knowledge import BrandVoice, KnowledgeDocument, WorkspaceReference
from cmsapi.models.organization import (
    Credits, CreditType, CreditUsage, Member, Organization, UsageKeyword, User, Workspace,
)

__all__ = [
    "BrandVoice", "Content", "ContentIdea", "ContentIdeaSearch", "ContentIdeas", "ContentStatus", "ContentSummary",
    "CreditType", "CreditUsage", "Credits", "Folder", "FolderTree", "Generation", "GenerationSettings", "Keyword",
    "KnowledgeDocument", "Member", "Model", "Organization", "Prompt", "PromptReport", "Reference", "Report",
    "ReportBrand", "ReportSource", "UsageKeyword", "User", "UserReference", "WebPage", "Workspace",
    "WorkspaceReference",
]
