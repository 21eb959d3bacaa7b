"""Every model, from its own module."""

from __future__ import annotations

from cmsapi.models.acknowledgement import Acknowledgement
from cmsapi.models.analysis import AnalysisStatus
from cmsapi.models.brand_voice import BrandVoice
from cmsapi.models.content import Assignee, Content, ContentStatus, ContentSummary, ContentType, FolderRef, PageRef
from cmsapi.models.credit_usage import CreditType, CreditUsage, UsageKeyword
from cmsapi.models.folder import Folder, FolderTree
from cmsapi.models.generation import Generation, GenerationSettings, GenerationStatus, LastGeneration
from cmsapi.models.idea_search import ContentIdea, ContentIdeaSearch, SearchStatus
from cmsapi.models.keyword import Keyword
from cmsapi.models.knowledge_document import KnowledgeDocument, KnowledgeStatus, KnowledgeType, KnowledgeWorkspace
from cmsapi.models.member import Member, Role
from cmsapi.models.model import Extra, Model
from cmsapi.models.open_enum import OpenEnum
from cmsapi.models.pagination import Pagination
from cmsapi.models.prompt import Prompt
from cmsapi.models.report import Report, ReportBrand, ReportSource, ScoreReport
from cmsapi.models.user import Credits, Organization, User, UserRef
from cmsapi.models.web_page import WebPage
from cmsapi.models.workspace import OrganizationRef, Workspace, WorkspaceRef

__all__ = [
    "Acknowledgement",
    "AnalysisStatus",
    "Assignee",
    "BrandVoice",
    "Content",
    "ContentIdea",
    "ContentIdeaSearch",
    "ContentStatus",
    "ContentSummary",
    "ContentType",
    "CreditType",
    "CreditUsage",
    "Credits",
    "Extra",
    "Folder",
    "FolderRef",
    "FolderTree",
    "Generation",
    "GenerationSettings",
    "GenerationStatus",
    "Keyword",
    "KnowledgeDocument",
    "KnowledgeStatus",
    "KnowledgeType",
    "KnowledgeWorkspace",
    "LastGeneration",
    "Member",
    "Model",
    "OpenEnum",
    "Organization",
    "OrganizationRef",
    "PageRef",
    "Pagination",
    "Prompt",
    "Report",
    "ReportBrand",
    "ReportSource",
    "Role",
    "ScoreReport",
    "SearchStatus",
    "UsageKeyword",
    "User",
    "UserRef",
    "WebPage",
    "Workspace",
    "WorkspaceRef",
]
