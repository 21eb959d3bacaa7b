"""Atomic Content: a generated article and its review (specification, sections 2.5, 3 and 4.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import attrs

from cmsapi.sandbox.messages.resources import show
from cmsapi.sandbox.randomness.seeded import seeded_random
from cmsapi.sandbox.texts import articles
from cmsapi.sandbox.world import drafts, jobs
from cmsapi.sandbox.world.billing import AI_WRITING, Purchase
from cmsapi.sandbox.world.records import Generation
from cmsapi.sandbox.world.refusal import Refusal

if TYPE_CHECKING:
    from cmsapi.sandbox.messages.call import Call
    from cmsapi.sandbox.messages.resources import Document
    from cmsapi.sandbox.world.history import Seen
    from cmsapi.sandbox.world.jobs import Job
    from cmsapi.sandbox.world.records import Content, Keyword, User
    from cmsapi.sandbox.world.world import World

KIND = "generation"
QUEUED = "queued"
REVIEW = "review"


def generate_content(call: Call) -> Document:
    """Launch a generation; the keyword must have a completed analysis (section 4.4, rule 1)."""
    content = call.find(call.store.contents, "contentId")
    settings = call.body["settings"]
    call.reference(call.store.brand_voices, content.workspace_id, settings.get("brandVoiceId"), "settings.brandVoiceId")
    launch(call.world, content, call.user, settings)
    return _show(call.world, call.world.history.present(content))


def get_generation(call: Call) -> Document:
    """Show the current generation; a content without one gives 404."""
    return _show(call.world, call.view(call.find(call.store.contents, "contentId")))


def confirm_generation(call: Call) -> Document:
    """Apply the generated text to the draft."""
    content = call.find(call.store.contents, "contentId")
    confirm(call.world, content, call.user.id)
    return _show(call.world, call.world.history.present(content))


def cancel_generation(call: Call) -> Document:
    """Discard the generated text."""
    content = call.find(call.store.contents, "contentId")
    cancel(call.world, content)
    return _show(call.world, call.world.history.present(content))


def launch(world: World, content: Content, user: User, settings: Document) -> Generation:
    """Launch a generation, which becomes the current one of its content.

    Raises:
        Refusal: No keyword of the page is analysed, a generation runs or is in review, or the credits are exhausted.
    """
    keyword = world.store.analyzed_keyword(content.page_id)
    if keyword is None:
        raise Refusal(world.behaviour.refused_launch, "the keyword has no completed analysis")
    if content.generation is not None and content.generation.word == REVIEW:
        raise Refusal(world.behaviour.refused_launch, "a generation is in review: confirm or cancel it first")
    workspace = world.store.workspaces[content.workspace_id]
    purchase = Purchase(AI_WRITING, 1, user, workspace, keyword.keyword)
    world.launch(KIND, content, purchase)
    content.generation = Generation(world.store.new_id("gen"), QUEUED, settings)
    return content.generation


def complete(world: World, job: Job) -> None:
    """End the job of a generation: in review, or failed."""
    content = world.store.contents[job.target_id]
    generation = cast("Generation", content.generation)  # a generation's job has a generation
    world.history.keep(content, job)
    if job.outcome == jobs.FAILED:
        content.generation = attrs.evolve(generation, word=world.behaviour.generation_failed)
        return
    keyword = cast("Keyword", world.store.analyzed_keyword(content.page_id))
    checked = bool(generation.settings.get("factCheckingEnabled"))
    rng = seeded_random(world.seed, "article", generation.id)
    html = articles.write_article(rng, keyword.keyword, content.title, fact_checks=checked)
    content.generation = attrs.evolve(generation, html=html, word=REVIEW)


def confirm(world: World, content: Content, user_id: str) -> None:
    """Apply the text in review.

    Raises:
        Refusal: No generation is in review.
    """
    generation = _in_review(world, content)
    world.history.keep(content)
    content.generation = attrs.evolve(generation, word=world.behaviour.applied)
    drafts.write_body(world, content, generation.html, user_id, world.now)


def cancel(world: World, content: Content) -> None:
    """Discard the text in review.

    Raises:
        Refusal: No generation is in review.
    """
    generation = _in_review(world, content)
    world.history.keep(content)
    content.generation = attrs.evolve(generation, word=world.behaviour.discarded)


def status(world: World, seen: Seen[Content]) -> str | None:
    """Return the status word of the current generation."""
    generation = seen.record.generation
    word = generation.word if generation else None
    if seen.job is not None:
        word = seen.job.word(seen.at, QUEUED, world.behaviour.generation_running)
    return world.shown_status(seen.record.id, word)


def _show(world: World, seen: Seen[Content]) -> Document:
    if seen.record.generation is None:
        raise Refusal(404, "contentId: has no generation")
    return show("Generation", seen.record.generation, status=status(world, seen))


def _in_review(world: World, content: Content) -> Generation:
    if content.generation is None:
        raise Refusal(404, "contentId: has no generation")
    if content.generation.word != REVIEW:
        raise Refusal(world.behaviour.refused_launch, f"the generation is not in {REVIEW}")
    return content.generation
