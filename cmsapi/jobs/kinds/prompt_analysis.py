"""The analysis of a prompt (specification 3 and 4.5)."""

from __future__ import annotations

from cmsapi.api.models import Prompt
from cmsapi.jobs.kinds import analysis
from cmsapi.jobs.kinds.evidence import Charges, Finding, Others
from cmsapi.jobs.kinds.kind import JobKind, Kind
from cmsapi.state.journal import Entry


class PromptAnalysis(Kind):
    """Describe the analysis of a prompt; the prompt is the target, and the result."""

    name = JobKind.PROMPT_ANALYSIS
    operation, parameter, model = "get_prompt", "promptId", Prompt
    launch_operation = "analyze_prompt"
    balance = analysis.CREDITS
    where_to_look = "client.prompts.get shows whether it runs; client.jobs.watch waits for it."
    interpret, shown = analysis.interpret, analysis.shown
    read_evidence, judge_shown = analysis.read_evidence, analysis.judge_shown

    def judge(self, entry: Entry, document: Prompt, charges: Charges | None, others: Others) -> Finding:
        """Say that nothing is left: usages do not name prompts."""
        return Finding.unknown("the prompt shows no analysis since, and usages of credits do not name prompts")
