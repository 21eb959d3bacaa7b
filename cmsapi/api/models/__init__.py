"""Resources of the service as frozen attrs classes, one module per resource; `cmsapi.api.wire` reads them."""

from __future__ import annotations

from cmsapi.api.envelope import Pagination
from cmsapi.api.model import Extra, Model
from cmsapi.api.models.acknowledgement import Acknowledgement
from cmsapi.api.models.analysis import AnalysisStatus
from cmsapi.api.models.brand_voice import BrandVoice
from cmsapi.api.models.content import Assignee, Content, ContentStatus, ContentSummary, ContentType, FolderRef, PageRef
from cmsapi.api.models.credit_usage import CreditType, CreditUsage, UsageKeyword
from cmsapi.api.models.folder import Folder, FolderTree
from cmsapi.api.models.generation import Generation, GenerationSettings, GenerationStatus, LastGeneration
from cmsapi.api.models.idea_search import ContentIdea, ContentIdeaSearch, SearchStatus
from cmsapi.api.models.keyword import Keyword
from cmsapi.api.models.knowledge_document import KnowledgeDocument, KnowledgeStatus, KnowledgeType, KnowledgeWorkspace
from cmsapi.api.models.member import Member, Role
from cmsapi.api.models.prompt import Prompt
from cmsapi.api.models.report import Report, ReportBrand, ReportSource, ScoreReport
from cmsapi.api.models.user import Credits, Organization, User, UserRef
from cmsapi.api.models.web_page import WebPage
from cmsapi.api.models.workspace import OrganizationRef, Workspace, WorkspaceRef
from cmsapi.api.open_enum import OpenEnum

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
