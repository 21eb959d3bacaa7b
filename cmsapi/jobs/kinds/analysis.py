"""What the analyses of keywords and of prompts have in common.

Completion is an *edge*, not a level. An analysis has no identifier, so a `success` read just after a launch may be the
previous one, also after the new one was seen running: services answer from copies that lag behind. A finished word
counts as *this* analysis when the time of the last analysis is not before the launch, on the service's clock, or where
that is not known by two minutes on this machine's, and is later than the time of the analysis before, if that is known.
Without a time to compare with, it counts when a running word was seen since the launch, or the poll came 5 s or more
after the launch was answered; if an analysis of the same has ended just before, only once it has lasted.

A word with an earlier time is that of an earlier analysis, with exceptions that count once they have lasted: a failure
may leave the earlier time in place, the time may be that of the beginning, and the machine that writes the times may
have a clock of its own.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from cmsapi.api.models.keyword import Keyword, Prompt
from cmsapi.config import WordMap
from cmsapi.jobs.kinds.doubt import Doubt
from cmsapi.jobs.kinds.evidence import CLOCK_BLUR, OWN_CLOCK, Finding, Verdict
from cmsapi.jobs.kinds.kind import NO_WORDS, Balance, JobHistory, Kind, Observation, Shown
from cmsapi.jobs.status import Phase
from cmsapi.state.entry import Entry
from cmsapi.transport.caller import OperationCaller

CREDITS = Balance("analysis", "analysis")

# How long after a launch the service may still show the previous analysis, in seconds.
SETTLING_TIME = 5.0


class Analysis(Kind):
    """Describe an analysis: its target is what is analysed, and that is the result, too."""

    state_field: ClassVar[str] = "analysis_status"
    balance: ClassVar[Balance | None] = CREDITS

    def interpret(
        self, document: Keyword | Prompt, history: JobHistory, age: float, words: WordMap = NO_WORDS
    ) -> Observation:
        """Say what the status of an analysis means."""
        observation, analyzed_at = self.of_word(document.analysis_status, words), document.last_analyzed_at
        if observation.doubt is None and observation.phase is Phase.RUNNING:
            history.earlier = history.earlier or analyzed_at
            history.undated = history.earlier is None and not document.lacks("lastAnalyzedAt")
        elif observation.finished and not _is_this_analysis(analyzed_at, history, age):
            if _may_be_this_analysis(observation.phase, analyzed_at, history):
                return Observation(Phase.RUNNING, observation.state, Doubt.EARLIER_TIME, observation.phase)
            return Observation(Phase.RUNNING, observation.state, Doubt.EARLIER_RUN)
        return observation

    def shown(self, document: Keyword | Prompt, words: WordMap = NO_WORDS) -> Shown:
        """Say what a keyword or prompt shows of its analysis: items of lists may have no status, or no time."""
        if document.lacks("analysisStatus"):
            return Shown.NOTHING
        return Shown.STATE if document.lacks("lastAnalyzedAt") else Shown.RESULT

    async def read_evidence(self, caller: OperationCaller, entry: Entry) -> Any:
        """Read the keyword or prompt."""
        return await caller.call(self.model, self.operation, {self.parameter: entry.target})

    def judge_shown(
        self, entry: Entry, document: Keyword | Prompt, now: datetime | None, words: WordMap = NO_WORDS
    ) -> Finding | None:
        """Say what the keyword or prompt itself tells of a launch, or None when that is nothing."""
        shown = self.of_word(document.analysis_status, words)
        if shown.phase is Phase.RUNNING:
            return Finding(verdict=Verdict.LAUNCHED, why="its analysis runs", running=True)
        analyzed_at = document.last_analyzed_at
        if analyzed_at is not None and now is not None and analyzed_at > now + CLOCK_BLUR:
            # The service's clock was set back since.
            return Finding.unknown(
                f"it was analysed at {analyzed_at.isoformat()}, later than the service's clock says now"
            )
        if entry.served_at is not None and analyzed_at is not None and analyzed_at.timestamp() >= entry.served_at:
            return Finding(verdict=Verdict.LAUNCHED, why=f"it was analysed at {analyzed_at.isoformat()}", running=True)
        if shown.phase is Phase.UNKNOWN and shown.state is not None:
            return Finding.unknown(f"it shows the word {shown.state}, which may mean that its analysis runs")
        return None


def _is_this_analysis(analyzed_at: datetime | None, history: JobHistory, age: float) -> bool:
    if history.watched:
        return True
    if analyzed_at is None:
        return not history.again and (history.saw_running or age >= SETTLING_TIME)
    if history.launched_at is None:
        return history.saw_running
    known = history.earlier is not None and analyzed_at <= history.earlier
    return not known and analyzed_at >= history.launched_at - CLOCK_BLUR


def _may_be_this_analysis(phase: Phase, analyzed_at: datetime | None, history: JobHistory) -> bool:
    """Tell whether an end without a time, or with one from before the launch, is this analysis if it lasts."""
    if analyzed_at is None:
        return history.again
    if phase is Phase.FAILED and analyzed_at == history.earlier:
        # The analysis of that time has succeeded, so that this failure is a later one.
        return True
    if not history.saw_running or history.launched_at is None:
        return False
    if phase is Phase.FAILED or history.undated or analyzed_at >= history.launched_at - CLOCK_BLUR:
        return True
    if history.earlier is not None:
        return analyzed_at > history.earlier
    return analyzed_at >= history.launched_at - OWN_CLOCK
