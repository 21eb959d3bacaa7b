"""What happens when jobs end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cmsapi.sandbox import durations
from cmsapi.sandbox.domain import generations, ideas, keywords, knowledge, prompts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cmsapi.sandbox.jobs import Job
    from cmsapi.sandbox.world import World

_ENDS: Mapping[str, Callable[[World, Job], None]] = {
    durations.KEYWORD_ANALYSIS: keywords.complete,
    durations.PROMPT_ANALYSIS: prompts.complete,
    durations.IDEA_SEARCH: ideas.complete,
    durations.GENERATION: generations.complete,
    durations.KNOWLEDGE_DOCUMENT: knowledge.complete,
}


def settle(world: World, at: float) -> None:
    """Let every job whose end the clock has passed take effect, in order, each with its own moment."""
    for job in world.jobs.due(at):
        complete(world, job)


def complete(world: World, job: Job) -> None:
    """Let the end of one job take effect."""
    world.settle_purchase(job)
    _ENDS[job.kind](world, job)
