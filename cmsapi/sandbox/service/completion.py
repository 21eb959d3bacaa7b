"""What happens when jobs end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cmsapi.sandbox.domain import generations, ideas, keywords, knowledge, prompts
from cmsapi.sandbox.randomness import distributions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cmsapi.sandbox.world.jobs import Job
    from cmsapi.sandbox.world.world import World

_ENDS: Mapping[str, Callable[[World, Job], None]] = {
    distributions.KEYWORD_ANALYSIS: keywords.complete,
    distributions.PROMPT_ANALYSIS: prompts.complete,
    distributions.IDEA_SEARCH: ideas.complete,
    distributions.GENERATION: generations.complete,
    distributions.KNOWLEDGE_DOCUMENT: knowledge.complete,
}


def settle(world: World, at: float) -> None:
    """Let every job whose end the clock has passed take effect, in order, each with its own moment."""
    for job in world.jobs.due(at):
        complete(world, job)


def complete(world: World, job: Job) -> None:
    """Let the end of one job take effect."""
    world.settle_purchase(job)
    _ENDS[job.kind](world, job)
