"""What tells whether a launch happened whose answer nobody has; one function a kind, and nothing here sends anything.

The first rule that applies decides. Only a launch that certainly did not happen may be sent again. A balance alone
never proves that: credits are bought, given back, and charged at completion. It only has to agree with the list of
usages, so that nothing was charged that the list does not explain.
"""

from __future__ import annotations

import enum
import hashlib
import itertools
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import attrs

from cmsapi.jobs.kinds import CLOCK_BLUR
from cmsapi.models import AnalysisStatus, CreditUsage, Generation, GenerationStatus, Keyword, Prompt, User
from cmsapi.state.journal import Entry

_RUNNING = (AnalysisStatus.QUEUED, AnalysisStatus.PENDING)
_OVER = (GenerationStatus.APPLIED, GenerationStatus.DISCARDED, GenerationStatus.FAILED)


_LONGEST = 500


class Verdict(enum.Enum):
    """Say whether a launch happened."""

    LAUNCHED = "it was launched"
    ABSENT = "it was not launched"
    UNKNOWN = "nobody knows"


@attrs.frozen(kw_only=True)
class Finding:
    """Hold a verdict and what it rests on.

    Args:
        verdict: Whether it happened.
        why: What was seen, in words.
        job_id: The job, where the kind has an identifier.
        ours: Whether it is certainly not somebody else's.
        running: Whether it is known to have been running since the launch.
        served_at: When it was sent on the service's clock, as far as that is known by now.
    """

    verdict: Verdict
    why: str
    job_id: str | None = None
    ours: bool = True
    running: bool = False
    served_at: float | None = None


@attrs.frozen
class Charges:
    """Hold the usages of one type of credit since a launch.

    Args:
        user: Who asks, with the balances as they were read before the usages.
        balance: The balance of this type of credit among them.
        since: The usages since the launch, newest first.
        before: The last one before it, or None when there is none.
    """

    user: User
    balance: int
    since: Sequence[CreditUsage]
    before: CreditUsage | None

    @property
    def explained(self) -> bool:
        """Whether every credit that went was charged by a usage of the list."""
        known = [*self.since, *([self.before] if self.before is not None else [])]
        if not known:
            return True
        steps = itertools.pairwise(known)
        unbroken = all(new.remaining_credits == old.remaining_credits - abs(new.amount) for new, old in steps)
        return unbroken and self.balance in {usage.remaining_credits for usage in known}

    def by_us(self) -> list[CreditUsage]:
        """Return the usages by the user of the key."""
        return [usage for usage in self.since if usage.user.id == self.user.id]


def name_of(target: str) -> str:
    """Name what a launch works on in the journal: itself, or a digest of a keyword that is a whole text."""
    return target if len(target) <= _LONGEST else hashlib.blake2b(target.encode(), digest_size=16).hexdigest()


def since(entry: Entry) -> datetime | None:
    """Return the service's time from which on traces of a launch may be found, or None when that is not known."""
    return None if entry.served_at is None else datetime.fromtimestamp(entry.served_at, UTC) - CLOCK_BLUR


def is_later(time: datetime, now: datetime | None) -> bool:
    """Tell whether the service has dated something later than its clock says now: that was set back since."""
    return now is not None and time > now + CLOCK_BLUR


def of_analysis_shown(entry: Entry, document: Keyword | Prompt, now: datetime | None) -> Finding | None:
    """Say what the keyword or prompt itself tells, or None when that is nothing.

    Args:
        entry: The launch.
        document: What the service shows.
        now: The service's time, or None when it is not known.
    """
    if document.analysis_status in _RUNNING:
        return Finding(verdict=Verdict.LAUNCHED, why="its analysis runs", running=True)
    analyzed_at = document.last_analyzed_at
    if analyzed_at is not None and is_later(analyzed_at, now):
        return _unknown(f"it was analysed at {analyzed_at.isoformat()}, later than the service's clock says now")
    if entry.served_at is not None and analyzed_at is not None and analyzed_at.timestamp() >= entry.served_at:
        return Finding(verdict=Verdict.LAUNCHED, why=f"it was analysed at {analyzed_at.isoformat()}", running=True)
    return None


def of_keyword(keyword: Keyword, charges: Charges) -> Finding:
    """Say what the usages tell of an analysis that the keyword does not show."""
    matching = [usage for usage in charges.by_us() if _is_about(usage, keyword)]
    if matching and keyword.analysis_status == AnalysisStatus.SUCCESS and keyword.last_analyzed_at is not None:
        # An analysis of its own would show a later time, a running word, or that it failed.
        why = f"such an analysis was charged (usage {matching[0].id}), but the keyword shows only an earlier one"
        return _unknown(why)
    if len(matching) == 1 and keyword.keyword is not None:
        why = f"the credit of its analysis was charged (usage {matching[0].id})"
        return Finding(verdict=Verdict.LAUNCHED, why=why, running=True)
    if matching:
        return _unknown(f"{len(matching)} analyses of such a keyword were charged, and nothing tells them apart")
    return _absent_if_explained(charges)


def of_prompt() -> Finding:
    """Say what is left when a prompt does not show an analysis: usages do not name prompts."""
    return _unknown("the prompt shows no analysis since, and usages of credits do not name prompts")


def of_search(entry: Entry, charges: Charges, explained: int) -> Finding:
    """Say what the usages tell of a search.

    Args:
        entry: Its entry, whose facts name the workspace.
        charges: The usages.
        explained: How many searches of the same keyword and workspace since are known by name.
    """
    workspace = entry.facts.get("workspace")
    matching = [
        usage
        for usage in charges.since
        if usage.workspace.id == workspace and name_of(usage.keyword.keyword) == entry.target
    ]
    if len(matching) > explained:
        return _unknown(f"its credit was charged (usage {matching[0].id}), and no request lists searches by name")
    return _absent_if_explained(charges)


def of_generation(entry: Entry, current: Generation | None, charges: Charges | None) -> Finding:
    """Say what the current generation of a content tells, and the usages if they can be read."""
    if current is None:
        return Finding(verdict=Verdict.ABSENT, why="the content has no generation")
    if "baseline" not in entry.facts:
        if current.status in _OVER or current.status == GenerationStatus.REVIEW:
            return _unknown(f"the content has generation {current.id}, and nobody read which one it had before")
        why = f"generation {current.id} runs, and nobody read which one there was before"
        return Finding(verdict=Verdict.LAUNCHED, why=why, job_id=current.id, ours=False)
    if current.id == entry.facts["baseline"]:
        return Finding(verdict=Verdict.ABSENT, why=f"the content still has generation {current.id}")
    others = charges is not None and len(charges.by_us()) < len(charges.since)
    unseen = charges is None or bool(charges.by_us()) or not charges.since
    return Finding(
        verdict=Verdict.LAUNCHED,
        why=f"the content has a new generation, {current.id}",
        job_id=current.id,
        ours=unseen and not others,
    )


def _is_about(usage: CreditUsage, keyword: Keyword) -> bool:
    pairs: list[tuple[Any, Any]] = [
        (usage.keyword.keyword, keyword.keyword),
        (usage.keyword.country_code, keyword.country_code),
        (usage.keyword.language_code, keyword.language_code),
    ]
    return all(known is None or said == known for said, known in pairs)


def _absent_if_explained(charges: Charges) -> Finding:
    if charges.explained:
        why = f"nothing was charged for it, and the balance of {charges.balance} agrees with the usages"
        return Finding(verdict=Verdict.ABSENT, why=why)
    return _unknown(f"no usage names it, but the balance of {charges.balance} does not agree with the usages")


def _unknown(why: str) -> Finding:
    return Finding(verdict=Verdict.UNKNOWN, why=why)


def nothing_to_go_by(why: str) -> Finding:
    """Say that there is no evidence."""
    return _unknown(why)
