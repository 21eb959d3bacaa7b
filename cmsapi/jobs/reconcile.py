"""Find out whether a launch happened: wait until it can no longer arrive, read what is there, and judge that.

It runs only under the lease of the launch, in the process that has lost the answer or in the one that takes over from a
dead one. It takes one request to five, and no credit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import datetime

import attrs

from cmsapi.core import LARGEST_PAGE, Core
from cmsapi.errors import APIError, ForbiddenError, NotFoundError, ServerError
from cmsapi.jobs import evidence
from cmsapi.jobs.departure import Departure
from cmsapi.jobs.evidence import Charges, Finding
from cmsapi.jobs.journaling import Journal
from cmsapi.jobs.kinds import CLOCK_BLUR, JobKind
from cmsapi.models import CreditUsage, Generation, Keyword, Prompt, User
from cmsapi.state.journal import Entry
from cmsapi.transport.clock import STEP

# How a balance and the usages that explain it are called.
_BALANCES: Mapping[str, str] = {
    "analysis": "analysis",
    "content_idea_search": "content_ideas_searches",
    "ai_writing": "ai_writing",
}
_NO_TIME = "the service's clock does not tell what came after the launch"
# Seconds in which a service may take to list what it has charged, and how often that is looked at.
_LISTING = 1.0
_TRIES = 3


@attrs.frozen
class Reconciler:
    """Find out whether launches happened.

    Args:
        core: Calls the operations.
        journal: What else was launched.
    """

    core: Core
    journal: Journal

    async def find_out(self, entry: Entry, departure: Departure | None = None) -> Finding:
        """Wait until a launch can no longer arrive, and find out whether it did.

        Args:
            entry: What was written down of it.
            departure: When it left, where that was this process.

        Raises:
            CMSError: The service or the state could not be read; nothing is known.
        """
        await asyncio.sleep(self._settles_in(entry, departure))
        left_at = departure.left_at if departure is not None else None
        if entry.served_at is None and left_at is not None:
            # The launch was the first request: the next answer tells the service's time, also of then.
            await self.core.call(User, "get_me")
            if (served := self.core.pipeline.clock.at(left_at)) is not None:
                entry = attrs.evolve(entry, served_at=served.timestamp())
        try:
            return attrs.evolve(await self._read(entry), served_at=entry.served_at)
        except (ForbiddenError, NotFoundError) as refusal:
            return evidence.nothing_to_go_by(f"what would tell cannot be read ({refusal.status})")

    def _settles_in(self, entry: Entry, departure: Departure | None) -> float:
        """Return seconds until a launch can no longer arrive."""
        if departure is not None and departure.settles_at is not None:
            return max(0.0, departure.settles_at - asyncio.get_running_loop().time())
        # Of another process only the wall's clock is known, and mostly the service's.
        sent_at, settle = entry.facts.get("sent_at"), entry.facts.get("settle")
        if not isinstance(sent_at, int | float) or not isinstance(settle, int | float):
            return 0.0
        gone = self.journal.wall() - sent_at
        served = self.core.pipeline.clock.at(asyncio.get_running_loop().time())
        if served is not None and entry.served_at is not None:
            # A clock that was set forward has let no time pass.
            gone = min(gone, served.timestamp() - entry.served_at)
        # A clock that was set back says nothing.
        return max(0.0, settle - gone) if gone >= 0 else settle

    async def _read(self, entry: Entry) -> Finding:
        match entry.kind:
            case JobKind.KEYWORD_ANALYSIS:
                return await self._keyword(entry)
            case JobKind.PROMPT_ANALYSIS:
                prompt = await self.core.call(Prompt, "get_prompt", {"promptId": entry.target})
                return evidence.of_analysis_shown(entry, prompt, self._now()) or evidence.of_prompt()
            case JobKind.IDEA_SEARCH:
                charges = await self._charges(entry, "content_idea_search")
                if charges is None:
                    return evidence.nothing_to_go_by(_NO_TIME)
                return evidence.of_search(entry, charges, await self._known_searches(entry))
            case _:
                return await self._generation(entry)

    async def _keyword(self, entry: Entry) -> Finding:
        keyword = await self.core.call(Keyword, "get_keyword", {"keywordId": entry.target})
        if (shown := evidence.of_analysis_shown(entry, keyword, self._now())) is not None:
            return shown
        charges = await self._charges(entry, "analysis")
        if charges is None:
            return evidence.nothing_to_go_by(_NO_TIME)
        return evidence.of_keyword(keyword, charges)

    async def _generation(self, entry: Entry) -> Finding:
        current = await self.baseline(entry.target)
        unchanged = "baseline" in entry.facts and current is not None and current.id == entry.facts["baseline"]
        charges = None
        if current is not None and not unchanged:
            try:
                charges = await self._charges(entry, "ai_writing")
            except APIError as refusal:
                if isinstance(refusal, ServerError):
                    raise
        return evidence.of_generation(entry, current, charges)

    async def baseline(self, content_id: str) -> Generation | None:
        """Read the current generation of a content, None when it has none."""
        try:
            return await self.core.call(Generation, "get_generation", {"contentId": content_id})
        except NotFoundError:
            return None

    async def _known_searches(self, entry: Entry) -> int:
        """Count the searches of the same keyword and workspace that were launched since and are known by name."""
        known = list((await self.journal.state.entries(self.journal.scope)).values())
        if entry.batch is not None:
            known += (await self.journal.state.outcomes(self.journal.scope, entry.batch)).values()
        # One that has ended between the two readings is in both.
        return len(
            {
                other.job_id
                for other in known
                if other.job_id is not None
                and (other.kind, other.target) == (entry.kind, entry.target)
                and other.facts.get("workspace") == entry.facts.get("workspace")
                and (other.served_at or 0.0) >= (entry.served_at or 0.0) - CLOCK_BLUR.total_seconds()
            }
        )

    async def _charges(self, entry: Entry, type_: str) -> Charges | None:
        """Read what was charged since a launch; None when the service's clock does not tell what came since."""
        if evidence.since(entry) is None:
            return None
        charges = await self._read_charges(entry, type_)
        for _ in range(_TRIES - 1):
            if charges.explained:
                break
            await asyncio.sleep(_LISTING)
            charges = await self._read_charges(entry, type_)
        now, ahead = self._now(), entry.facts.get("ahead")
        if now is not None and isinstance(ahead, int | float) and now.timestamp() - self.journal.wall() < ahead - STEP:
            return None
        return None if any(evidence.is_later(usage.created_at, now) for usage in charges.since) else charges

    def _now(self) -> datetime | None:
        """Return the service's time, as its last answers tell it."""
        return self.core.pipeline.clock.at(asyncio.get_running_loop().time())

    async def _read_charges(self, entry: Entry, type_: str) -> Charges:
        # The balance first: whatever has lowered it is in the list that is read after it.
        user = await self.core.call(User, "get_me")
        began = evidence.since(entry)
        usages: list[CreditUsage] = []
        query = {"type": type_}
        pages = self.core.paginate(CreditUsage, "list_credit_usages", limit=LARGEST_PAGE, query=query)
        async for page in pages.pages():
            usages += page
            newest_first = len(usages) > 1 and usages[0].created_at > usages[-1].created_at
            if newest_first and began is not None and usages[-1].created_at < began:
                break
        usages.sort(key=lambda usage: (usage.created_at, -usage.remaining_credits), reverse=True)
        recent = [usage for usage in usages if began is None or usage.created_at >= began]
        before = usages[len(recent)] if len(usages) > len(recent) else None
        return Charges(user, getattr(user.organization.credits, _BALANCES[type_]), recent, before)
