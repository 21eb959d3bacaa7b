"""What the analyses of keywords and of prompts have in common.

Completion is an *edge*, not a level. An analysis has no identifier, so a `success` read just after a launch may be the
previous one. A finished word counts as *this* analysis by the first rule that applies:

1. a running word was seen since the launch;
2. the time of the last analysis is not before the launch, on the service's clock, or where that is not known by two
   minutes on this machine's;
3. there is no such time to compare with, and the poll came 5 s or more after the launch was answered.

Otherwise it is stale. A stale word, an unlisted word or a null decides nothing; when the same one stands for three
polls *and* for longer than such jobs take, the job ends with an error, so that it is not polled for ever.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from cmsapi.api.models.keyword import AnalysisStatus, Keyword, Prompt
from cmsapi.jobs.kinds.evidence import CLOCK_BLUR, Finding, Verdict
from cmsapi.jobs.kinds.kind import Balance, JobHistory, Kind, Observation, Shown, Words
from cmsapi.jobs.status import Phase
from cmsapi.state.entry import Entry
from cmsapi.transport.caller import OperationCaller

CREDITS = Balance("analysis", "analysis")

# How long after a launch the service may still show the previous analysis, in seconds.
SETTLING_TIME = 5.0


class Analysis(Kind):
    """Describe an analysis: its target is what is analysed, and that is the result, too."""

    running: ClassVar[Words] = (AnalysisStatus.QUEUED, AnalysisStatus.PENDING)
    succeeded: ClassVar[Words] = (AnalysisStatus.SUCCESS,)
    failed: ClassVar[Words] = (AnalysisStatus.FAILED,)
    balance: ClassVar[Balance | None] = CREDITS

    def interpret(self, document: Keyword | Prompt, history: JobHistory, now: float) -> Observation:
        """Say what the status of an analysis means."""
        observation = self.of_word(document.analysis_status)
        if observation.finished and not _is_this_analysis(document.last_analyzed_at, history, now):
            return Observation(Phase.RUNNING, observation.state, decided=False)
        return observation

    def shown(self, document: Keyword | Prompt) -> Shown:
        """Say what a keyword or prompt shows of its analysis: items of lists may have no status, or no time."""
        if document.lacks("analysisStatus"):
            return Shown.NOTHING
        return Shown.STATE if document.lacks("lastAnalyzedAt") else Shown.RESULT

    async def read_evidence(self, caller: OperationCaller, entry: Entry) -> Any:
        """Read the keyword or prompt."""
        return await caller.call(self.model, self.operation, {self.parameter: entry.target})

    def judge_shown(self, entry: Entry, document: Keyword | Prompt, now: datetime | None) -> Finding | None:
        """Say what the keyword or prompt itself tells of a launch, or None when that is nothing."""
        if document.analysis_status in self.running:
            return Finding(verdict=Verdict.LAUNCHED, why="its analysis runs", running=True)
        analyzed_at = document.last_analyzed_at
        if analyzed_at is not None and now is not None and analyzed_at > now + CLOCK_BLUR:
            # The service's clock was set back since.
            return Finding.unknown(
                f"it was analysed at {analyzed_at.isoformat()}, later than the service's clock says now"
            )
        if entry.served_at is not None and analyzed_at is not None and analyzed_at.timestamp() >= entry.served_at:
            return Finding(verdict=Verdict.LAUNCHED, why=f"it was analysed at {analyzed_at.isoformat()}", running=True)
        return None


def _is_this_analysis(analyzed_at: datetime | None, history: JobHistory, now: float) -> bool:
    if history.watched or history.saw_running:
        return True
    if analyzed_at is not None and history.launched_at is not None:
        return analyzed_at >= history.launched_at - CLOCK_BLUR
    return analyzed_at is None and now - history.began >= SETTLING_TIME
