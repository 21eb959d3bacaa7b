"""The attributes of a client: one class for each resource of the service."""

from cmsapi.resources.brand_voices import BrandVoices
from cmsapi.resources.content_ideas import ContentIdeaSearches
from cmsapi.resources.contents import Contents
from cmsapi.resources.credit_usages import CreditUsages
from cmsapi.resources.folders import Folders
from cmsapi.resources.keywords import Keywords
from cmsapi.resources.knowledge_documents import KnowledgeDocuments
from cmsapi.resources.pages import Pages
from cmsapi.resources.prompts import Prompts
from cmsapi.resources.users import Users
from cmsapi.resources.workspaces import Workspaces

__all__ = [
    "BrandVoices",
    "ContentIdeaSearches",
    "Contents",
    "CreditUsages",
    "Folders",
    "Keywords",
    "KnowledgeDocuments",
    "Pages",
    "Prompts",
    "Users",
    "Workspaces",
]
