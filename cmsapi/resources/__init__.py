"""The operations of the service, resource by resource."""

from __future__ import annotations

from cmsapi.resources.brand_voices import BrandVoices as BrandVoices
from cmsapi.resources.content_ideas import ContentIdeaSearches as ContentIdeaSearches
from cmsapi.resources.contents import Contents as Contents
from cmsapi.resources.credit_usages import CreditUsages as CreditUsages
from cmsapi.resources.folders import Folders as Folders
from cmsapi.resources.keywords import Keywords as Keywords
from cmsapi.resources.knowledge_documents import KnowledgeDocuments as KnowledgeDocuments
from cmsapi.resources.pages import Pages as Pages
from cmsapi.resources.prompts import Prompts as Prompts
from cmsapi.resources.users import Users as Users
from cmsapi.resources.workspaces import Workspaces as Workspaces
