"""What tells whether a launch happened whose answer is lost; one function a kind, and nothing here sends anything.

The first rule that applies decides. Only a launch that certainly did not happen may be sent again: each charge since
the balance that was known before it belongs to another launch that is known here, or to another user. Neither times nor
spelling prove that. A charge that may be its own in another spelling, or that nothing explains, leaves it unknown.
"""

from __future__ import annotations

import enum
import hashlib
import re
import unicodedata
from collections.abc import Sequence
from datetime import datetime

import attrs

from cmsapi.api.models import AnalysisStatus, CreditUsage, Generation, GenerationStatus, Keyword, Prompt
from cmsapi.jobs.journal.balances import is_before
from cmsapi.jobs.kinds.evidence import CLOCK_BLUR
from cmsapi.jobs.launching.charges import Charges
from cmsapi.state.journal import Entry

_RUNNING = (AnalysisStatus.QUEUED, AnalysisStatus.PENDING)
_LISTED = (*_RUNNING, AnalysisStatus.SUCCESS, AnalysisStatus.FAILED)
_OVER = (GenerationStatus.APPLIED, GenerationStatus.DISCARDED, GenerationStatus.FAILED)


_LONGEST = 500
_DIGEST = re.compile("[0-9a-f]{32}")


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
class Others:
    """Hold the other launches that are known here and draw on the same balance.

    Args:
        sure: Those that the service has taken for certain, and that left after the balance before the launch was read.
        perhaps: The rest: in doubt, on their way, or perhaps charged before that.
    """

    sure: Sequence[Entry]
    perhaps: Sequence[Entry]


NOTHING_ELSE = Others((), ())


def name_of(target: str) -> str:
    """Name what a launch works on in the journal: itself, or a digest of a keyword that is a whole text."""
    return target if len(target) <= _LONGEST else hashlib.blake2b(target.encode(), digest_size=16).hexdigest()


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


def of_keyword(entry: Entry, keyword: Keyword, charges: Charges, others: Others) -> Finding:
    """Say what the usages tell of an analysis that the keyword does not show.

    Of other analyses it is not known which keyword they were charged for, nor whether and when each was charged. So
    they explain a charge only if its keyword cannot be this one in any spelling.
    """
    if charges.since is None:
        return _unproven(charges)
    ours = charges.by_us()
    alike = [usage for usage in ours if may_be(_written(usage), keyword.keyword)]
    if alike and keyword.analysis_status == AnalysisStatus.SUCCESS and keyword.last_analyzed_at is not None:
        # An analysis of its own would show a later time, a running word, or that it failed.
        why = f"such an analysis was charged (usage {alike[0].id}), but the keyword shows only an earlier one"
        return _unknown(why)
    again = [other for other in (*others.sure, *others.perhaps) if other.target == entry.target]
    if alike and not all(is_before(other, entry.facts.get("mark")) for other in again):
        return _unknown(f"such an analysis was charged (usage {alike[0].id}), but the keyword was launched before, too")
    if len(alike) == 1 and _is_about(alike[0], keyword):
        why = f"the credit of its analysis was charged (usage {alike[0].id})"
        return Finding(verdict=Verdict.LAUNCHED, why=why, running=True)
    if len(alike) == 1:
        return _unknown(f"an analysis of a keyword that may be this one was charged (usage {alike[0].id})")
    if alike:
        return _unknown(f"{len(alike)} analyses of such a keyword were charged, and nothing tells them apart")
    if len(ours) > len(others.sure) + len(others.perhaps):
        return _unexplained(ours[0])
    for usage in charges.before_by_us():
        if may_be(_written(usage), keyword.keyword):
            return _from_before(usage)
    if keyword.analysis_status is not None and keyword.analysis_status not in _LISTED:
        return _unknown(
            f"the keyword shows the word {keyword.analysis_status!s}, which may mean that its analysis runs"
        )
    return _absent(charges)


def of_prompt() -> Finding:
    """Say what is left when a prompt does not show an analysis: usages do not name prompts."""
    return _unknown("the prompt shows no analysis since, and usages of credits do not name prompts")


def of_search(entry: Entry, charges: Charges, others: Others) -> Finding:
    """Say what the usages tell of a search.

    Each search is charged when it is launched (specification 4.6). So there is one charge for each other search that
    was taken for certain, however its keyword is written there, and one that is left over may be that of this one.

    Args:
        entry: Its entry, whose facts name the workspace.
        charges: The usages.
        others: The other searches.
    """
    if charges.since is None:
        return _unproven(charges)
    for usage in charges.before_by_us():
        if _may_be_charge_of(usage, entry):
            return _from_before(usage)
    left = charges.by_us()
    unseen = [other for other in others.sure if not _take(left, other)]
    for other in others.perhaps:
        if not any(_may_be_named(other, each) for each in (entry, *unseen)):
            _take(left, other)
    if len(left) < len(unseen):
        return _unknown(
            f"the service shows no charge yet for {len(unseen) - len(left)} searches that it has taken since"
        )
    alike = [usage for usage in left if _may_be_charge_of(usage, entry)]
    others_alike = sum(any(_may_be_charge_of(usage, other) for usage in alike) for other in unseen)
    if len(alike) <= others_alike and sum(abs(usage.amount) for usage in left) <= len(unseen):
        return _absent(charges)
    own = next((usage for usage in left if _is_charge_of(usage, entry)), None)
    if own is not None:
        return _unknown(f"its credit was charged (usage {own.id}), and no request lists searches by name")
    return _unexplained(left[0])


def of_generation(
    entry: Entry, current: Generation | None, charges: Charges | None, others: Others = NOTHING_ELSE
) -> Finding:
    """Say what the current generation of a content tells, and the usages if they can be read.

    A service may show a generation that has failed no more. So usages that do not bear it out leave it unknown.
    """
    if current is None:
        return _no_generation("the content has no generation", entry, charges, others)
    if "baseline" not in entry.facts:
        if current.status in _OVER or current.status == GenerationStatus.REVIEW:
            return _unknown(f"the content has generation {current.id}, and nobody read which one it had before")
        why = f"generation {current.id} runs, and nobody read which one there was before"
        return Finding(verdict=Verdict.LAUNCHED, why=why, job_id=current.id, ours=False)
    if current.id == entry.facts["baseline"]:
        return _no_generation(f"the content still has generation {current.id}", entry, charges, others)
    if charges is None:
        # Nobody else is seen.
        shared, unseen = False, True
    else:
        shared = charges.since is None or len(charges.by_us()) < len(charges.since)
        unseen = bool(charges.by_us()) or not charges.since
    return Finding(
        verdict=Verdict.LAUNCHED,
        why=f"the content has a new generation, {current.id}",
        job_id=current.id,
        ours=unseen and not shared,
    )


def _no_generation(why: str, entry: Entry, charges: Charges | None, others: Others) -> Finding:
    if charges is not None and charges.balance is not None and isinstance(entry.facts.get("balance"), int):
        if charges.since is None:
            return _unproven(charges)
        ours = charges.by_us()
        if len(ours) > len(others.sure) + len(others.perhaps):
            return _unexplained(ours[0])
    return Finding(verdict=Verdict.ABSENT, why=why)


def _written(usage: CreditUsage) -> str:
    """Return the keyword of a usage; a usage that shows none may be of any."""
    return getattr(usage.keyword, "keyword", None) or ""


def may_be(written: str, keyword: str | None) -> bool:
    """Tell whether a service may have written a keyword so: in any case, without marks or spaces, or cut."""
    return keyword is None or _bare(keyword).startswith(_bare(written))


def _may_be_named(written: Entry, search: Entry) -> bool:
    """Tell whether the keyword of one search may be how a service writes that of another one."""
    digests = _DIGEST.fullmatch(written.target) and _DIGEST.fullmatch(search.target)
    return digests is not None or may_be(written.target, search.target)


def _bare(text: str) -> str:
    # A ligature or a digit in a circle may become what it stands for, and what combines with a letter may go.
    decomposed = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return "".join(character for character in decomposed if character.isalnum())


def _take(usages: list[CreditUsage], search: Entry) -> bool:
    """Take the charge that names a search off a list, and tell whether there was one."""
    found = next((usage for usage in usages if _is_charge_of(usage, search) and abs(usage.amount) == 1), None)
    if found is not None:
        usages.remove(found)
    return found is not None


def _is_charge_of(usage: CreditUsage, search: Entry) -> bool:
    workspace = getattr(usage.workspace, "id", None)
    return name_of(_written(usage)) == search.target and workspace == search.facts.get("workspace")


def _may_be_charge_of(usage: CreditUsage, search: Entry) -> bool:
    return _DIGEST.fullmatch(search.target) is not None or may_be(_written(usage), search.target)


def _is_about(usage: CreditUsage, keyword: Keyword) -> bool:
    said = usage.keyword
    if said is None:
        return False
    codes = ((said.country_code, keyword.country_code), (said.language_code, keyword.language_code))
    # Codes mean the same in either case.
    same_codes = all(known is None or (word or "").casefold() == known.casefold() for word, known in codes)
    return said.keyword == keyword.keyword and same_codes


def _absent(charges: Charges) -> Finding:
    why = f"nothing was charged for it: known launches explain how the balance came to {charges.balance}"
    return Finding(verdict=Verdict.ABSENT, why=why)


def _unproven(charges: Charges) -> Finding:
    if charges.balance is None:
        return _unknown("the service shows no balance")
    return _unknown(f"the usages do not explain how the balance came to {charges.balance}")


def _from_before(usage: CreditUsage) -> Finding:
    why = f"such a launch was charged lately (usage {usage.id}), and credits may have been given back before this one"
    return _unknown(why)


def _unexplained(usage: CreditUsage) -> Finding:
    return _unknown(f"no launch that is known here explains a charge by this user (usage {usage.id})")


def _unknown(why: str) -> Finding:
    return Finding(verdict=Verdict.UNKNOWN, why=why)


def nothing_to_go_by(why: str) -> Finding:
    """Say that there is no evidence."""
    return _unknown(why)
