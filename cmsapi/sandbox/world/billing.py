"""The credit balances and the prices of jobs (specification, sections 1 and 2.7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from cmsapi.sandbox.world.records import Usage, User, Workspace

ANALYSIS = "analysis"
AI_WRITING = "ai_writing"
CONTENT_IDEA_SEARCH = "content_idea_search"
TYPES = (ANALYSIS, AI_WRITING, CONTENT_IDEA_SEARCH)
_BALANCES = {
    ANALYSIS: "analysis",
    AI_WRITING: "ai_writing",
    CONTENT_IDEA_SEARCH: "content_ideas_searches",
}


@attrs.define(kw_only=True)
class Credits:
    """The credit balances of the organisation.

    Args:
        analysis: Credits for analyses of keywords and prompts.
        ai_writing: Credits for generations.
        content_ideas_searches: Credits for content-idea searches.
    """

    analysis: int = attrs.field(default=10_000, validator=attrs.validators.ge(0))
    ai_writing: int = attrs.field(default=10_000, validator=attrs.validators.ge(0))
    content_ideas_searches: int = attrs.field(default=10_000, validator=attrs.validators.ge(0))

    def of(self, type_: str) -> int:
        """Return the balance that a type of usage draws on."""
        balance: int = getattr(self, _BALANCES[type_])
        return balance

    def add(self, type_: str, amount: int) -> int:
        """Change the balance that a type of usage draws on, and return it."""
        balance = self.of(type_) + amount
        setattr(self, _BALANCES[type_], balance)
        return balance


@attrs.define(eq=False)
class Purchase:
    """The price of a job, its buyer and its keyword.

    `charged` tells whether the credits were taken and not returned, and `usage` is the entry of that.
    """

    type: str
    amount: int
    user: User
    workspace: Workspace
    keyword: str
    charged: bool = False
    usage: Usage | None = None
