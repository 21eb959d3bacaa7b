"""What the service returns: one class for each resource, and small ones for what is inside them."""

from cmsapi.models.base import Model, OpenEnum
from cmsapi.models.brand_voice import BrandVoice
from cmsapi.models.content import Content, ContentStatus, ContentSummary
from cmsapi.models.content_idea import ContentIdea, ContentIdeas, ContentIdeaSearch
from cmsapi.models.credit_usage import CreditType, CreditUsage, UsageKeyword
from cmsapi.models.folder import Folder, FolderTree
from cmsapi.models.generation import Generation, GenerationSettings
from cmsapi.models.keyword import Keyword, Prompt
from cmsapi.models.knowledge_document import KnowledgeDocument
from cmsapi.models.references import Reference, UserReference, WorkspaceReference
from cmsapi.models.report import PromptReport, Report, ReportBrand, ReportSource
from cmsapi.models.user import Credits, Member, Organization, User
from cmsapi.models.web_page import WebPage
from cmsapi.models.workspace import Workspace

__all__ = [
    "BrandVoice",
    "Content",
    "ContentIdea",
    "ContentIdeaSearch",
    "ContentIdeas",
    "ContentStatus",
    "ContentSummary",
    "CreditType",
    "CreditUsage",
    "Credits",
    "Folder",
    "FolderTree",
    "Generation",
    "GenerationSettings",
    "Keyword",
    "KnowledgeDocument",
    "Member",
    "Model",
    "OpenEnum",
    "Organization",
    "Prompt",
    "PromptReport",
    "Reference",
    "Report",
    "ReportBrand",
    "ReportSource",
    "UsageKeyword",
    "User",
    "UserReference",
    "WebPage",
    "Workspace",
    "WorkspaceReference",
]
