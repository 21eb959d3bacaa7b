"""The analysis of a prompt (specification 3 and 4.5)."""

from __future__ import annotations

from typing import ClassVar

from cmsapi.api.model import Model
from cmsapi.api.models.keyword import Prompt
from cmsapi.jobs.kinds.analysis import Analysis
from cmsapi.jobs.kinds.kind import JobKind


class PromptAnalysis(Analysis):
    """Describe the analysis of a prompt; the prompt is the target, and the result."""

    name: ClassVar[JobKind] = JobKind.PROMPT_ANALYSIS
    operation: ClassVar[str] = "get_prompt"
    parameter: ClassVar[str] = "promptId"
    model: ClassVar[type[Model]] = Prompt
    name_field: ClassVar[str] = "prompt"
    launch_operation: ClassVar[str] = "analyze_prompt"
    where_to_look: ClassVar[str] = "client.prompts.get shows whether it runs; client.jobs.watch waits for it."
