"""The analysis of a keyword (specification 3 and 4.5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from cmsapi.api.model import Model
from cmsapi.api.models.credit_usage import CreditUsage
from cmsapi.api.models.keyword import Keyword
from cmsapi.config import WordMap
from cmsapi.jobs.kinds import evidence
from cmsapi.jobs.kinds.analysis import Analysis
from cmsapi.jobs.kinds.evidence import Charges, Finding, Verdict
from cmsapi.jobs.kinds.kind import NO_WORDS, ChargeEvidence, JobKind
from cmsapi.jobs.status import Phase
from cmsapi.state.entry import Entry


class KeywordAnalysis(Analysis):
    """Describe the analysis of a keyword; the keyword is the target, and the result."""

    name: ClassVar[JobKind] = JobKind.KEYWORD_ANALYSIS
    operation: ClassVar[str] = "get_keyword"
    parameter: ClassVar[str] = "keywordId"
    model: ClassVar[type[Model]] = Keyword
    name_field: ClassVar[str] = "keyword"
    list_operation: ClassVar[str] = "list_keywords"
    list_parameter: ClassVar[str] = "pageId"
    launch_operation: ClassVar[str] = "analyze_keyword"
    charge_evidence: ClassVar[ChargeEvidence] = ChargeEvidence.REQUIRED
    where_to_look: ClassVar[str] = "client.keywords.get shows whether it runs; client.jobs.watch waits for it."

    def list_of(self, document: Keyword) -> str | None:
        """Return the web page whose list has the keyword."""
        return document.page_id

    def judge(self, entry: Entry, document: Keyword, charges: Charges | None, words: WordMap = NO_WORDS) -> Finding:
        """Say what the usages tell of an analysis that the keyword does not show.

        Of other analyses it is not known which keyword they were charged for, nor whether and when each was charged. So
        they explain a charge only if its keyword cannot be this one in any spelling.
        """
        if charges is None or charges.since is None:
            return evidence.unproven(charges)
        ours = charges.ours(charges.since)
        alike = [usage for usage in ours if evidence.may_be(evidence.written(usage), document.keyword)]
        if alike:
            shows_success = self.of_word(document.analysis_status, words).phase is Phase.SUCCEEDED
            return _judge_alike(alike, entry, document, charges, shows_success=shows_success)
        if len(ours) > len(charges.sure) + len(charges.perhaps):
            return evidence.unexplained(ours[0])
        for usage in charges.ours(charges.before):
            if evidence.may_be(evidence.written(usage), document.keyword):
                return evidence.from_before(usage)
        word = document.analysis_status
        if word is not None and self.of_word(word, words).phase is Phase.UNKNOWN:
            return Finding.unknown(f"the keyword shows the word {word!s}, which may mean that its analysis runs")
        return evidence.absent(charges)


def _judge_alike(
    alike: Sequence[CreditUsage], entry: Entry, keyword: Keyword, charges: Charges, *, shows_success: bool
) -> Finding:
    """Say what charges tell whose keyword may be this one."""
    if shows_success and keyword.last_analyzed_at is not None:
        # An analysis of its own would show a later time, a running word, or that it failed.
        why = f"such an analysis was charged (usage {alike[0].id}), but the keyword shows only an earlier one"
        return Finding.unknown(why)
    again = [other for other in (*charges.sure, *charges.perhaps) if other.target == entry.target]
    if any(evidence.is_after(other, entry.facts.get("mark")) is not False for other in again):
        return Finding.unknown(
            f"such an analysis was charged (usage {alike[0].id}), but the keyword was launched before, too"
        )
    if len(alike) > 1:
        return Finding.unknown(f"{len(alike)} analyses of such a keyword were charged, and nothing tells them apart")
    if not _is_about(alike[0], keyword):
        return Finding.unknown(f"an analysis of a keyword that may be this one was charged (usage {alike[0].id})")
    why = f"the credit of its analysis was charged (usage {alike[0].id})"
    return Finding(verdict=Verdict.LAUNCHED, why=why, running=True)


def _is_about(usage: CreditUsage, keyword: Keyword) -> bool:
    said = usage.keyword
    if said is None:
        return False
    codes = ((said.country_code, keyword.country_code), (said.language_code, keyword.language_code))
    # Codes mean the same in either case.
    same_codes = all(known is None or (word or "").casefold() == known.casefold() for word, known in codes)
    return said.keyword == keyword.keyword and same_codes
