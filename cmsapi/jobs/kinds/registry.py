"""The kinds of jobs that this package knows, by their words."""

from __future__ import annotations

from cmsapi.jobs.kinds.generation import ArticleGeneration
from cmsapi.jobs.kinds.idea_search import IdeaSearch
from cmsapi.jobs.kinds.keyword_analysis import KeywordAnalysis
from cmsapi.jobs.kinds.kind import Kind
from cmsapi.jobs.kinds.knowledge_document import KnowledgeProcessing
from cmsapi.jobs.kinds.prompt_analysis import PromptAnalysis

#: All kinds; add one before a client is made. Words that only another version of this package knows are missing.
KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (KeywordAnalysis(), PromptAnalysis(), IdeaSearch(), ArticleGeneration(), KnowledgeProcessing())
}
