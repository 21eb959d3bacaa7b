"""The analysis of a prompt (specification 3 and 4.5)."""

from __future__ import annotations

from datetime import datetime

from cmsapi.api.models import Prompt
from cmsapi.jobs.kinds.analysis import ANALYSIS_CREDITS, interpret_analysis, judge_analysis, shown_analysis
from cmsapi.jobs.kinds.evidence import Charges, Finding, Others
from cmsapi.jobs.kinds.kind import JobKind, Kind, Shown
from cmsapi.jobs.kinds.observation import JobHistory, Observation
from cmsapi.state.journal import Entry
from cmsapi.transport.caller import OperationCaller


class PromptAnalysis(Kind):
    """Describe the analysis of a prompt; the prompt is the target, and the result."""

    name = JobKind.PROMPT_ANALYSIS
    operation, parameter, model = "get_prompt", "promptId", Prompt
    launch_operation = "analyze_prompt"
    balance = ANALYSIS_CREDITS
    where_to_look = "client.prompts.get shows whether it runs; client.jobs.watch waits for it."

    def interpret(self, document: Prompt, history: JobHistory, now: float) -> Observation:
        """Say what the prompt's status means."""
        return interpret_analysis(document, history, now)

    def shown(self, document: Prompt) -> Shown:
        """Say what a prompt shows; items of lists may show less."""
        return shown_analysis(document)

    async def read_evidence(self, caller: OperationCaller, entry: Entry) -> Prompt:
        """Read the prompt."""
        return await caller.call(Prompt, self.operation, {self.parameter: entry.target})

    def judge_shown(self, entry: Entry, document: Prompt, now: datetime | None) -> Finding | None:
        """Say what the prompt itself tells."""
        return judge_analysis(entry, document, now)

    def judge(self, entry: Entry, document: Prompt, charges: Charges | None, others: Others) -> Finding:
        """Say that nothing is left: usages do not name prompts."""
        return Finding.unknown("the prompt shows no analysis since, and usages of credits do not name prompts")
